"""Facts about nodes: the names that a node uses, computed once and stored in the frozen node.

Facts let searches and rewrites skip subtrees, and the verifier skip verified nodes. A rewritten
program shares unchanged nodes, and so their facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import assert_never

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    ExprFacts,
    Load,
    Reinterpret,
    Select,
    Unary,
    Var,
)
from tandem.compiler.ir.stmt import (
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

_NO_NAMES: frozenset[str] = frozenset()
_CONSTANT = ExprFacts(1, _NO_NAMES, MappingProxyType({}))


def expr_facts(expr: Expr) -> ExprFacts:
    """The facts about an expression."""
    try:
        return expr.facts
    except AttributeError:
        found = _of_expr(expr)
        object.__setattr__(expr, "facts", found)
        return found


def facts(stmt: Stmt) -> Facts:
    """The facts about a statement."""
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
            return _over((expr_facts(left), expr_facts(right)))
        case Unary(operand=operand) | Cast(operand=operand) | Reinterpret(operand=operand):
            return _over((expr_facts(operand),))
        case Load(buffer=buffer, indices=indices):
            inside = _over(map(expr_facts, indices))
            return inside._replace(loads={**inside.loads, buffer.name: buffer})
        case Select(condition=condition, then=then, otherwise=otherwise):
            return _over((expr_facts(condition), expr_facts(then), expr_facts(otherwise)))
        case _:
            assert_never(expr)


def _over(parts: Iterable[ExprFacts]) -> ExprFacts:
    """The facts about an expression with these operands."""
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
            # The extent depends on loops around.
            found = _around(body, expr_facts(stmt.extent), var.name)
            found.parallel |= stmt.kind is LoopKind.PARALLEL
            return found
        case If(condition=condition, body=body):
            found = _around(body, expr_facts(condition))
            found.conditional = True
            return found
        case Alloc(buffer=buffer, body=body):
            found = _around(body, _CONSTANT)
            found.allocated = {buffer.name: buffer, **found.allocated}
            found.buffers = {name: b for name, b in found.buffers.items() if name != buffer.name}
            return found
        case Seq(body=parts):
            return _sequence(parts)
        case Store(buffer=buffer, indices=indices, value=value):
            used = _over(map(expr_facts, (*indices, value)))
            return _leaf(used, {buffer.name: buffer}, used.loads, (buffer.name,))
        case Invoke(intrinsic=intrinsic, operands=operands):
            used = _over(expr_facts(low) for each in operands for low in each.lower)
            names = [each.buffer.name for each in operands]
            # The verifier makes sure that there is an operand for each parameter.
            pairs = zip(parameters(intrinsic), names, strict=False)
            results = [name for parameter, name in pairs if parameter in intrinsic.outputs]
            touched = {each.buffer.name: each.buffer for each in operands}
            return _leaf(used, touched, (*used.loads, *names[: len(intrinsic.inputs)]), results)
        case Block(init=init, body=body):
            # The parts of a block count as a sequence, of one or two, whose height is the block's.
            inside = _sequence((body,) if init is None else (init, body))
            used = _over(map(expr_facts, (*(each.value for each in stmt.iters), *stmt.guard)))
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
    """The facts about a statement without child statements."""
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


def _around(body: Stmt, used: ExprFacts, loop: str | None = None) -> Facts:
    """The facts about a statement with the body `body` and an expression with the facts `used`;
    `loop` is the variable that a loop declares."""
    inside = facts(body)
    loads, height, free = used.loads, used.height, inside.variables
    if loop in free:
        free = free - {loop}
    return Facts(
        1 + (inside.height if inside.height > height else height),
        (body, *inside.blocks) if isinstance(body, Block) else inside.blocks,
        inside.loops if loop is None else inside.loops | {loop},
        inside.axes,
        inside.allocated,
        free | used.variables if used.variables else free,
        {**inside.buffers, **loads} if loads else inside.buffers,
        inside.reads.union(loads) if loads else inside.reads,
        inside.writes,
        inside.parallel,
        inside.conditional,
    )


def _sequence(parts: Sequence[Stmt]) -> Facts:
    """The facts about statements one after the other."""
    inside = [facts(each) for each in parts]
    blocks: list[Block] = []
    for part, known in zip(parts, inside, strict=True):
        blocks += (part, *known.blocks) if isinstance(part, Block) else known.blocks
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
