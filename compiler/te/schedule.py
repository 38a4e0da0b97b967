"""Schedules: where and when, apart from what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType

from compiler.errors import IRError, ScheduleError
from compiler.ir.printer import text
from compiler.ir.stmt import Function
from compiler.ir.verify import verify
from compiler.te.build import program_of
from compiler.te.knobs import Choice, OpenTrace, Setting, Trace, When, bind, knobs_of
from compiler.te.primitives import Primitive
from compiler.te.steps import Steps
from compiler.te.tensor import Tensor

__all__ = ["Schedule", "Sketch"]


@dataclass(frozen=True, slots=True)
class Schedule(Steps):
    """A program, and the primitives that made it from its tensor expressions.

    Each method gives a new schedule and leaves this one as it is.

    Raises
    ------
    ScheduleError
        By every primitive that cannot be applied, or shown to keep the result.
    """

    program: Function
    trace: Trace = ()

    @staticmethod
    def of(*outputs: Tensor, inputs: Sequence[Tensor] = (), name: str | None = None) -> Schedule:
        """The schedule to begin with: each stage in full, one after the other."""
        program = program_of(outputs, inputs, name)
        verify(program)
        return Schedule(program)

    def __str__(self) -> str:
        return text(self.program)

    def then(self, step: Primitive) -> Schedule:
        """The schedule after one more primitive."""
        if names := knobs_of((step,)):
            raise ScheduleError(
                str(step), f"{', '.join(names)} is left open: replay the trace with a choice"
            )
        program = step.apply(self.program)
        try:
            verify(program)
        except IRError as error:
            raise ScheduleError(str(step), f"the program would mean nothing: {error}") from error
        return Schedule(program, (*self.trace, step))

    def replay(
        self, trace: Sequence[Primitive | When], choice: Choice = MappingProxyType({})
    ) -> Schedule:
        """The schedule after the primitives of a trace, its knobs set by `choice`.

        The program is verified once, at the end; if it means nothing, steps are taken one by one,
        so that the error names the step that broke it.
        """
        steps = bind(trace, choice)
        program = self.program
        for step in steps:
            program = step.apply(program)
        try:
            verify(program)
        except IRError:
            return reduce(Schedule.then, steps, self)
        return Schedule(program, (*self.trace, *steps))


@dataclass(frozen=True, slots=True)
class Sketch(Steps):
    """Primitives written down without a program: a trace whose knobs may be open."""

    trace: OpenTrace = ()

    def then(self, step: Primitive) -> Sketch:
        """The sketch with one more primitive."""
        return Sketch((*self.trace, step))

    def when(self, knob: str, settings: tuple[Setting, ...], steps: Sketch) -> Sketch:
        """The sketch with steps that belong to it for some settings of a knob."""
        return Sketch((*self.trace, When(knob, settings, steps.trace)))
