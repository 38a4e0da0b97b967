"""reorder: nested loops get another order."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from tandem.compiler.ir.stmt import For, IterKind, PrimFunc, Stmt
from tandem.compiler.ir.visit import blocks
from tandem.compiler.te.dependences import axis_kinds, reassociable
from tandem.compiler.te.primitives.base import Primitive
from tandem.compiler.te.tree import loops_on_path, path_to, replace_loop


@dataclass(frozen=True, slots=True)
class Reorder(Primitive):
    """Bring perfectly nested loops into the order given, outermost first.

        for C.i in 64:                     for C.k in 64:
          for C.k in 64:           ->        for C.i in 64:
            block C(i = C.i, k = C.k)          block C(i = C.i, k = C.k)

    Unnamed loops between the named loops keep their places. (Halide, TVM: `reorder`.) Spatial loops
    may take any order. Reduction loops may where the result stays the same bit for bit, or where
    `reassociate` permits another rounding of floats.
    """

    stage: str
    axes: tuple[str, ...]
    reassociate: bool = field(default=False, kw_only=True)

    name: ClassVar[str] = "reorder"

    def apply(self, program: PrimFunc) -> PrimFunc:
        if len(set(self.axes)) != len(self.axes) or len(self.axes) < 2:
            self.refuse("two or more different axes are needed")
        wanted = [self.loop(program.body, self.stage, axis) for axis in self.axes]
        before = self._nest(program.body, wanted)
        order = iter(wanted)
        after = [next(order) if each in wanted else each for each in before]
        self._check_terms(before, after)
        body: Stmt = before[-1].body
        for loop in reversed(after):
            body = replace(loop, body=body)
        changed = replace_loop(program.body, before[0].var.name, lambda _: body)
        return replace(program, body=changed)

    def _nest(self, body: Stmt, wanted: list[For]) -> list[For]:
        """The perfect nest from the outermost to the innermost wanted loop."""
        paths = {each.var.name: path_to(body, each) for each in wanted}
        innermost = max(wanted, key=lambda loop: len(paths[loop.var.name]))
        path = paths[innermost.var.name]
        outermost = min(wanted, key=lambda loop: len(paths[loop.var.name]))
        for loop in wanted:
            if loop not in loops_on_path(path):
                self.refuse(f"{innermost.var.name} does not lie inside {loop.var.name}")
        nest = path_to(outermost, innermost)
        for part in nest:
            if not isinstance(part, For):
                what = type(part).__name__.lower()
                self.refuse(
                    f"between {outermost.var.name} and {innermost.var.name} lies more than loops: "
                    f"{what}"
                )
        return list(loops_on_path(nest))

    def _check_terms(self, before: list[For], after: list[For]) -> None:
        for block in blocks(before[-1].body):
            orders = [
                [
                    loop.var.name
                    for loop in nest
                    if IterKind.REDUCE in axis_kinds(loop.var.name, block)
                ]
                for nest in (before, after)
            ]
            if orders[0] != orders[1] and not reassociable(block) and not self.reassociate:
                self.refuse(
                    f"{block.name} would reduce floats along {', '.join(orders[1])}, no longer "
                    f"along {', '.join(orders[0])}, which changes roundings: reassociate permits it"
                )
