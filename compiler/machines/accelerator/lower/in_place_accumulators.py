"""In-place accumulators: ALU instructions write to the buffer of their first operand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.expr import Const, Expr, Var
from tandem.compiler.ir.linear import Linear, linear
from tandem.compiler.ir.stmt import Alloc, For, If, Invoke, PrimFunc, Stmt
from tandem.compiler.ir.visit import map_children, variables, with_body
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.lower.instruction_nests import flat
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.te.tree import allocated, map_buffers, read_by, without_alloc, written_by


@dataclass(frozen=True, slots=True)
class InPlaceAccumulators:
    """Merges an ACC buffer into the ACC buffer from which its elements are computed one by one.

    Before::

        alloc sum: int32[4, 1, 16] @ acc
        alloc low: int32[4, 1, 16] @ acc
        ...
        for low.i in 4:
          invoke alu_max_imm_0(sum[low.i :+ 1, ...], low[low.i :+ 1, ...])

    After::

        alloc sum: int32[4, 1, 16] @ acc
        ...
        for low.i in 4:
          invoke alu_max_imm_0(sum[low.i :+ 1, ...], sum[low.i :+ 1, ...])

    Applies if the first buffer is not read afterwards and holds the instruction's start value.
    Otherwise two further instructions copy the start value.
    """

    target: AcceleratorTarget
    name: str = "in-place-accumulators"

    def apply(self, function: PrimFunc) -> PrimFunc:
        """The program with fewer buffers in ACC. `function` must have no blocks."""
        return replace(function, body=_merged(function.body, self.target))


def _merged(stmt: Stmt, target: AcceleratorTarget) -> Stmt:
    """The statement with fewer buffers in ACC."""
    if not allocated(stmt):
        return stmt
    stmt = map_children(stmt, lambda child: _merged(child, target))
    if not isinstance(stmt, Alloc) or stmt.buffer.scope != OnChip.ACC:
        return stmt
    first, body = stmt.buffer, stmt.body
    while True:
        buffers, statements = flat(body)
        parts = [(part, read_by(part) | written_by(part)) for part in statements]
        other = next((each for each in buffers if _may_merge(parts, first, each, target)), None)
        if other is None:
            return with_body(stmt, body)
        body = map_buffers(without_alloc(body, other.name), {other.name: first})


def _may_merge(
    parts: Sequence[tuple[Stmt, frozenset[str]]],
    first: Buffer,
    other: Buffer,
    target: AcceleratorTarget,
) -> bool:
    """Whether `first` can take the place of `other`; `parts` are the statements in which both are
    live, each with the buffers that it uses."""
    if replace(other, name=first.name) != first:
        return False
    first_uses = [at for at, (_, names) in enumerate(parts) if first.name in names]
    other_uses = [at for at, (_, names) in enumerate(parts) if other.name in names]
    if not first_uses or not other_uses or first_uses[-1] != other_uses[0]:
        return False
    return _element_by_element(parts[other_uses[0]][0], first.name, other.name, target)


def _element_by_element(part: Stmt, first: str, other: str, target: AcceleratorTarget) -> bool:
    """Whether each iteration computes one element of `other` from the same element of `first`."""
    loops: dict[str, Expr] = {}
    while isinstance(part, For | If):
        if isinstance(part, For):
            loops[part.var.name] = part.extent
        part = part.body
    if not isinstance(part, Invoke):
        return False
    regions = [each for each in part.operands if each.buffer.name in (first, other)]
    if first in written_by(part) or other not in written_by(part):
        return False
    start = target.instruction(part.intrinsic.name).start
    inputs = [each.name for each in part.intrinsic.inputs]
    if start is None or part.operands[inputs.index(start)].buffer.name != first:
        return False
    boxes = {(each.lower, each.shape) for each in regions}
    found = (
        indexed
        for low, extent in zip(regions[0].lower, regions[0].shape, strict=True)
        for indexed in _indexed(low, extent, loops)
    )
    return len(boxes) == 1 and set(found) >= loops.keys()


def _indexed(low: Expr, extent: int, loops: Mapping[str, Expr]) -> Iterator[str]:
    """The loops that a box's lower bound in a dimension determines: iterations that differ in one
    of them have disjoint boxes. None unless the bound is a sum of loops, each with a factor beyond
    the reach of those with smaller ones."""
    rest = linear(low)
    factors = {name: rest.factor(Var(name)) for name in loops}
    inside = sorted(
        (abs(factors[name]), _most(loops[name]), name) for name in loops if factors[name]
    )
    reach: float = extent
    for factor, most, name in inside:
        rest = rest.plus(Linear.atom(Var(name)), -factors[name])
        if factor < reach:
            return
        reach += factor * (most - 1)
    if not variables(rest.expr()) & loops.keys():
        yield from (name for _, _, name in inside)


def _most(extent: Expr) -> float:
    """The largest number of iterations of a loop."""
    return float(extent.value) if isinstance(extent, Const) else inf
