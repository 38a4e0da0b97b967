"""Tensor instructions in loops, over buffers at fixed addresses on chip."""

from __future__ import annotations

from tandem.compiler.ir.dtypes import INT32
from tandem.compiler.ir.ops import const
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.stmt import For, PrimFunc
from tandem.compiler.machines.accelerator.intrinsics.base import (
    AluStep,
    TensorInstruction,
    element_program,
)
from tandem.compiler.machines.accelerator.lower.commands import Compute
from tandem.compiler.machines.accelerator.lower.instruction_nests import Nest
from tandem.compiler.machines.accelerator.lower.invocations import InvocationPlan
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.hw.operations import AluOp
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine

TINY = machine("tiny")
TRIPLE = TensorInstruction(
    element_program(TINY, "triple", lambda a, b: a * const(3, INT32) + b, "A", "B"),
    "A",
    (AluStep(AluOp.MUL, "C", 3), AluStep(AluOp.ADD, "C", "B")),
)
"""An intrinsic of two operations that do not commute with another iteration's."""
TARGET = AcceleratorTarget.of(TINY).with_instructions(TRIPLE)
INTRINSICS = {
    instruction.name: instruction.function
    for instruction in (
        *TARGET.instructions,
        *(
            TARGET.instruction(name)
            for name in ("fill_5", "fill_0", "alu_max_imm_m7", "alu_shr_imm_3")
        ),
    )
}
BASES = {"C": 20, "D": 3, "A": 11, "E": 7, "B": 2}
"""The first elements of buffers of 8 elements: C, D and A in ACC, E in INP, B in WGT."""

_PROGRAM = """
func f(C: int32[8, 1, 4] @ acc, D: int32[8, 1, 4] @ acc, A: int32[8, 1, 4] @ acc, \
E: int8[8, 1, 4] @ inp, B: int8[8, 4, 4] @ wgt) -> (C: int32[8, 1, 4] @ acc):
  for t in 2:
    for i in 3:
      for j in {extent}:
        if {guard}:
          invoke {name}({operands})
"""


def _element(buffer: str, index: str) -> str:
    return f"{buffer}[{index} :+ 1, 0 :+ {4 if buffer == 'B' else 1}, 0 :+ 4]"


def program(name: str, *operands: str, extent: str = "4", guard: str = "True") -> PrimFunc:
    """A program that invokes the intrinsic `name`; an operand is a buffer and an index: "C 2*i"."""
    regions = ", ".join(_element(*each.split(" ", 1)) for each in operands)
    body = _PROGRAM.format(extent=extent, guard=guard, name=name, operands=regions)
    return parse(body, INTRINSICS)


def commands(function: PrimFunc, target: AcceleratorTarget = TARGET) -> list[list[Compute]]:
    """The commands of each iteration of `t`."""
    assert isinstance(function.body, For)
    plan = InvocationPlan.of(Nest.of(function.body.body), target)
    assert plan.output.name == "C"
    return [list(plan.at({"t": t}, BASES)) for t in range(2)]
