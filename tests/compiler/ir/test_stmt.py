"""The parameters of intrinsics, and the shapes of their operands."""

from __future__ import annotations

import pytest

from compiler.ir import FLOAT32, Buffer, PrimFunc, Seq
from compiler.ir.stmt import kept_axes, parameters


def test_one_that_is_both_comes_once() -> None:
    a, b, c = (Buffer(name, (2,), FLOAT32) for name in "abc")
    assert parameters(PrimFunc("f", (a, c), (b, c), Seq(()))) == (a, c, b)


@pytest.mark.parametrize(
    ("operand", "parameter", "expected"),
    [
        ((4, 3), (4, 3), (0, 1)),
        ((1, 4, 1, 3, 1), (4, 3), (1, 3)),
        ((1, 1), (), ()),
        ((), (), ()),
        ((1, 1, 3), (1, 3), (0, 2)),
        ((0, 1), (0,), (0,)),
        ((4, 2), (4,), None),
        ((4,), (4, 1), None),
        ((4, 1), (1, 4), None),
        ((3, 4), (4, 3), None),
    ],
)
def test_kept_axes(
    operand: tuple[int, ...], parameter: tuple[int, ...], expected: tuple[int, ...] | None
) -> None:
    assert kept_axes(operand, parameter) == expected
