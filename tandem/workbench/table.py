"""Tables of results: named columns of one type each, read by row, by column, as text or as HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias, overload

from tandem.workbench.arguments import choice, expect, index
from tandem.workbench.errors import ArgumentValueError, MissingPackageError
from tandem.workbench.table_text import html_table, shortened, text_table

Value: TypeAlias = int | float | str | bool | None
"""The value of a cell; None where it is not known."""
SHOWN_ROWS = 20
"""The rows of a table that its `repr` and its HTML have at most."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name
        The key of the column's values.
    kind
        The type of the values that are known: int, float, str or bool.
    description
        What a value is, with its unit.
    form
        How a number is shown, as a format of Python's; by default a whole number with commas, and
        four significant digits of a float.
    """

    name: str
    kind: type[int] | type[float] | type[str] | type[bool]
    description: str
    form: str = ""

    def text(self, value: Value) -> str:
        """A value as it is shown; empty if it is not known."""
        if value is None or isinstance(value, str | bool):
            return "" if value is None else str(value)
        return format(value, self.form or ("," if self.kind is int else ",.4g"))

    def values(self, values: Sequence[Value]) -> Any:
        """The values of a whole column, as `Table` returns them."""
        # NumPy is imported where numbers are asked for, so that tables cost no start.
        import numpy as np

        if self.kind is str:
            return [*values]
        if None not in values:
            return np.array(values, {int: np.int64, float: np.float64}.get(self.kind, np.bool_))
        if self.kind is bool:
            return np.array(values, object)
        return np.array([np.nan if value is None else value for value in values], np.float64)


@dataclass(frozen=True, slots=True, repr=False)
class Table:
    """Rows of named values.

    `len(table)` is the number of rows, and iteration yields each as a dict. `table[0]` is a row,
    `table[1:3]` a table of some rows, and `table["cycles"]` a column: a NumPy array of int64,
    float64 or bool, or a list of texts. A number that is not known is NaN in a column, whose whole
    numbers are floats then, and None in a row.

    >>> table = Table((Column("layer", str, "its name"), Column("cycles", int, "clock cycles")),
    ...               (("conv", 1200), ("dense", 300)))
    >>> int(table["cycles"].sum())
    1500

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        A row of another length, a value of another type than its column's, a name twice; another
        index than a number of a row, a slice or the name of a column.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]

    def __post_init__(self) -> None:
        for column in self.columns:
            if self.names.count(column.name) > 1:
                raise ArgumentValueError(f"a table has one column {column.name}, and not two")
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ArgumentValueError(
                    f"a row of this table has {len(self.columns)} values, and not {len(row)}"
                )
            for column, value in zip(self.columns, row, strict=True):
                _check(column, value)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Value]]:
        return (dict(zip(self.names, row, strict=True)) for row in self.rows)

    @overload
    def __getitem__(self, key: int) -> dict[str, Value]: ...
    @overload
    def __getitem__(self, key: slice) -> Table: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...
    def __getitem__(self, key: int | slice | str) -> Any:
        match key:
            case str():
                at = self.names.index(choice("column", key, self.names))
                return self.columns[at].values([row[at] for row in self.rows])
            case slice():
                return Table(self.columns, self.rows[key])
            case _:
                row = self.rows[index("row", key, len(self.rows))]
                return dict(zip(self.names, row, strict=True))

    def select(self, *names: str) -> Table:
        """The table with some columns, in this order."""
        at = [self.names.index(choice("column", name, self.names)) for name in names]
        columns = tuple(self.columns[number] for number in at)
        return Table(columns, tuple(tuple(row[number] for number in at) for row in self.rows))

    def to_dict(self) -> dict[str, list[Value]]:
        """Lists of values by the names of the columns, as JSON and data frames take them."""
        return {name: [row[at] for row in self.rows] for at, name in enumerate(self.names)}

    def to_pandas(self) -> Any:
        """The table as a data frame of pandas.

        Raises
        ------
        MissingPackageError
            pandas is not installed.
        """
        try:
            pandas = import_module("pandas")
        except ImportError as error:
            raise MissingPackageError("to_pandas", "pandas", "pandas") from error
        return pandas.DataFrame({name: self[name] for name in self.names})

    def text(self, most: int | None = None) -> str:
        """The table as lines of text, with `most` rows at most, the first ones."""
        return text_table(self.names, self._texts(most), self._numeric, self._left(most))

    def __repr__(self) -> str:
        texts = [[shortened(text) for text in row] for row in self._texts(SHOWN_ROWS)]
        return text_table(self.names, texts, self._numeric, self._left(SHOWN_ROWS))

    def _repr_html_(self) -> str:
        """The table in a notebook; the descriptions of columns are tooltips of their names."""
        heads = [(column.name, column.description) for column in self.columns]
        shown = self._texts(SHOWN_ROWS)
        return html_table(heads, shown, self._numeric, self._left(SHOWN_ROWS))

    @property
    def _numeric(self) -> list[bool]:
        return [column.kind in (int, float) for column in self.columns]

    def _left(self, most: int | None) -> int:
        return 0 if most is None else max(0, len(self.rows) - most)

    def _texts(self, most: int | None) -> list[list[str]]:
        return [
            [column.text(value) for column, value in zip(self.columns, row, strict=True)]
            for row in self.rows[:most]
        ]


def _check(column: Column, value: Value) -> None:
    """Raise `ArgumentTypeError` for a value of another type than its column's."""
    allowed = (int, float) if column.kind is float else (column.kind,)
    is_bool = isinstance(value, bool) and column.kind is not bool
    if value is not None and (is_bool or not isinstance(value, allowed)):
        expect(f"column {column.name}", value, f"of type {column.kind.__name__}, or None")
