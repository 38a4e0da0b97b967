"""Errors that carry more than a message."""

from __future__ import annotations

from tandem.compiler.errors import FrontendError, ParseError, ScheduleError, UnknownValueError


def test_places_in_texts() -> None:
    error = ParseError("a name is expected", 3, 14)
    assert (error.line, error.column) == (3, 14)
    assert str(error) == "line 3, column 14: a name is expected"


def test_primitives() -> None:
    error = ScheduleError("split(C, i, 4)", "there is no loop i")
    assert (error.primitive, error.reason) == ("split(C, i, 4)", "there is no loop i")
    assert str(error) == "split(C, i, 4): there is no loop i"


def test_messages_about_models_are_one_printable_line() -> None:
    assert str(FrontendError("node a\n  b\t(Op):\x00 c\x1b[1m é")) == "node a b (Op):? c?[1m é"


def test_values_that_are_not_known() -> None:
    error = UnknownValueError("it", "shape", ("x", "y"))
    assert (str(error), error.operand, error.inputs) == ("it", "shape", ("x", "y"))
    assert UnknownValueError("it", "shape").inputs == ()
