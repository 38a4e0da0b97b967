"""Sketches on a CPU: rules of a processor, and kernels of sketched schedules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.lower.lowering import LOOP_PASSES, lower
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.intrinsics import CPU_INTRINSICS
from tandem.compiler.te.knobs import Choice
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches.computation import Computation
from tandem.compiler.tune.sketches.constants import Hoisted, hoist_constants
from tandem.compiler.tune.sketches.rules import SketchRules
from tandem.compiler.tune.sketches.template import SKETCHES
from tandem.compiler.tune.sketches.vectors import written_out

MOST_WRITTEN: Final = 1024
"""The most statements of a sketch after unrolling: LLVM takes seconds for more."""


def rules_of(machine: CpuTarget, computation: Computation) -> SketchRules:
    """The rules for sketches of a computation on a processor."""
    known = {*machine.features}
    return SketchRules(
        machine.register_bits,
        machine.registers,
        machine.threads,
        computation.reassociate,
        intrinsics=tuple(
            intrinsic.function
            for intrinsic in CPU_INTRINSICS.values()
            if intrinsic.features <= known
        ),
    )


@dataclass(frozen=True, slots=True)
class LowerSketch:
    """Lowers sketches of a computation, and refuses those that are too long.

    Attributes
    ----------
    constants
        The names of the constant inputs.
    """

    machine: CpuTarget
    constants: frozenset[str]

    def __call__(self, schedule: Schedule) -> PrimFunc:
        """The plain program, without the stages of constants.

        Raises
        ------
        IRError
            It cannot be lowered.
        CodegenError
            It is too long.
        """
        hoisted = hoist_constants(schedule.program, self.constants)
        program = lower(hoisted.program, LOOP_PASSES)
        written = written_out(program, self.machine.register_bits)
        if written > MOST_WRITTEN:
            raise CodegenError(
                f"the sketch writes out {written} statements: {MOST_WRITTEN} are allowed"
            )
        return program


def sketched(computation: Computation, choice: Choice, machine: CpuTarget) -> Hoisted:
    """The programs of a computation with the decisions of a record.

    Raises
    ------
    ReplayError, ScheduleError
        The decisions are not those of this version, or not of this computation.
    """
    schedule = SKETCHES.schedule(computation, choice, rules_of(machine, computation))
    return hoist_constants(schedule.program, computation.constant_names)
