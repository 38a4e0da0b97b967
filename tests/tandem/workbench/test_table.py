"""Tables: rows, columns, text and HTML."""

from __future__ import annotations

import math
import sys
from html.parser import HTMLParser
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.base.errors import Error
from tandem.workbench.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MissingPackageError,
)
from tandem.workbench.table import SHOWN_ROWS, Column, Table, Value

NAME = Column("layer", str, "the layer's name")
CYCLES = Column("cycles", int, "clock cycles")
SHARE = Column("share", float, "part of the run", ".1%")
ON_CPU = Column("on_cpu", bool, "whether the CPU computes it")


def table(*rows: tuple[Value, ...]) -> Table:
    return Table((NAME, CYCLES, SHARE, ON_CPU), rows)


TWO = table(("conv", 1200, 0.75, False), ("dense", None, 0.25, True))


def test_rows() -> None:
    assert len(TWO) == 2
    assert TWO[0] == {"layer": "conv", "cycles": 1200, "share": 0.75, "on_cpu": False}
    assert TWO[-1] == [*TWO][1]
    assert [*TWO[1:]] == [TWO[1]]
    assert TWO.to_dict()["cycles"] == [1200, None]


def test_columns() -> None:
    assert TWO["layer"] == ["conv", "dense"]
    assert TWO["share"].dtype == np.float64
    assert TWO["on_cpu"].dtype == np.bool_
    assert TWO[:1]["cycles"].dtype == np.int64
    first, second = TWO["cycles"]
    assert (first, math.isnan(second)) == (1200, True)
    assert table()["cycles"].tolist() == []


def test_some_columns() -> None:
    chosen = TWO.select("share", "layer")
    assert chosen.names == ("share", "layer")
    assert chosen.rows == ((0.75, "conv"), (0.25, "dense"))


def test_long_texts_are_cut_on_a_screen_alone() -> None:
    long = table(("layer" * 20, 1, 0.5, True))
    assert "layer" * 20 in long.text()
    assert f"{('layer' * 20)[:61]}... " in repr(long)


def test_text() -> None:
    assert repr(TWO) == (
        "layer  cycles  share  on_cpu\nconv    1,200  75.0%  False\ndense          25.0%  True"
    )
    assert str(table()) == "layer  cycles  share  on_cpu"


def test_long_tables_are_cut() -> None:
    long = table(*((f"layer{number}", number, 0.0, False) for number in range(SHOWN_ROWS + 1)))
    assert repr(long).endswith("\n... and 1 more row")
    assert len(repr(long).splitlines()) == SHOWN_ROWS + 2
    assert len(long.text().splitlines()) == SHOWN_ROWS + 2
    assert "more row" not in long.text()
    assert "... and 1 more row" in long._repr_html_()


class Cells(HTMLParser):
    """The texts of a table's cells."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.titles: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("td", "th"):
            self.found.append("")
        if tag == "th":
            self.titles.append(dict(attrs)["title"])

    def handle_data(self, data: str) -> None:
        self.found[-1] += data


def test_html_has_the_cells_escaped() -> None:
    cells = Cells()
    cells.feed(table(("<b>&", 1, 0.5, True))._repr_html_())
    assert cells.found == ["layer", "cycles", "share", "on_cpu", "<b>&", "1", "50.0%", "True"]
    assert cells.titles[1] == "clock cycles"


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: TWO["cycle"], ValueError, "no column 'cycle': there are layer, .*mean cycles"),
        (
            lambda: TWO.__getitem__(cast("int", 1.5)),
            TypeError,
            "row is 1.5: it must be a whole number, a slice, or a name",
        ),
        (lambda: table(("conv", 1)), ValueError, "has 4 values, and not 2"),
        (
            lambda: table(("conv", 1.5, 0.0, True)),
            TypeError,
            "column cycles is 1.5: it must be of type int, or None",
        ),
        (lambda: table(("conv", True, 0.0, True)), TypeError, "column cycles is True"),
        (lambda: Table((NAME, NAME), ()), ValueError, "one column layer, and not two"),
    ],
)
def test_refusals(make: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(Error, match=message) as caught:
        make()
    assert isinstance(caught.value, kind)


def test_iteration_by_number_ends() -> None:
    with pytest.raises(IndexError, match="no row 2: there are 2"):
        TWO[2]


def test_pandas_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        MissingPackageError, match=r"to_pandas needs pandas, .*pip install 'pandas'"
    ):
        TWO.to_pandas()


KINDS = {
    int: st.integers(-(2**62), 2**62),
    float: st.floats(allow_nan=False),
    str: st.text(),
    bool: st.booleans(),
}


@given(st.data())
def test_rows_and_columns_are_the_same_values(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from([*KINDS]), min_size=1, max_size=4))
    columns = tuple(Column(f"c{at}", kind, "") for at, kind in enumerate(kinds))
    row = st.tuples(*(KINDS[kind] for kind in kinds))
    drawn = Table(columns, tuple(data.draw(st.lists(row, max_size=5))))
    for column in columns:
        assert [*drawn[column.name]] == [row[column.name] for row in drawn]
        assert drawn.to_dict()[column.name] == [row[column.name] for row in drawn]
    lines = drawn.text().split("\n")
    assert len(lines) == len(drawn) + 1
    assert len(drawn._repr_html_()) > 0


def test_a_table_that_cannot_be() -> None:
    with pytest.raises(ArgumentValueError, match=r"^a table has one column layer, and not two$"):
        Table((NAME, CYCLES, NAME), ())
    rows: list[tuple[Value, ...]] = [("conv", 1, 0.5), ("conv", 1, 0.5, True, 2), ()]
    for row in rows:
        with pytest.raises(ArgumentValueError, match=rf"has 4 values, and not {len(row)}$"):
            table(TWO.rows[0], row)


COLUMN_OF: dict[str, tuple[Column, str]] = {
    "str": (NAME, "of type str, or None"),
    "int": (CYCLES, "of type int, or None"),
    "float": (SHARE, "of type float, or None"),
    "bool": (ON_CPU, "of type bool, or None"),
}
ALLOWED = {"str": ("str",), "int": ("int",), "float": ("int", "float"), "bool": ("bool",)}
VALUES: dict[str, Value] = {"str": "3", "int": 3, "float": 3.0, "bool": True}


@pytest.mark.parametrize("kind", COLUMN_OF)
@pytest.mark.parametrize("given", VALUES)
def test_values_have_the_type_of_their_column(kind: str, given: str) -> None:
    column, message = COLUMN_OF[kind]
    Table((column,), ((None,),))
    if given in ALLOWED[kind]:
        assert Table((column,), ((VALUES[given],),)).rows == ((VALUES[given],),)
        return
    with pytest.raises(ArgumentTypeError, match=rf"^column {column.name} is .*{message}$"):
        Table((column,), ((None,), (VALUES[given],)))


def test_so_many_rows_are_shown() -> None:
    many = Table((CYCLES,), tuple((number + 10_000,) for number in range(SHOWN_ROWS + 2)))
    for shown in (repr(many), many.text(SHOWN_ROWS)):
        assert f"{10_000 + SHOWN_ROWS - 1:,}" in shown or str(10_000 + SHOWN_ROWS - 1) in shown
        assert str(10_000 + SHOWN_ROWS) not in shown.replace(",", "")
    whole = many.text().replace(",", "")
    assert all(str(10_000 + number) in whole for number in range(SHOWN_ROWS + 2))
    assert many.text(3).replace(",", "").count("1000") == 3
