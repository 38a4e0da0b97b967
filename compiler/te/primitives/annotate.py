"""vectorize, parallel, unroll, virtual_thread: how the turns of a loop run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from compiler.ir.stmt import For, Function, LoopKind
from compiler.ir.visit import loops
from compiler.te.primitives.base import Primitive
from compiler.te.roles import not_independent, not_vectorizable
from compiler.te.tree import loops_among, path_to, replace_loop

__all__ = ["Parallel", "Unroll", "Vectorize", "VirtualThread"]


def _bind(program: Function, loop: For, kind: LoopKind) -> Function:
    body = replace_loop(program.body, loop.var.name, lambda each: replace(each, kind=kind))
    return replace(program, body=body)


@dataclass(frozen=True, slots=True)
class Vectorize(Primitive):
    """Run all turns of a loop at once, in the lanes of vectors.

        for C.j_i in 16:           ->        for C.j_i in 16 vectorized:

    Refused unless different turns write different elements; of a loop that joins terms, unless
    their order does not matter or `reassociate` permits it to. (Halide, TVM: `vectorize`.)
    """

    stage: str
    axis: str
    reassociate: bool = field(default=False, kw_only=True)

    name: ClassVar[str] = "vectorize"

    def apply(self, program: Function) -> Function:
        """See the class."""
        loop = self.serial(self.loop(program.body, self.stage, self.axis))
        for around in loops_among(path_to(program.body, loop)):
            if around.kind is LoopKind.VECTORIZED:
                self.refuse(f"{loop.var.name} lies inside {around.var.name}, vectorized already")
        reason = not_vectorizable(loop, self.reassociate)
        if reason is not None:
            self.refuse(reason)
        return _bind(program, loop, LoopKind.VECTORIZED)


@dataclass(frozen=True, slots=True)
class Parallel(Primitive):
    """Spread the turns of a loop over threads.

        for C.i_o in 8:           ->        for C.i_o in 8 parallel:

    Refused unless different turns write different elements and read none of each other's. (Halide,
    TVM: `parallel`.)
    """

    stage: str
    axis: str

    name: ClassVar[str] = "parallel"

    def apply(self, program: Function) -> Function:
        """See the class."""
        loop = self.serial(self.loop(program.body, self.stage, self.axis))
        for around in loops_among(path_to(program.body, loop))[:-1]:
            if around.kind in (LoopKind.PARALLEL, LoopKind.VECTORIZED):
                self.refuse(f"{loop.var.name} lies inside {around.var.name}: {around.kind.value}")
        for inside in loops(loop.body):
            if inside.kind is LoopKind.PARALLEL:
                self.refuse(f"{inside.var.name} inside {loop.var.name} is parallel already")
        reason = not_independent(loop)
        if reason is not None:
            self.refuse(reason)
        return _bind(program, loop, LoopKind.PARALLEL)


@dataclass(frozen=True, slots=True)
class Unroll(Primitive):
    """Write the turns of a loop out, one after the other.

        for C.i_i in 4:           ->        for C.i_i in 4 unrolled:

    Always legal. Small buffers indexed by it can then live in registers. (Halide, TVM: `unroll`.)
    """

    stage: str
    axis: str

    name: ClassVar[str] = "unroll"

    def apply(self, program: Function) -> Function:
        """See the class."""
        loop = self.serial(self.loop(program.body, self.stage, self.axis))
        return _bind(program, loop, LoopKind.UNROLLED)


@dataclass(frozen=True, slots=True)
class VirtualThread(Primitive):
    """Run the turns of a loop interleaved, each with its own share of what is allocated inside.

        for C.j_o in 2:           ->        for C.j_o in 2 virtual_thread:

    One turn's loads then hide behind another's arithmetic. Refused unless turns are independent.
    (TVM, OSDI'18, section 4.4.)
    """

    stage: str
    axis: str

    name: ClassVar[str] = "virtual_thread"

    def apply(self, program: Function) -> Function:
        """See the class."""
        loop = self.serial(self.loop(program.body, self.stage, self.axis))
        reason = not_independent(loop)
        if reason is not None:
            self.refuse(reason)
        return _bind(program, loop, LoopKind.VIRTUAL_THREAD)
