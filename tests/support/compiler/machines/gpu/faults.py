"""Faults planted in launches: barriers dropped and moved, indices off by a thread, wrong scopes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.errors import IRError
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.expr import Expr, Load
from tandem.compiler.ir.facts import facts
from tandem.compiler.ir.stmt import Alloc, Invoke, PrimFunc, Seq, Stmt, Store
from tandem.compiler.ir.visit import (
    children,
    map_children,
    map_expressions,
    map_operands,
    sequence,
    substitute,
    variables,
)
from tandem.compiler.machines.gpu.check.races import RaceError, check_races
from tandem.compiler.machines.gpu.check.warps import WarpError, check_warps
from tandem.compiler.machines.gpu.interpreter import Order, run_launch
from tandem.compiler.machines.gpu.launch import THREAD, Grid, grid_of, is_barrier, launch_of
from tandem.compiler.te.tree import map_buffers


def faults(launch: PrimFunc) -> Iterator[tuple[str, PrimFunc]]:
    """Launches with one fault each, by a description."""
    grid = grid_of(launch)
    for name, body in (*_barriers(grid), *_indices(grid)):
        yield name, _with(launch, grid._replace(body=body))
    for number, buffer in enumerate(grid.shared):
        near = replace(buffer, scope=Scope.LOCAL)
        rest = grid.shared[:number] + grid.shared[number + 1 :]
        body = Alloc(near, map_buffers(grid.body, {buffer.name: near}))
        yield f"{buffer.name} in each thread", _with(launch, grid._replace(shared=rest, body=body))
    for buffer in facts(grid.body).allocated.values():
        far = replace(buffer, scope=grid.shared[0].scope)
        body = _without_alloc(map_buffers(grid.body, {buffer.name: far}), buffer.name)
        shared = (*grid.shared, far)
        yield f"{buffer.name} in each block", _with(launch, grid._replace(shared=shared, body=body))


def found_by(launch: PrimFunc, arrays: Sequence[NDArray[Any]], wanted: NDArray[Any]) -> str | None:
    """What finds a fault: the checker, the interpreter or the comparison of results; None if none
    does."""
    try:
        check_races(launch)
        check_warps(launch)
    except (RaceError, WarpError):
        return "checker"
    for order in Order:
        try:
            (result,) = run_launch(launch, arrays, order)
        except IRError:
            return "interpreter"
        if not np.array_equal(result, wanted):
            return "comparison"
    return None


def _with(launch: PrimFunc, grid: Grid) -> PrimFunc:
    return launch_of(launch.name, launch.inputs, launch.outputs, grid)


def _barriers(grid: Grid) -> Iterator[tuple[str, Stmt]]:
    """Each barrier dropped, and moved behind or in front of a statement with shared memory."""
    names = {each.name for each in grid.shared}

    def near(stmt: Stmt) -> bool:
        return facts(stmt).uses(names)

    for path, seq, at in _places(grid.body, ()):
        parts = seq.body
        rest = parts[:at] + parts[at + 1 :]
        yield f"barrier {path} {at} dropped", _replaced(grid.body, seq, sequence(*rest))
        for other in (at - 1, at + 1):
            if 0 <= other < len(parts) and near(parts[other]):
                moved = [*rest[:other], parts[at], *rest[other:]]
                body = _replaced(grid.body, seq, Seq(tuple(moved)))
                yield f"barrier {path} {at} moved to {other}", body


def _places(stmt: Stmt, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Seq, int]]:
    """The sequences with barriers, and the barriers' numbers in them."""
    if isinstance(stmt, Seq):
        for number, part in enumerate(stmt.body):
            if is_barrier(part):
                yield path, stmt, number
    for number, child in enumerate(children(stmt)):
        yield from _places(child, (*path, number))


def _replaced(stmt: Stmt, old: Stmt, new: Stmt) -> Stmt:
    if stmt is old:
        return new
    return map_children(stmt, lambda child: _replaced(child, old, new))


def _indices(grid: Grid) -> Iterator[tuple[str, Stmt]]:
    """Each access whose indices have the thread, by the next thread."""
    others: Expr = (THREAD + 1) % grid.threads
    for name, change in (("next", others), ("one more", THREAD + 1)):
        count = 0
        while True:
            planted = _Planted(count, change)
            body = planted.stmt(grid.body)
            if planted.left >= 0:
                break
            yield f"access {count} by {name} thread", body
            count += 1


class _Planted:
    """Changes one access, by its number in the text."""

    def __init__(self, number: int, thread: Expr) -> None:
        self.left = number
        self._thread = thread

    def stmt(self, stmt: Stmt) -> Stmt:
        """The statement with the access changed."""
        if isinstance(stmt, Store):
            indices = self._indices(stmt.indices)
            return Store(stmt.buffer, indices, self._expr(stmt.value))
        if isinstance(stmt, Invoke):
            regions = (replace(each, lower=self._indices(each.lower)) for each in stmt.operands)
            return Invoke(stmt.intrinsic, tuple(regions))
        stmt = map_expressions(stmt, self._expr)
        return map_children(stmt, self.stmt)

    def _indices(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        if not any(THREAD.name in variables(each) for each in indices):
            return indices
        self.left -= 1
        if self.left != -1:
            return indices
        return tuple(substitute(each, {THREAD.name: self._thread}) for each in indices)

    def _expr(self, expr: Expr) -> Expr:
        expr = map_operands(expr, self._expr)
        return Load(expr.buffer, self._indices(expr.indices)) if isinstance(expr, Load) else expr


def _without_alloc(stmt: Stmt, name: str) -> Stmt:
    if isinstance(stmt, Alloc) and stmt.buffer.name == name:
        return _without_alloc(stmt.body, name)
    return map_children(stmt, lambda child: _without_alloc(child, name))
