"""Checks of operands: both sides of each limit, and the words of each refusal."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT32,
    DType,
    Kind,
)
from tandem.compiler.operators.checks import (
    accumulator_type,
    axes_of,
    axis_of,
    check_count,
    check_inner_extents,
    check_kind,
    check_minimum,
    check_rank,
    show,
)
from tandem.compiler.te import Tensor, placeholder

X = placeholder((2, 3, 4), FLOAT32, "X")


def refused(message: str) -> pytest.RaisesExc[Any]:
    return pytest.raises(TensorError, match=f"^op Y: {re.escape(message)}$")


def test_names() -> None:
    assert show(X) == "X float32[2, 3, 4]"
    assert show(placeholder((), INT8, "s")) == "s int8[]"


def test_ranks_and_kinds() -> None:
    check_rank("op", "Y", X, 3)
    with refused("X float32[2, 3, 4] has to have 2 dimensions"):
        check_rank("op", "Y", X, 2)
    with refused("X float32[2, 3, 4] has to have 4 dimensions, N, C, H, W"):
        check_rank("op", "Y", X, 4, "N, C, H, W")
    check_kind("op", "Y", X, Kind.INT, Kind.FLOAT)
    with refused("X float32[2, 3, 4] is not of the kind int, uint"):
        check_kind("op", "Y", X, Kind.INT, Kind.UINT)


def test_numbers() -> None:
    check_count("op", "Y", "strides", (1, 2), 2)
    check_minimum("op", "Y", "strides", (1, 2), 2, 1)
    for values in ((1,), (1, 2, 3)):
        with refused(f"strides {list(values)} has to be 2 numbers"):
            check_minimum("op", "Y", "strides", values, 2, 0)
    with refused("strides [0, 2] has a number below 1"):
        check_minimum("op", "Y", "strides", (0, 2), 2, 1)


def test_axes() -> None:
    assert [axis_of("op", "Y", X, axis) for axis in (-3, -1, 0, 2)] == [0, 2, 0, 2]
    assert [axis_of("op", "Y", X, axis, extra=1) for axis in (-4, 3)] == [0, 3]
    for axis in (-4, 3):
        with refused(f"X float32[2, 3, 4] has no axis {axis}: -3..2"):
            axis_of("op", "Y", X, axis)
    with refused("X float32[2, 3, 4] has no axis 4: -4..3"):
        axis_of("op", "Y", X, 4, extra=1)
    assert axes_of("op", "Y", X, None) == (0, 1, 2)
    assert axes_of("op", "Y", X, [-1, 0]) == (0, 2)
    assert axes_of("op", "Y", X, []) == ()
    with refused("axes [2, -1] of X float32[2, 3, 4] name one axis twice"):
        axes_of("op", "Y", X, [2, -1])


def test_inner_extents() -> None:
    a, b = placeholder((2, 3), FLOAT32, "A"), placeholder((3, 5), FLOAT32, "B")
    check_inner_extents("op", "Y", (a, b), (3, 3))
    check_inner_extents("op", "Y", (a, b), (1, 1))
    both = "A float32[2, 3] and B float32[3, 5]"
    with refused(f"{both} meet with 3 and 4 elements"):
        check_inner_extents("op", "Y", (a, b), (3, 4))
    with refused(f"{both} meet with none: nothing to sum"):
        check_inner_extents("op", "Y", (a, b), (0, 0))


def of(dtype: DType, name: str = "A") -> Tensor:
    return placeholder((1,), dtype, name)


@pytest.mark.parametrize(
    ("left", "right", "asked", "wanted"),
    [
        (FLOAT32, FLOAT32, None, FLOAT32),
        (INT8, INT8, None, INT32),
        (INT8, UINT8, None, INT32),
        (UINT8, INT16, None, INT32),
        (INT32, INT8, None, INT32),
        (INT8, INT64, None, INT64),
        (UINT32, INT32, None, INT32),
        (INT32, UINT32, None, INT32),
        (UINT32, UINT32, None, UINT32),
        (INT8, INT8, INT8, INT8),
        (INT8, INT16, INT64, INT64),
        (FLOAT32, FLOAT32, FLOAT64, FLOAT64),
    ],
)
def test_accumulators(left: DType, right: DType, asked: DType | None, wanted: DType) -> None:
    assert accumulator_type("op", "Y", of(left), of(right, "B"), asked) == wanted


def test_accumulators_that_there_are_not() -> None:
    def both(left: DType, right: DType) -> str:
        return f"A {left}[1] and B {right}[1]"

    for left, right in ((BOOL, INT8), (INT8, BOOL)):
        with refused(f"products of bools are not defined: {both(left, right)}"):
            accumulator_type("op", "Y", of(left), of(right, "B"), None)
    for left, right in ((FLOAT32, FLOAT64), (FLOAT32, INT8), (INT8, FLOAT32)):
        with refused(f"{both(left, right)} have types that do not multiply: cast one"):
            accumulator_type("op", "Y", of(left), of(right, "B"), None)
    for left, right, asked in (
        (INT8, INT16, INT8),
        (INT16, INT8, INT8),
        (INT8, INT8, FLOAT32),
        (FLOAT32, FLOAT32, INT64),
        (FLOAT64, FLOAT64, FLOAT32),
    ):
        message = f"out_dtype {asked} does not hold products of {both(left, right)}"
        with refused(message):
            accumulator_type("op", "Y", of(left), of(right, "B"), asked)
