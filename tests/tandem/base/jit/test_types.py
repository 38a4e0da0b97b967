"""Values of compiled code: how they are passed, and that they come back as they went."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.base.jit import CompilationError
from tandem.base.jit.types import (
    BOOL,
    ELEMENTS,
    FLOAT,
    INT,
    NONE,
    Array,
    Record,
    leaves_of,
    pass_value,
    returned,
)


class Named(NamedTuple):
    values: np.ndarray[Any, Any]
    scale: float
    rest: tuple[int, bool]


NUMBERS = st.one_of(
    st.booleans(), st.integers(-(1 << 63), (1 << 63) - 1), st.floats(allow_nan=False)
)
VALUES = st.recursive(
    NUMBERS | st.none(),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple),
    max_leaves=8,
)


def passed(value: object) -> tuple[Any, list[int]]:
    leaves: list[int] = []
    return pass_value(value, leaves), leaves


@given(VALUES)
def test_values_come_back(value: object) -> None:
    kind, leaves = passed(value)
    assert len(leaves) == len([*leaves_of(kind)])
    places = iter(leaves)
    found = returned(kind, places)
    assert next(places, None) is None, "a leaf is left"
    assert repr(found) == repr(value)


def test_numbers() -> None:
    assert passed(True) == passed(np.True_) == (BOOL, [1])
    assert passed(False) == (BOOL, [0])
    assert passed(-3) == passed(np.int8(-3)) == (INT, [-3])
    assert passed(np.uint64((1 << 64) - 1)) == (INT, [(1 << 64) - 1])
    assert passed(1.0) == passed(np.float32(1.0)) == (FLOAT, [0x3FF0 << 48])
    assert passed(-0.0) == (FLOAT, [-(1 << 63)])
    assert passed(None) == (NONE, [])
    assert math.isnan(returned(*_iterated(passed(math.nan))))


def _iterated(pair: tuple[Any, list[int]]) -> Any:
    kind, leaves = pair
    return kind, iter(leaves)


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (2, 1, 4)])
def test_arrays_are_an_address_and_a_shape(element: str, shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, element)
    assert passed(array) == (Array(element, len(shape)), [array.ctypes.data, *shape])
    assert [*leaves_of(Array(element, len(shape)))] == ["ptr", *["i64"] * len(shape)]


def test_tuples_are_their_fields() -> None:
    array = np.zeros((2, 3), np.int16)
    kind, leaves = passed(Named(array, 0.5, (7, True)))
    assert kind == Record(
        (Array("int16", 2), FLOAT, Record((INT, BOOL))), ("values", "scale", "rest")
    )
    assert leaves == [array.ctypes.data, 2, 3, 0x3FE0 << 48, 7, 1]
    assert [*leaves_of(kind)] == ["ptr", "i64", "i64", "double", "i64", "i1"]
    assert passed((1, 2))[0] == Record((INT, INT))


@pytest.mark.parametrize("value", ["text", [1], {1: 2}, 1j, np.str_("text")])
def test_other_values(value: object) -> None:
    with pytest.raises(CompilationError, match=f"^compiled code takes no {type(value).__name__}$"):
        passed(value)


@pytest.mark.parametrize("dtype", ["complex64", "float32", "uint64", ">i4", "S4", "O"])
def test_arrays_of_other_elements(dtype: str) -> None:
    shown = np.dtype(dtype)
    with pytest.raises(CompilationError) as caught:
        passed(np.zeros(3, dtype))
    assert str(caught.value) == f"compiled code takes no array of {shown}"


WHOLE = np.zeros((4, 6), np.int32)
BYTES = np.zeros(41, np.int8)


@pytest.mark.parametrize(
    "array", [WHOLE[:, ::2], WHOLE[:, 1:], WHOLE.T, WHOLE[::-1], BYTES[1:].view(np.int32)]
)
def test_arrays_that_are_not_dense(array: np.ndarray[Any, Any]) -> None:
    with pytest.raises(CompilationError) as caught:
        passed(array)
    assert str(caught.value) == (
        "compiled code takes arrays that are dense, row-major and aligned, not one of shape "
        f"{array.shape} with strides {array.strides}"
    )
    assert passed(array.copy())[0] == Array("int32", array.ndim)
