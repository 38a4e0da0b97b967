"""Schedules: where and in which order the elements of tensor expressions are computed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType
from typing import Self

from tandem.compiler.errors import IRError, ScheduleError
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.ir.verify import verify
from tandem.compiler.te import primitives
from tandem.compiler.te.build import program_of
from tandem.compiler.te.knobs import Choice, Knob, OpenTrace, Setting, Trace, When, bind, knobs_of
from tandem.compiler.te.primitives.base import Primitive
from tandem.compiler.te.tensor import Tensor


class PrimitiveMethods(ABC):
    """The primitives as methods of schedules, which apply them, and sketches, which record them.

    Loops are named by a stage and an axis, so that a trace can be replayed on tensors of other
    shapes. The classes in `compiler.te.primitives` say what each primitive does and refuses.
    """

    __slots__ = ()

    @abstractmethod
    def then(self, step: Primitive) -> Self:
        """Return the schedule or sketch after one more primitive."""

    # Loops --------------------------------------------------------------------------------

    def split(self, stage: str, axis: str, factor: int, names: tuple[str, ...] = ()) -> Self:
        """Split a loop into two; the inner one has `factor` iterations."""
        return self.then(primitives.Split(stage, axis, factor, names))

    def tile(
        self,
        stage: str,
        axes: tuple[str, str],
        factors: tuple[int, int],
        names: tuple[str, str, str, str],
    ) -> Self:
        """Split two nested loops and reorder them: outer, outer, inner, inner."""
        first, second, first_inner, second_inner = names
        return (
            self.split(stage, axes[0], factors[0], (first, first_inner))
            .split(stage, axes[1], factors[1], (second, second_inner))
            .reorder(stage, first, second, first_inner, second_inner)
        )

    def fuse(self, stage: str, outer: str, inner: str, name: str = "") -> Self:
        """Fuse two nested loops into one."""
        return self.then(primitives.Fuse(stage, outer, inner, name))

    def reorder(self, stage: str, *axes: str, reassociate: bool = False) -> Self:
        """Reorder nested loops, outermost first; a single knob stands for all axes."""
        (first, *more) = axes or ("",)
        whole = first if isinstance(first, Knob) and not more else axes
        return self.then(primitives.Reorder(stage, whole, reassociate=reassociate))

    def partition(self, stage: str, axis: str, at: int, suffix: str = "tail") -> Self:
        """Peel off the last iterations of a loop, from `at` on."""
        return self.then(primitives.Partition(stage, axis, at, suffix))

    def vectorize(
        self, stage: str, axis: str, factor: int | None = None, *, reassociate: bool = False
    ) -> Self:
        """Run all iterations of a loop at once, in vector lanes; with a factor, split the loop and
        vectorize the inner loop (named with the suffix `_v`)."""
        if factor is None:
            return self.then(primitives.Vectorize(stage, axis, reassociate=reassociate))
        inner = f"{axis}_v"
        return self.split(stage, axis, factor, (axis, inner)).vectorize(
            stage, inner, reassociate=reassociate
        )

    def unroll(self, stage: str, axis: str) -> Self:
        """Write out the iterations of a loop, one after the other."""
        return self.then(primitives.Unroll(stage, axis))

    def parallel(self, stage: str, axis: str) -> Self:
        """Spread the iterations of a loop over threads."""
        return self.then(primitives.Parallel(stage, axis))

    def virtual_thread(self, stage: str, axis: str) -> Self:
        """Interleave the iterations of a loop in one instruction stream."""
        return self.then(primitives.VirtualThread(stage, axis))

    def eager(self, stage: str, axis: str) -> Self:
        """Run each iteration of a loop as soon as its operands are there."""
        return self.then(primitives.Eager(stage, axis))

    def bind(self, stage: str, axis: str, to: str) -> Self:
        """Spread the iterations of a loop over a GPU's `blocks` of threads, or over the `threads`
        of a block."""
        return self.then(primitives.Bind(stage, axis, to))

    # Stages -------------------------------------------------------------------------------

    def compute_at(self, stage: str, reader: str, axis: str) -> Self:
        """Compute a stage inside a loop of its reader."""
        return self.then(primitives.ComputeAt(stage, reader, axis))

    def compute_inline(self, stage: str) -> Self:
        """Substitute a stage into its readers."""
        return self.then(primitives.ComputeInline(stage))

    def decompose_reduction(self, stage: str, axis: str) -> Self:
        """Initialise a reduction before a loop, in a stage of its own (`C_init`)."""
        return self.then(primitives.DecomposeReduction(stage, axis))

    def rfactor(
        self, stage: str, axis: str, factor: int, partial: str = "", *, reassociate: bool = False
    ) -> Self:
        """Compute a reduction in partial results, which a second stage reduces (`C_rf`)."""
        return self.then(primitives.RFactor(stage, axis, factor, partial, reassociate=reassociate))

    def skip_terms(self, stage: str) -> Self:
        """Skip the iterations of a reduction whose terms do not change the result."""
        return self.then(primitives.SkipTerms(stage))

    def tensorize(
        self, stage: str, axis: str, intrinsic: PrimFunc, initialise: PrimFunc | None = None
    ) -> Self:
        """Replace a loop and all inside it by a tensor intrinsic; and a reduction's initialiser by
        a second one."""
        return self.then(primitives.Tensorize(stage, axis, intrinsic, initialise))

    # Buffers ------------------------------------------------------------------------------

    def cache_read(
        self, buffer: str, readers: tuple[str, ...], scope: Scope, name: str = ""
    ) -> Self:
        """Make stages read a copy (a new stage, `A_local` by default)."""
        return self.then(primitives.CacheRead(buffer, readers, scope, name))

    def cache_write(self, stage: str, scope: Scope, name: str = "") -> Self:
        """Make a stage compute into another memory (a new stage, `C_local` by default)."""
        return self.then(primitives.CacheWrite(stage, scope, name))

    def set_scope(self, buffer: str, scope: Scope) -> Self:
        """Keep an intermediate buffer in another memory."""
        return self.then(primitives.SetScope(buffer, scope))

    def set_layout(self, buffer: str, order: tuple[str, ...]) -> Self:
        """Keep an intermediate buffer in another layout."""
        return self.then(primitives.SetLayout(buffer, order))

    def multi_buffer(self, buffer: str, slots: int) -> Self:
        """Give an intermediate buffer several slots, which its lifetimes take in rotation."""
        return self.then(primitives.MultiBuffer(buffer, slots))


@dataclass(frozen=True, slots=True)
class Schedule(PrimitiveMethods):
    """A program, and the primitives that made it from its tensor expressions.

    Methods return a new schedule and leave this one unchanged.

    Raises
    ------
    ScheduleError
        If a primitive cannot be applied, or cannot be shown to keep the result.
    """

    program: PrimFunc
    trace: Trace = ()

    @staticmethod
    def of(*outputs: Tensor, inputs: Sequence[Tensor] = (), name: str | None = None) -> Schedule:
        """Return the initial schedule: one stage after the other, each in full."""
        program = program_of(outputs, inputs, name)
        verify(program)
        return Schedule(program)

    def __str__(self) -> str:
        return text(self.program)

    def then(self, step: Primitive) -> Schedule:
        """Return the schedule after one more primitive."""
        if names := knobs_of((step,)):
            raise ScheduleError(
                str(step), f"{', '.join(names)} has no value: replay the trace with a choice"
            )
        program = step.apply(self.program)
        try:
            verify(program)
        except IRError as error:
            raise ScheduleError(str(step), f"the program would be illegal: {error}") from error
        return Schedule(program, (*self.trace, step))

    def replay(
        self, trace: Sequence[Primitive | When], choice: Choice = MappingProxyType({})
    ) -> Schedule:
        """Return the schedule after the primitives of a trace, whose knobs `choice` sets.

        The program is verified once, at the end; if it is illegal, the primitives are applied again
        one by one, so that the error names the primitive that broke the program.
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
class Sketch(PrimitiveMethods):
    """A trace recorded without a program, whose knobs may be open."""

    trace: OpenTrace = ()

    def then(self, step: Primitive) -> Sketch:
        """Return the sketch with one more primitive."""
        return Sketch((*self.trace, step))

    def when(self, knob: str, settings: tuple[Setting, ...], steps: Sketch) -> Sketch:
        """Return the sketch with steps that are applied only for some settings of a knob."""
        return Sketch((*self.trace, When(knob, settings, steps.trace)))
