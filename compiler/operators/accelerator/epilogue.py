"""What follows sums on the accelerator: passes of the ALU, and int8 as it is stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from compiler import te
from compiler.intrinsics.accelerator import alu_value
from compiler.ir.dtypes import INT8, INT32
from compiler.ir.expr import Expr
from compiler.operators.checks import refuse, show
from compiler.te import Tensor, compute
from hw.encoding import AluOp

__all__ = [
    "DATA_AXES",
    "Pass",
    "Step",
    "axes_of",
    "epilogue",
    "in_accumulators",
    "operand_stage",
    "operands_of",
    "steps_of",
]

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
    before
        What is done to an operand of the output's shape first: say, MUL where its scale differs.
    """

    op: AluOp
    operand: int | Tensor
    before: tuple[Pass, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether it has an operand for each element."""
        return isinstance(self.operand, Tensor) and len(self.operand.shape) > 3


Step = tuple[str, Pass]
"""A pass, and the stage that does it."""


def epilogue(sums: Tensor, passes: Sequence[Pass], name: str) -> tuple[Tensor, tuple[Step, ...]]:
    """`sums` after all passes, as int8 of their low 8 bits, called `name`.

    Stages: one a pass, `{name}_0_add` and so on; before one with an operand for each element,
    `{name}_0_add_operand` and what is done to that, `{name}_0_add_operand_0_mul` and so on.

    Raises
    ------
    TensorError
        Operands of other shapes or types than `Pass` allows.
    """
    steps = steps_of(passes, name)
    last = _passed(sums, steps)
    axes = axes_of(sums)
    return compute(sums.shape, lambda *at: te.cast(last[at], INT8), name, axes), steps


def steps_of(passes: Sequence[Pass], prefix: str) -> tuple[Step, ...]:
    """The passes with their stages' names."""
    return tuple(
        (f"{prefix}_{number}_{each.op.name.lower()}", each) for number, each in enumerate(passes)
    )


def operand_stage(stage: str) -> str:
    """The stage that brings an operand for each element, by the one that uses it."""
    return f"{stage}_operand"


def operands_of(passes: Iterable[Pass]) -> tuple[Tensor, ...]:
    """The tensors that passes read, each once."""

    def found(some: Iterable[Pass]) -> Iterator[Tensor]:
        for each in some:
            if isinstance(each.operand, Tensor):
                yield each.operand
            yield from found(each.before)

    return tuple({each.name: each for each in found(passes)}.values())


def axes_of(tensor: Tensor) -> tuple[str, ...]:
    """The axes' names of a tensor that is computed."""
    assert tensor.source is not None
    return tuple(each.name for each in tensor.source.axes)


def in_accumulators(tensor: Tensor, name: str, axes: Sequence[str]) -> Tensor:
    """int8 or int32, as int32: what a LOAD into ACC gives."""

    def element(*at: Expr) -> Expr:
        return tensor[at] if tensor.dtype == INT32 else te.cast(tensor[at], INT32)

    return compute(tensor.shape, element, name, axes)


def _passed(value: Tensor, steps: Sequence[Step]) -> Tensor:
    for stage, each in steps:
        value = _one_passed(value, stage, each)
    return value


def _one_passed(value: Tensor, stage: str, each: Pass) -> Tensor:
    operand = _operand(value, stage, each)

    def element(*at: Expr) -> Expr:
        if isinstance(operand, int):
            return alu_value(each.op, value[at], te.const(operand, INT32))
        place = at if each.whole else (at[1], *at[-2:])
        return alu_value(each.op, value[at], operand[place])

    return compute(value.shape, element, stage, axes_of(value))


def _operand(value: Tensor, stage: str, each: Pass) -> int | Tensor:
    """The operand as the ALU reads it."""
    operand, op = each.operand, each.op.name.lower()
    if isinstance(operand, Tensor):
        channels = value.shape[1], *value.shape[-2:]
        channel = operand.shape == channels and operand.dtype == INT32
        if not channel and not (operand.shape == value.shape and operand.dtype in (INT8, INT32)):
            refuse(
                op,
                stage,
                f"{show(operand)} has to be int32{list(channels)}, or int8 or int32 "
                f"{list(value.shape)}",
            )
    if isinstance(operand, int) or not each.whole:
        if each.before:
            refuse(op, stage, "only an operand for each element has passes of its own")
        return operand
    name = operand_stage(stage)
    return _passed(in_accumulators(operand, name, axes_of(value)), steps_of(each.before, name))
