"""What annotations say of results: numbers, tuples of numbers, None, or nothing."""

from __future__ import annotations

from types import FunctionType

import pytest

from tandem.base.jit.annotations import declared
from tandem.base.jit.types import BOOL, FLOAT, INT, NONE, Record, Type


def annotated(annotation: object) -> FunctionType:
    def function() -> None: ...

    assert isinstance(function, FunctionType)
    function.__annotations__["return"] = annotation
    return function


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [
        ("int", INT),
        ("bool", BOOL),
        ("float", FLOAT),
        ("None", NONE),
        (int, INT),
        (bool, BOOL),
        ("tuple[int, bool]", Record((INT, BOOL))),
        ("tuple[int, tuple[float, int], None]", Record((INT, Record((FLOAT, INT)), NONE))),
        ("tuple[int, Any]", None),
        ("tuple[Any, Any]", None),
        ("tuple[tuple[Any, int], int]", None),
        ("list[int, int]", None),
        ("tuple[int]", None),
        ("Ints", None),
        ("Any", None),
        ("int | None", None),
        ("object", None),
    ],
)
def test_what_is_declared(annotation: object, kind: Type | None) -> None:
    assert declared(annotated(annotation)) == kind


def test_nothing_is_declared() -> None:
    function = annotated("int")
    del function.__annotations__["return"]
    assert declared(function) is None
