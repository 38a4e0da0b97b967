"""Checks of arguments: what is allowed passes, and errors say what that is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.workbench.arguments import at_least, choice, file_path, value_errors
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError, TandemError


def test_what_is_allowed() -> None:
    assert choice("engine", "cycle", ("rtl", "cycle")) == "cycle"
    assert file_path("path", "a/b") == file_path("path", Path("a/b")) == Path("a/b")
    assert at_least("seed", 0, 0) == 0


def test_wrong_types() -> None:
    with pytest.raises(ArgumentTypeError, match="engine is 3: it must be one of rtl, cycle"):
        choice("engine", 3, ("rtl", "cycle"))
    with pytest.raises(ArgumentTypeError, match="path is 3: it must be a path: a str or an os"):
        file_path("path", 3)
    with pytest.raises(ArgumentTypeError, match="seed is True: it must be a whole number, 0 or"):
        at_least("seed", True, 0)


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
