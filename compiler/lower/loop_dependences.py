"""Dependences through memory that keep two statements from being reordered."""

from __future__ import annotations

from collections.abc import Iterator

from tandem.compiler.ir.expr import Expr, Load
from tandem.compiler.ir.facts import facts
from tandem.compiler.ir.interval import Ranges, interval
from tandem.compiler.ir.linear import Linear, linear
from tandem.compiler.ir.stmt import For, Invoke, Stmt, Store
from tandem.compiler.ir.visit import loops, reads, statements, variables, writes


def independent(first: Stmt, second: Stmt) -> bool:
    """Whether two statements may run in either order: neither writes what the other accesses."""
    return not _conflicts(first, second)


def independent_across_iterations(loop: For, first: Stmt, second: Stmt, ranges: Ranges) -> bool:
    """Whether `first` depends on no `second` of another iteration of `loop`, nor vice versa.

    Each buffer that both access, and at least one writes, must have a dimension along which the
    iterations access intervals that do not overlap.
    """
    inner = {each.var.name for stmt in (first, second) for each in loops(stmt)}
    return all(
        name not in _operands(first) | _operands(second)
        and any(
            _disjoint(loop, [linear(each) for each in dimension], inner, ranges)
            for dimension in zip(*_indices(first, name), *_indices(second, name), strict=True)
        )
        for name in _conflicts(first, second)
    )


def _conflicts(first: Stmt, second: Stmt) -> frozenset[str]:
    """Names of buffers that both statements access and at least one writes; intrinsics may read
    and write all of their operands."""
    written, also_written = (facts(each).writes | _operands(each) for each in (first, second))
    accessed, also_accessed = facts(first).reads | written, facts(second).reads | also_written
    return written & also_accessed | accessed & also_written


def _operands(stmt: Stmt) -> frozenset[str]:
    """Names of the buffers that are operands of intrinsics in a statement."""
    invokes = (each for each in statements(stmt) if isinstance(each, Invoke))
    return frozenset(operand.buffer.name for invoke in invokes for operand in invoke.operands)


def _indices(stmt: Stmt, buffer: str) -> Iterator[tuple[Expr, ...]]:
    found: tuple[Load | Store, ...] = (*reads(stmt), *writes(stmt))
    return (each.indices for each in found if each.buffer.name == buffer)


def _disjoint(loop: For, indices: list[Linear], inner: set[str], ranges: Ranges) -> bool:
    """Whether iterations of `loop` have disjoint intervals of these indices."""
    step = indices[0].factor(loop.var)
    starts, lows, highs = set(), [], []
    for index in indices:
        if index.factor(loop.var) != step:
            return False
        rest = index.plus(Linear.atom(loop.var), -step)
        varying = Linear(tuple(each for each in rest.terms if variables(each[0]) & inner))
        fixed = rest - varying
        starts.add(fixed.terms)
        if len(starts) > 1 or any(loop.var.name in variables(atom) for atom, _ in rest.terms):
            return False
        span = interval(varying.shifted(fixed.constant).expr(), ranges)
        if span.low is None or span.high is None:
            return False
        lows.append(span.low)
        highs.append(span.high)
    return abs(step) > max(highs) - min(lows)
