"""What a node mentions: computed once and kept with it, as nodes never change.

Searches and rewritings ask it where they need not look, and the verifier what it need not check
again. A rewritten program shares what it did not touch, and so its facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import assert_never

from compiler.ir.buffer import Buffer
from compiler.ir.expr import Binary, Cast, Const, Expr, ExprFacts, Load, Select, Unary, Var
from compiler.ir.stmt import (
    Alloc,
    Block,
    Facts,
    For,
    If,
    Invoke,
    LoopKind,
    Seq,
    Stmt,
    Store,
    parameters,
)

__all__ = ["expr_facts", "facts"]

_NO_NAMES: frozenset[str] = frozenset()
_CONSTANT = ExprFacts(1, _NO_NAMES, MappingProxyType({}))


def expr_facts(expr: Expr) -> ExprFacts:
    """What an expression mentions."""
    try:
        return expr.facts
    except AttributeError:
        found = _of_expr(expr)
        object.__setattr__(expr, "facts", found)
        return found


def facts(stmt: Stmt) -> Facts:
    """What a statement mentions."""
    try:
        return stmt.facts
    except AttributeError:
        found = _of_stmt(stmt)
        object.__setattr__(stmt, "facts", found)
        return found


def _of_expr(expr: Expr) -> ExprFacts:
    match expr:
        case Const():
            return _CONSTANT
        case Var(name=name):
            return ExprFacts(1, frozenset((name,)), _CONSTANT.loads)
        case Binary(left=left, right=right):
            return _joined((expr_facts(left), expr_facts(right)))
        case Unary(operand=operand) | Cast(operand=operand):
            return _joined((expr_facts(operand),))
        case Load(buffer=buffer, indices=indices):
            inside = _joined(map(expr_facts, indices))
            return inside._replace(loads={**inside.loads, buffer.name: buffer})
        case Select(condition=condition, then=then, otherwise=otherwise):
            return _joined((expr_facts(condition), expr_facts(then), expr_facts(otherwise)))
        case _:
            assert_never(expr)


def _joined(parts: Iterable[ExprFacts]) -> ExprFacts:
    """Of a node above."""
    height, names, loads = 0, _NO_NAMES, _CONSTANT.loads
    for part in parts:
        height = max(height, part.height)
        if part.variables:
            names = names | part.variables if names else part.variables
        if part.loads:
            loads = {**loads, **part.loads} if loads else part.loads
    return ExprFacts(height + 1, names, loads)


def _of_stmt(stmt: Stmt) -> Facts:
    match stmt:
        case For(var=var, body=body):
            inside, extent = facts(body), expr_facts(stmt.extent)
            found = _around(body, extent)
            found.parallel |= stmt.kind is LoopKind.PARALLEL
            found.loops |= {var.name}
            # The extent speaks of loops around.
            found.variables = inside.variables - {var.name} | extent.variables
            return found
        case If(condition=condition, body=body):
            found = _around(body, expr_facts(condition))
            found.conditional = True
            return found
        case Alloc(buffer=buffer, body=body):
            found = _around(body, _CONSTANT)
            found.allocated = {buffer.name: buffer, **found.allocated}
            found.buffers = {
                name: one for name, one in found.buffers.items() if name != buffer.name
            }
            return found
        case Seq(body=parts):
            return _sequence(parts)
        case Store(buffer=buffer, indices=indices, value=value):
            used = _joined(map(expr_facts, (*indices, value)))
            return _leaf(used, {buffer.name: buffer}, used.loads, (buffer.name,))
        case Invoke(intrinsic=intrinsic, operands=operands):
            used = _joined(expr_facts(low) for each in operands for low in each.lower)
            names = [each.buffer.name for each in operands]
            # An operand for each parameter: so the verifier wants it.
            pairs = zip(parameters(intrinsic), names, strict=False)
            results = [name for parameter, name in pairs if parameter in intrinsic.outputs]
            touched = {each.buffer.name: each.buffer for each in operands}
            return _leaf(used, touched, (*used.loads, *names[: len(intrinsic.inputs)]), results)
        case Block(init=init, body=body):
            # What is under a block is counted as a sequence, of one or two: so high is the block.
            inside = _sequence((body,) if init is None else (init, body))
            used = _joined(map(expr_facts, (*(each.value for each in stmt.iters), *stmt.guard)))
            axes = frozenset(each.var.name for each in stmt.iters)
            inside.height = max(inside.height, used.height)
            inside.axes |= axes
            inside.variables = inside.variables - axes | used.variables
            inside.buffers = {**inside.buffers, **used.loads}
            inside.reads = inside.reads.union(used.loads)
            return inside
        case _:
            assert_never(stmt)


def _leaf(
    used: ExprFacts, touched: Mapping[str, Buffer], reads: Iterable[str], writes: Iterable[str]
) -> Facts:
    """Of a statement with none under it."""
    return Facts(
        used.height,
        (),
        _NO_NAMES,
        _NO_NAMES,
        _CONSTANT.loads,
        used.variables,
        {**used.loads, **touched},
        frozenset(reads),
        frozenset(writes),
    )


def _around(body: Stmt, used: ExprFacts) -> Facts:
    """Of a statement with one under it, and an expression."""
    inside = facts(body)
    loads = used.loads
    return Facts(
        1 + max(inside.height, used.height),
        (body, *inside.blocks) if isinstance(body, Block) else inside.blocks,
        inside.loops,
        inside.axes,
        inside.allocated,
        inside.variables | used.variables if used.variables else inside.variables,
        {**inside.buffers, **loads} if loads else inside.buffers,
        inside.reads.union(loads) if loads else inside.reads,
        inside.writes,
        inside.parallel,
        inside.conditional,
    )


def _sequence(parts: Sequence[Stmt]) -> Facts:
    """Of statements one after the other."""
    inside = [facts(each) for each in parts]
    blocks: list[Block] = []
    for part, each in zip(parts, inside, strict=True):
        blocks += (part, *each.blocks) if isinstance(part, Block) else each.blocks
    return Facts(
        1 + max((each.height for each in inside), default=0),
        tuple(blocks),
        _NO_NAMES.union(*[each.loops for each in inside]),
        _NO_NAMES.union(*[each.axes for each in inside]),
        dict(chain.from_iterable(each.allocated.items() for each in inside)),
        _NO_NAMES.union(*[each.variables for each in inside]),
        dict(chain.from_iterable(each.buffers.items() for each in inside)),
        _NO_NAMES.union(*[each.reads for each in inside]),
        _NO_NAMES.union(*[each.writes for each in inside]),
        any([each.parallel for each in inside]),
        any([each.conditional for each in inside]),
    )
