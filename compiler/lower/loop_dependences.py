"""Whether statements may change places."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.ir.expr import Expr
from compiler.ir.facts import facts
from compiler.ir.interval import Ranges, interval
from compiler.ir.linear import Linear, linear
from compiler.ir.stmt import For, Invoke, Stmt
from compiler.ir.visit import loops, reads, statements, variables, writes

__all__ = ["independent", "independent_across_iterations"]


def independent(first: Stmt, second: Stmt) -> bool:
    """Whether two statements do the same in either order: neither writes what the other touches."""
    return not _meeting(first, second)


def independent_across_iterations(loop: For, first: Stmt, second: Stmt, ranges: Ranges) -> bool:
    """Whether `first` in one turn of `loop` and `second` in another surely do not meet.

    Each buffer that both touch, and one writes, must have a dimension along which the turns touch
    parts that do not overlap.
    """
    inner = {each.var.name for stmt in (first, second) for each in loops(stmt)}
    return all(
        name not in _invoked(first) | _invoked(second)
        and _in_parts(loop, [*_indices(first, name), *_indices(second, name)], inner, ranges)
        for name in _meeting(first, second)
    )


def _meeting(first: Stmt, second: Stmt) -> frozenset[str]:
    """Buffers that both statements touch, and one writes; intrinsics may read and write all of
    their operands."""
    touched, written = _uses(first)
    also_touched, also_written = _uses(second)
    return written & also_touched | touched & also_written


def _uses(stmt: Stmt) -> tuple[frozenset[str], frozenset[str]]:
    """Buffers that a statement touches, and those of them that it may write."""
    written = facts(stmt).writes | _invoked(stmt)
    return facts(stmt).reads | written, written


def _invoked(stmt: Stmt) -> frozenset[str]:
    return frozenset(
        operand.buffer.name
        for each in statements(stmt)
        if isinstance(each, Invoke)
        for operand in each.operands
    )


def _indices(stmt: Stmt, buffer: str) -> Iterator[tuple[Expr, ...]]:
    yield from (each.indices for each in reads(stmt) if each.buffer.name == buffer)
    yield from (each.indices for each in writes(stmt) if each.buffer.name == buffer)


def _in_parts(loop: For, accesses: list[tuple[Expr, ...]], inner: set[str], ranges: Ranges) -> bool:
    return any(
        _steps(loop, [linear(each) for each in dimension], inner, ranges)
        for dimension in zip(*accesses, strict=True)
    )


def _steps(loop: For, indices: list[Linear], inner: set[str], ranges: Ranges) -> bool:
    """Whether each turn's indices lie in an interval of their own."""
    step = indices[0].factor(loop.var)
    starts, lows, highs = set(), [], []
    for index in indices:
        if index.factor(loop.var) != step:
            return False
        rest = index - Linear(((loop.var, step),) if step else ())
        own = Linear(tuple(each for each in rest.terms if variables(each[0]) & inner))
        outside = rest - own
        starts.add(outside.terms)
        if len(starts) > 1 or any(loop.var.name in variables(atom) for atom, _ in rest.terms):
            return False
        span = interval(own.shifted(outside.constant).expr(), ranges)
        if span.low is None or span.high is None:
            return False
        lows.append(span.low)
        highs.append(span.high)
    return abs(step) > max(highs) - min(lows)
