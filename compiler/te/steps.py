"""The primitives as methods, one after the other, of whatever takes them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

from compiler.ir.buffer import Scope
from compiler.ir.stmt import Function
from compiler.te.knobs import Knob
from compiler.te.primitives import (
    CacheRead,
    CacheWrite,
    ComputeAt,
    ComputeInline,
    DecomposeReduction,
    Fuse,
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

__all__ = ["Steps"]


class Steps(ABC):
    """Takes primitives: a schedule, which applies them, or a sketch, which writes them down.

    Loops are named by a stage and an axis, so that a trace can be replayed on tensors of other
    shapes. What each primitive does, and what it refuses, is written in its class in
    `compiler.te.primitives`.
    """

    __slots__ = ()

    @abstractmethod
    def then(self, step: Primitive) -> Self:
        """The same after one more primitive."""

    # Loops --------------------------------------------------------------------------------

    def split(self, stage: str, axis: str, factor: int, names: tuple[str, ...] = ()) -> Self:
        """One loop becomes two; the inner one has `factor` turns."""
        return self.then(Split(stage, axis, factor, names))

    def tile(
        self,
        stage: str,
        axes: tuple[str, str],
        factors: tuple[int, int],
        names: tuple[str, str, str, str],
    ) -> Self:
        """Two nested loops become four: outer, outer, inner, inner."""
        first, second, first_inner, second_inner = names
        return (
            self.split(stage, axes[0], factors[0], (first, first_inner))
            .split(stage, axes[1], factors[1], (second, second_inner))
            .reorder(stage, first, second, first_inner, second_inner)
        )

    def fuse(self, stage: str, outer: str, inner: str, name: str = "") -> Self:
        """Two nested loops become one."""
        return self.then(Fuse(stage, outer, inner, name))

    def reorder(self, stage: str, *axes: str, reassociate: bool = False) -> Self:
        """Nested loops in another order, outermost first; a single knob stands for all axes."""
        (first, *more) = axes or ("",)
        whole = first if isinstance(first, Knob) and not more else axes
        return self.then(Reorder(stage, whole, reassociate=reassociate))

    def partition(self, stage: str, axis: str, at: int, suffix: str = "tail") -> Self:
        """The last turns of a loop, from `at` on, apart."""
        return self.then(Partition(stage, axis, at, suffix))

    def vectorize(
        self, stage: str, axis: str, factor: int | None = None, *, reassociate: bool = False
    ) -> Self:
        """All turns at once, in the lanes of vectors; with a factor, of the inner part of a split
        (its name gets the suffix `_v`)."""
        if factor is None:
            return self.then(Vectorize(stage, axis, reassociate=reassociate))
        inner = f"{axis}_v"
        return self.split(stage, axis, factor, (axis, inner)).vectorize(
            stage, inner, reassociate=reassociate
        )

    def unroll(self, stage: str, axis: str) -> Self:
        """Turns written out one after the other."""
        return self.then(Unroll(stage, axis))

    def parallel(self, stage: str, axis: str) -> Self:
        """Turns spread over threads."""
        return self.then(Parallel(stage, axis))

    def virtual_thread(self, stage: str, axis: str) -> Self:
        """Turns interleaved in one instruction stream."""
        return self.then(VirtualThread(stage, axis))

    # Stages -------------------------------------------------------------------------------

    def compute_at(self, stage: str, reader: str, axis: str) -> Self:
        """Compute a stage inside a loop of its reader."""
        return self.then(ComputeAt(stage, reader, axis))

    def compute_inline(self, stage: str) -> Self:
        """Compute a stage's elements wherever they are read."""
        return self.then(ComputeInline(stage))

    def decompose_reduction(self, stage: str, axis: str) -> Self:
        """Start sums in front of a loop, in a stage of their own (`C_init`)."""
        return self.then(DecomposeReduction(stage, axis))

    def skip_terms(self, stage: str) -> Self:
        """Leave turns out whose terms change nothing."""
        return self.then(SkipTerms(stage))

    def tensorize(self, stage: str, axis: str, intrinsic: Function) -> Self:
        """A loop and all inside it as one tensor instruction."""
        return self.then(Tensorize(stage, axis, intrinsic))

    # Buffers ------------------------------------------------------------------------------

    def cache_read(
        self, buffer: str, readers: tuple[str, ...], scope: Scope, name: str = ""
    ) -> Self:
        """Let stages read a copy (a new stage, by default `A_local`)."""
        return self.then(CacheRead(buffer, readers, scope, name))

    def cache_write(self, stage: str, scope: Scope, name: str = "") -> Self:
        """Let a stage compute in another memory (a new stage, by default `C_local`)."""
        return self.then(CacheWrite(stage, scope, name))

    def set_scope(self, buffer: str, scope: Scope) -> Self:
        """Keep an intermediate buffer in another memory."""
        return self.then(SetScope(buffer, scope))

    def set_layout(self, buffer: str, order: tuple[str, ...]) -> Self:
        """Keep an intermediate buffer's elements in another order."""
        return self.then(SetLayout(buffer, order))
