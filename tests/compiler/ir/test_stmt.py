"""The parameters of intrinsics, and the shapes of their operands."""

from __future__ import annotations

import pytest

from tandem.compiler.ir import FLOAT32, Buffer, PrimFunc, Seq
from tandem.compiler.ir.expr import Const
from tandem.compiler.ir.stmt import Invoke, Region, kept_axes, parameters


def test_one_that_is_both_comes_once() -> None:
    a, b, c = (Buffer(name, (2,), FLOAT32) for name in "abc")
    assert parameters(PrimFunc("f", (a, c), (b, c), Seq(()))) == (a, c, b)


def test_the_boxes_that_an_intrinsic_writes() -> None:
    """Wherever these stand among its operands, in the order of its outputs."""
    a, b, c = (Buffer(name, (2,), FLOAT32) for name in "abc")
    boxes = tuple(Region(each, (Const(0),), (2,)) for each in (a, c, b))
    invoke = Invoke(PrimFunc("f", (a, c), (b, c), Seq(())), boxes)
    assert invoke.results == (boxes[2], boxes[1])


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
