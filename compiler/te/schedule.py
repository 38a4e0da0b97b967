"""Schedules: where and when, apart from what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from compiler.errors import IRError, ScheduleError
from compiler.ir.buffer import Scope
from compiler.ir.printer import text
from compiler.ir.stmt import Function
from compiler.ir.verify import verify
from compiler.te.build import program_of
from compiler.te.primitives import (
    CacheRead,
    CacheWrite,
    ComputeAt,
    ComputeInline,
    DecomposeReduction,
    Fuse,
    Hole,
    Parallel,
    Partition,
    Primitive,
    Reorder,
    SetLayout,
    SetScope,
    SkipTerms,
    Split,
    Tensorize,
    Unroll,
    Vectorize,
    VirtualThread,
)
from compiler.te.tensor import Tensor
from compiler.te.trace import Trace, fill

__all__ = ["Schedule"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """A program, and the primitives that made it from its tensor expressions.

    Each method gives a new schedule and leaves this one as it is. Loops are named by a stage and an
    axis, so that a trace can be replayed on tensors of other shapes. What each primitive does, and
    what it refuses, is written in its class in `compiler.te.primitives`.

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
        program = step.apply(self.program)
        try:
            verify(program)
        except IRError as error:
            raise ScheduleError(str(step), f"the program would mean nothing: {error}") from error
        return Schedule(program, (*self.trace, step))

    def replay(
        self, trace: Iterable[Primitive], choices: Mapping[str, int] | None = None
    ) -> Schedule:
        """The schedule after the primitives of a trace, its holes filled by `choices`."""
        schedule = self
        for step in fill(tuple(trace), choices or {}):
            schedule = schedule.then(step)
        return schedule

    # Loops --------------------------------------------------------------------------------

    def split(
        self, stage: str, axis: str, factor: int | Hole, names: tuple[str, ...] = ()
    ) -> Schedule:
        """One loop becomes two; the inner one has `factor` turns."""
        return self.then(Split(stage, axis, factor, names))

    def tile(
        self,
        stage: str,
        axes: tuple[str, str],
        factors: tuple[int | Hole, int | Hole],
        names: tuple[str, str, str, str],
    ) -> Schedule:
        """Two nested loops become four: outer, outer, inner, inner."""
        first, second, first_inner, second_inner = names
        return (
            self.split(stage, axes[0], factors[0], (first, first_inner))
            .split(stage, axes[1], factors[1], (second, second_inner))
            .reorder(stage, first, second, first_inner, second_inner)
        )

    def fuse(self, stage: str, outer: str, inner: str, name: str = "") -> Schedule:
        """Two nested loops become one."""
        return self.then(Fuse(stage, outer, inner, name))

    def reorder(self, stage: str, *axes: str, reassociate: bool = False) -> Schedule:
        """Nested loops in another order, outermost first."""
        return self.then(Reorder(stage, axes, reassociate=reassociate))

    def partition(self, stage: str, axis: str, at: int | Hole, suffix: str = "tail") -> Schedule:
        """The last turns of a loop, from `at` on, apart."""
        return self.then(Partition(stage, axis, at, suffix))

    def vectorize(
        self, stage: str, axis: str, factor: int | Hole | None = None, *, reassociate: bool = False
    ) -> Schedule:
        """All turns at once, in the lanes of vectors; with a factor, of the inner part of a split
        (its name gets the suffix `_v`)."""
        if factor is None:
            return self.then(Vectorize(stage, axis, reassociate=reassociate))
        inner = f"{axis}_v"
        return self.split(stage, axis, factor, (axis, inner)).vectorize(
            stage, inner, reassociate=reassociate
        )

    def unroll(self, stage: str, axis: str) -> Schedule:
        """Turns written out one after the other."""
        return self.then(Unroll(stage, axis))

    def parallel(self, stage: str, axis: str) -> Schedule:
        """Turns spread over threads."""
        return self.then(Parallel(stage, axis))

    def virtual_thread(self, stage: str, axis: str) -> Schedule:
        """Turns interleaved in one instruction stream."""
        return self.then(VirtualThread(stage, axis))

    # Stages -------------------------------------------------------------------------------

    def compute_at(self, stage: str, reader: str, axis: str) -> Schedule:
        """Compute a stage inside a loop of its reader."""
        return self.then(ComputeAt(stage, reader, axis))

    def compute_inline(self, stage: str) -> Schedule:
        """Compute a stage's elements wherever they are read."""
        return self.then(ComputeInline(stage))

    def decompose_reduction(self, stage: str, axis: str) -> Schedule:
        """Start sums in front of a loop, in a stage of their own (`C_init`)."""
        return self.then(DecomposeReduction(stage, axis))

    def skip_terms(self, stage: str) -> Schedule:
        """Leave turns out whose terms change nothing."""
        return self.then(SkipTerms(stage))

    def tensorize(self, stage: str, axis: str, intrinsic: Function) -> Schedule:
        """A loop and all inside it as one tensor instruction."""
        return self.then(Tensorize(stage, axis, intrinsic))

    # Buffers ------------------------------------------------------------------------------

    def cache_read(
        self, buffer: str, readers: tuple[str, ...], scope: Scope, name: str = ""
    ) -> Schedule:
        """Let stages read a copy (a new stage, by default `A_local`)."""
        return self.then(CacheRead(buffer, readers, scope, name))

    def cache_write(self, stage: str, scope: Scope, name: str = "") -> Schedule:
        """Let a stage compute in another memory (a new stage, by default `C_local`)."""
        return self.then(CacheWrite(stage, scope, name))

    def set_scope(self, buffer: str, scope: Scope) -> Schedule:
        """Keep an intermediate buffer in another memory."""
        return self.then(SetScope(buffer, scope))

    def set_layout(self, buffer: str, order: tuple[str, ...]) -> Schedule:
        """Keep an intermediate buffer's elements in another order."""
        return self.then(SetLayout(buffer, order))
