"""bind: the iterations of a loop run on a GPU's blocks of threads, or on the threads of a block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from tandem.compiler.ir.stmt import For, LoopKind, PrimFunc
from tandem.compiler.ir.visit import loops
from tandem.compiler.te.dependences import carried_dependence
from tandem.compiler.te.primitives.base import Primitive
from tandem.compiler.te.tree import loops_on_path, path_to, replace_loop

_UNITS = {each.value: each for each in (LoopKind.BLOCKS, LoopKind.THREADS)}
_HOLD = {
    LoopKind.BLOCKS: (LoopKind.BLOCKS,),
    LoopKind.THREADS: (LoopKind.BLOCKS, LoopKind.THREADS),
}
"""The bound loops that may lie around a loop of a kind."""


@dataclass(frozen=True, slots=True)
class Bind(Primitive):
    """Spread the iterations of a loop over blocks of threads, or over the threads of a block.

        for C.i_o in 8:                    for C.i_o in 8 blocks:
          for C.i_i in 32:          ->       for C.i_i in 32 threads:

    Loops that are bound to one unit lie directly inside each other; the innermost one numbers
    neighbours. Statements that follow each other in a block, such as the loads of a tile into
    shared memory and the products that read it, have loops over threads of their own: all threads
    are done with one before the next begins, for which the lowered program has barriers. Refused
    unless different iterations write different elements and read none of each other's. (TVM,
    OSDI'18, section 4.2: `bind`.)

    Parameters
    ----------
    to
        `blocks` or `threads`.
    """

    stage: str
    axis: str
    to: str

    name: ClassVar[str] = "bind"

    def apply(self, program: PrimFunc) -> PrimFunc:
        kind = _UNITS.get(self.to)
        if kind is None:
            self.refuse(f"{self.to!r} is none of {', '.join(_UNITS)}")
        loop = self.require_serial(self.loop(program.body, self.stage, self.axis))
        if reason := self._objection(program, loop, kind):
            self.refuse(reason)
        body = replace_loop(program.body, loop.var.name, lambda loop: replace(loop, kind=kind))
        return replace(program, body=body)

    def _objection(self, program: PrimFunc, loop: For, kind: LoopKind) -> str | None:
        """The reason why the loop cannot be of this kind; None if it can."""
        allowed = (LoopKind.SERIAL, LoopKind.UNROLLED, *_HOLD[kind])
        for around in loops_on_path(path_to(program.body, loop))[:-1]:
            if around.kind not in allowed:
                return f"{loop.var.name} lies inside {around.var.name}: {around.kind.value}"
        for inside in loops(loop.body):
            bound = inside.kind in _HOLD[LoopKind.THREADS]
            if inside.kind is LoopKind.PARALLEL or (bound and kind not in _HOLD[inside.kind]):
                return f"{inside.var.name} inside {loop.var.name}: {inside.kind.value} already"
        return carried_dependence(loop)
