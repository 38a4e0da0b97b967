"""What follows sums on the accelerator: passes of the ALU, and int8 as it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler import te
from compiler.intrinsics.accelerator import alu_value
from compiler.ir.dtypes import INT8, INT32
from compiler.ir.expr import Expr
from compiler.operators.checks import refuse, show
from compiler.te import Tensor, compute
from hw.encoding import AluOp

__all__ = ["DATA_AXES", "Pass", "epilogue"]

DATA_AXES = ("n", "oc", "y", "x", "b", "bo")
"""Of packed data, as outputs name them."""


@dataclass(frozen=True, slots=True)
class Pass:
    """An operation on every accumulator.

    Attributes
    ----------
    operand
        A number; a tensor int32[O / L, B, L] with one for each channel; or packed data in int8 or
        int32 of the output's shape, one for each element.
    """

    op: AluOp
    operand: int | Tensor


def epilogue(sums: Tensor, passes: Sequence[Pass], name: str) -> tuple[Tensor, tuple[str, ...]]:
    """`sums` after all passes, as int8 of their low 8 bits, called `name`.

    Returns
    -------
    tuple
        The output, and the names of the stages, one a pass: `{name}_0_add` and so on.
    """
    stages = []
    value = sums
    for number, each in enumerate(passes):
        value = _passed(value, each, f"{name}_{number}_{each.op.name.lower()}")
        stages.append(value.name)
    last = value
    output = compute(sums.shape, lambda *at: te.cast(last[at], INT8), name, DATA_AXES)
    return output, tuple(stages)


def _passed(value: Tensor, each: Pass, name: str) -> Tensor:
    operand = each.operand

    def other(at: tuple[Expr, ...]) -> Expr:
        if isinstance(operand, int):
            return te.const(operand, INT32)
        _, oc, _, _, b, bo = at
        element = operand[oc, b, bo] if len(operand.shape) == 3 else operand[at]
        return te.cast(element, INT32)

    if isinstance(operand, Tensor):
        n, oc, y, x, b, bo = value.shape
        channel = operand.shape == (oc, b, bo) and operand.dtype == INT32
        whole = operand.shape == value.shape and operand.dtype in (INT8, INT32)
        if not channel and not whole:
            refuse(
                each.op.name.lower(),
                name,
                f"{show(operand)} has to be int32[{oc}, {b}, {bo}], or int8 or int32 "
                f"[{n}, {oc}, {y}, {x}, {b}, {bo}]",
            )
    return compute(
        value.shape, lambda *at: alu_value(each.op, value[at], other(at)), name, DATA_AXES
    )
