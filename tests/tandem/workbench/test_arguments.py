"""Checks of arguments: what is allowed passes, and errors say what that is."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.workbench.arguments import at_least, choice, file_path, index, texts, value_errors
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError, TandemError


def test_what_is_allowed() -> None:
    assert choice("engine", "cycle", ("rtl", "cycle")) == "cycle"
    assert file_path("path", "a/b") == file_path("path", Path("a/b")) == Path("a/b")
    assert at_least("seed", 0, 0) == 0
    assert at_least("jobs", np.int8(1), 1) == 1
    assert texts("layers", "one") == ("one",)
    assert texts("layers", iter(["one", "two"])) == texts("layers", ["one", "two"])
    assert texts("layers", ()) == ()


def test_wrong_types() -> None:
    with pytest.raises(ArgumentTypeError, match="engine is 3: it must be one of rtl, cycle"):
        choice("engine", 3, ("rtl", "cycle"))
    with pytest.raises(ArgumentTypeError, match="path is 3: it must be a path: a str or an os"):
        file_path("path", 3)
    with pytest.raises(ArgumentTypeError, match="seed is True: it must be a whole number, 0 or"):
        at_least("seed", True, 0)
    with pytest.raises(ArgumentTypeError, match=r"seed is 1\.0: it must be a whole number, 2 or"):
        at_least("seed", 1.0, 2)
    with pytest.raises(ArgumentTypeError, match="layers is 3: it must be a sequence of names"):
        texts("layers", 3)
    with pytest.raises(ArgumentTypeError, match="a name of layers is 3: it must be a str"):
        texts("layers", ["one", 3])
    with pytest.raises(ArgumentTypeError, match="layer is 'a': it must be a whole number, a slice"):
        index("layer", "a", 3)


def test_wrong_values() -> None:
    with pytest.raises(ArgumentValueError, match=r"no engine 'cycl': .*; did you mean cycle"):
        choice("engine", "cycl", ("rtl", "cycle"))
    with pytest.raises(ArgumentValueError, match="path is empty"):
        file_path("path", "")
    with pytest.raises(ArgumentValueError, match="seed is -1: it must be 0 or more"):
        at_least("seed", -1, 0)


def test_errors_of_other_floors_become_value_errors() -> None:
    with pytest.raises(ArgumentValueError, match="a reason"), value_errors(KeyError):
        raise KeyError("a reason")
    with pytest.raises(OSError, match="another"), value_errors(KeyError):
        raise OSError("another")


def test_they_are_errors_of_ours_and_of_python() -> None:
    assert issubclass(ArgumentTypeError, TandemError | TypeError)
    assert issubclass(ArgumentValueError, ValueError)
    assert issubclass(ArgumentValueError, TandemError)


def test_long_lists_are_cut() -> None:
    with pytest.raises(ArgumentValueError, match=r"there are n0, .*, n29 and 70 others"):
        choice("name", "m", [f"n{number}" for number in range(100)])
    with pytest.raises(ArgumentValueError, match=r"there are n0, .*, n29 and 1 others$"):
        choice("name", "m", [f"n{number}" for number in range(31)])
    with pytest.raises(ArgumentValueError, match=r"there are n0, .*, n28, n29$"):
        choice("name", "m", [f"n{number}" for number in range(30)])
    with pytest.raises(ArgumentValueError, match=r"there are none$"):
        choice("name", "m", [])


def test_long_values_are_cut() -> None:
    for length, shown in ((57, f"b'{'a' * 57}'"), (58, f"b'{'a' * 55}...")):
        assert len(shown) == 60
        with pytest.raises(
            ArgumentTypeError, match=f"^name is {re.escape(shown)}: it must be a path"
        ):
            file_path("name", Shown(b"a" * length))


class Shown:
    """No path; is written as what it holds."""

    def __init__(self, held: object) -> None:
        self._held = held

    def __repr__(self) -> str:
        return repr(self._held)


@given(count=st.integers(0, 5), number=st.integers(-7, 7))
def test_numbers_of_things_are_those_of_a_list(count: int, number: int) -> None:
    things = [*range(count)]
    try:
        wanted = things[number]
    except IndexError:
        with pytest.raises(IndexError, match=f"^no layer {number}: there are {count}$"):
            index("layer", number, count)
    else:
        assert things[index("layer", number, count)] == wanted
