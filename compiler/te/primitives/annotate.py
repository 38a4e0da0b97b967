"""vectorize, parallel, unroll, virtual_thread, eager: how the iterations of a loop run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from tandem.compiler.ir.stmt import For, LoopKind, PrimFunc
from tandem.compiler.ir.visit import loops
from tandem.compiler.te.dependences import carried_dependence, vectorization_obstacle
from tandem.compiler.te.primitives.base import Primitive
from tandem.compiler.te.tree import loops_on_path, path_to, replace_loop


@dataclass(frozen=True, slots=True)
class _Annotation(Primitive):
    """Sets the kind of a serial loop."""

    stage: str
    axis: str
    kind: ClassVar[LoopKind]

    def apply(self, program: PrimFunc) -> PrimFunc:
        loop = self.require_serial(self.loop(program.body, self.stage, self.axis))
        if reason := self.objection(program, loop):
            self.refuse(reason)
        body = replace_loop(program.body, loop.var.name, lambda loop: replace(loop, kind=self.kind))
        return replace(program, body=body)

    def objection(self, program: PrimFunc, loop: For) -> str | None:
        """The reason why the loop cannot be of this kind; None if it can."""
        return None


@dataclass(frozen=True, slots=True)
class Vectorize(_Annotation):
    """Run all iterations of a loop at once, in the lanes of vectors.

        for C.j_i in 16:           ->        for C.j_i in 16 vectorized:

    Refused unless different iterations write different elements; for a reduction loop, unless the
    order of the terms does not matter or `reassociate` permits another. (Halide, TVM: `vectorize`.)
    """

    reassociate: bool = field(default=False, kw_only=True)

    name: ClassVar[str] = "vectorize"
    kind: ClassVar[LoopKind] = LoopKind.VECTORIZED

    def objection(self, program: PrimFunc, loop: For) -> str | None:
        for around in loops_on_path(path_to(program.body, loop)):
            if around.kind is LoopKind.VECTORIZED:
                return f"{loop.var.name} lies inside {around.var.name}, vectorized already"
        return vectorization_obstacle(loop, self.reassociate)


@dataclass(frozen=True, slots=True)
class Parallel(_Annotation):
    """Spread the iterations of a loop over threads.

        for C.i_o in 8:           ->        for C.i_o in 8 parallel:

    Refused unless different iterations write different elements and read none of each other's.
    (Halide, TVM: `parallel`.)
    """

    name: ClassVar[str] = "parallel"
    kind: ClassVar[LoopKind] = LoopKind.PARALLEL

    def objection(self, program: PrimFunc, loop: For) -> str | None:
        for around in loops_on_path(path_to(program.body, loop))[:-1]:
            if around.kind in (LoopKind.PARALLEL, LoopKind.VECTORIZED):
                return f"{loop.var.name} lies inside {around.var.name}: {around.kind.value}"
        for inside in loops(loop.body):
            if inside.kind is LoopKind.PARALLEL:
                return f"{inside.var.name} inside {loop.var.name} is parallel already"
        return carried_dependence(loop)


@dataclass(frozen=True, slots=True)
class Unroll(_Annotation):
    """Write out the iterations of a loop, one after the other.

        for C.i_i in 4:           ->        for C.i_i in 4 unrolled:

    Always legal. Small buffers indexed by the loop's variable can then live in registers. (Halide,
    TVM: `unroll`.)
    """

    name: ClassVar[str] = "unroll"
    kind: ClassVar[LoopKind] = LoopKind.UNROLLED


@dataclass(frozen=True, slots=True)
class VirtualThread(_Annotation):
    """Interleave the iterations of a loop, each with its own copy of the buffers allocated inside.

        for C.j_o in 2:           ->        for C.j_o in 2 virtual_thread:

    The loads of one iteration then overlap with the arithmetic of another. Refused unless
    iterations are independent. (TVM, OSDI'18, section 4.4.)
    """

    name: ClassVar[str] = "virtual_thread"
    kind: ClassVar[LoopKind] = LoopKind.VIRTUAL_THREAD

    def objection(self, program: PrimFunc, loop: For) -> str | None:
        return carried_dependence(loop)


@dataclass(frozen=True, slots=True)
class Eager(_Annotation):
    """Run each iteration as soon as its operands are there.

        for C.j_o in 4:           ->        for C.j_o in 4 eager:

    On a machine of instruction streams each iteration is an instruction of its own, which moves up
    behind the last one that it depends on: a part of a result is stored while other parts are still
    computed. Always legal.
    """

    name: ClassVar[str] = "eager"
    kind: ClassVar[LoopKind] = LoopKind.EAGER
