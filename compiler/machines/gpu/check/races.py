"""A proof that the threads of a launch do not race: of two accesses to one element, of which one
writes, either one thread makes both or a barrier lies between them.

What is executed is the launch's control, which does not depend on data: loops that hold barriers
one iteration after the other, and for what lies between barriers all threads and all iterations at
once, as arrays of elements. Conditions on data are taken to hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.expr import Binary, Const, Expr, Var
from tandem.compiler.ir.facts import facts
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.ir.stmt import Alloc, For, If, LoopKind, PrimFunc, Seq, Stmt
from tandem.compiler.ir.visit import operands, variables
from tandem.compiler.machines.gpu.check.accesses import (
    NOTHING,
    Access,
    Numbering,
    OutsideError,
    Touched,
    accesses,
    touched,
    visited,
)
from tandem.compiler.machines.gpu.launch import SHARED, Grid, grid_of, is_barrier

Path: TypeAlias = tuple[int, ...]
"""Where a statement is: the number among its parent's children, from the body of a launch on."""


@dataclass(frozen=True, slots=True)
class Race:
    """Two accesses to one element, by different threads, that no barrier separates.

    Attributes
    ----------
    path
        The statement that makes the second.
    own
        Whether this statement makes the first, too, so that no barrier can lie between them.
    at
        The iteration of the loops around it.
    """

    buffer: str
    path: Path
    own: bool
    at: tuple[tuple[str, int], ...]
    message: str


class RaceError(LoweringError):
    """A launch with a race, an access outside of a buffer, or a barrier that only some threads
    reach; names the buffer and the launch."""


def check_races(launch: PrimFunc) -> None:
    """Raise `RaceError` unless a launch has no race and all threads reach all barriers."""
    grid = grid_of(launch)
    uniform = _around_barriers(launch.name, grid.body)
    race = find_race(launch, grid, uniform)
    if race is not None:
        raise RaceError(f"{launch.name}: {race.message}")


def _around_barriers(name: str, body: Stmt) -> frozenset[str]:
    """The loops around barriers; raises `RaceError` if a barrier lies elsewhere than in loops of
    constant extents."""
    found: set[str] = set()

    def visit(stmt: Stmt) -> bool:
        """Whether there is a barrier in a statement."""
        match stmt:
            case Seq(body=parts):
                return any([visit(each) for each in parts])
            case Alloc(body=inside):
                return visit(inside)
            case For(var=var, extent=extent, kind=kind, body=inside):
                if not visit(inside):
                    return False
                if not isinstance(extent, Const) or kind not in (
                    LoopKind.SERIAL,
                    LoopKind.UNROLLED,
                ):
                    raise RaceError(f"{name}: a barrier in the loop {var.name}, which may diverge")
                found.add(var.name)
                return True
            case If(body=inside):
                if visit(inside):
                    raise RaceError(f"{name}: a barrier under a condition, which may diverge")
                return False
            case _:
                return is_barrier(stmt)

    visit(body)
    return frozenset(found)


def find_race(
    launch: PrimFunc, grid: Grid, uniform: frozenset[str], contested: frozenset[str] | None = None
) -> Race | None:
    """The first race of a launch; None if there is none.

    Parameters
    ----------
    uniform
        The loops that all threads run alike, and between whose statements barriers lie or could.
    contested
        What `contested_buffers` has found, which barriers do not change.

    Raises
    ------
    RaceError
        If an access lies outside of its buffer, or blocks share an element that one of them writes.
    """
    if contested is None:
        contested = contested_buffers(launch, grid)
    try:
        return _Walk(grid, uniform, contested).first(grid.body)
    except OutsideError as error:
        raise RaceError(f"{launch.name}: {error} lies outside of the buffer") from None


def contested_buffers(launch: PrimFunc, grid: Grid) -> frozenset[str]:
    """The names of the buffers of which several threads of a block access an element, and one
    writes.

    Raises
    ------
    RaceError
        As `find_race`.
    """
    inside = facts(grid.body).allocated
    written = facts(grid.body).writes
    try:
        return frozenset(
            buffer.name
            for buffer in (*launch.inputs, *launch.outputs, *grid.shared)
            # Memory of one thread, and what nothing writes, have no races.
            if buffer.name in written and buffer.name not in inside
            if not _owned(buffer, grid)
        )
    except OutsideError as error:
        raise RaceError(f"{launch.name}: {error} lies outside of the buffer") from None


def _owned(buffer: Buffer, grid: Grid) -> bool:
    """Whether one thread of a block makes all accesses to an element; raises `RaceError` if several
    blocks do and one of them writes."""
    if buffer.scope in (SHARED, Scope.LOCAL):
        return _one_each(buffer, grid, Numbering.THREADS)
    if _one_each(buffer, grid, Numbering.GRID):
        return True
    if grid.blocks > 1:
        _check_apart(buffer, grid)
    return _one_each(buffer, grid, Numbering.THREADS)


def _one_each(buffer: Buffer, grid: Grid, numbering: Numbering) -> bool:
    """Whether one number makes all accesses to an element."""
    copies = grid.blocks if numbering is Numbering.THREADS else 1
    owners = np.full(copies * buffer.size, -1, np.int64)
    for access in accesses(grid.body, frozenset({buffer.name})):
        found = visited(access, grid.blocks, grid.threads, {}, numbering)
        if found is None:
            return False
        keys, numbers = found
        before = owners[keys]
        if ((before >= 0) & (before != numbers)).any():
            return False
        owners[keys] = numbers
        if (owners[keys] != numbers).any():
            return False
    return True


def _check_apart(buffer: Buffer, grid: Grid) -> None:
    """Raise `RaceError` if blocks share an element that one of them writes."""
    reads, writes = NOTHING, NOTHING
    for access in accesses(grid.body, frozenset({buffer.name})):
        part = touched(access, grid.blocks, grid.threads, {}, Numbering.BLOCKS)
        if part is None:
            raise RaceError(f"which block accesses what of {buffer.name} is not known")
        if access.writes:
            writes = writes.merged(part)
        else:
            reads = reads.merged(part)
    if writes.contested() is not None or writes.shared_with(reads) is not None:
        raise RaceError(f"several blocks access an element of {buffer.name}, and one writes it")


def private_to_threads(buffer: Buffer, grid: Grid) -> bool:
    """Whether only one thread of a block accesses each element of a buffer."""
    try:
        return _one_each(buffer, grid, Numbering.THREADS)
    except OutsideError as error:
        raise RaceError(f"{error} lies outside of the buffer") from None


@dataclass
class _Pending:
    """What threads have done to a buffer since the last barrier."""

    reads: Touched = NOTHING
    writes: Touched = NOTHING


@dataclass
class _Walk:
    grid: Grid
    uniform: frozenset[str]
    contested: frozenset[str]
    pending: dict[str, _Pending] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    _periods: dict[str, int] = field(default_factory=dict)

    def first(self, body: Stmt, path: Path = ()) -> Race | None:
        """The first race in a statement, after what was executed before it."""
        match body:
            case Seq(body=parts):
                for number, part in enumerate(parts):
                    if race := self.first(part, (*path, number)):
                        return race
                return None
            case Alloc(body=inside):
                return self.first(inside, (*path, 0))
            case For(var=var, body=inside) if var.name in self.uniform:
                for number in self._iterations(body):
                    self.known[var.name] = number
                    if race := self.first(inside, (*path, 0)):
                        return race
                self.known.pop(var.name, None)
                return None
            case _ if is_barrier(body):
                self.pending.clear()
                return None
            case _:
                return self._between_barriers(body, path)

    def _iterations(self, loop: For) -> range:
        """The iterations of a loop after which all others are like those."""
        assert isinstance(loop.extent, Const), "uniform"
        extent = int(loop.extent.value)
        period = self._period(loop)
        return range(extent if period is None else min(extent, 2 * period + 1))

    def _period(self, loop: For) -> int | None:
        """After how many iterations contested buffers are accessed at the same elements; None if
        that is not known."""
        name = loop.var.name
        if name not in self._periods:
            found = 1
            for access in accesses(loop.body, self.contested):
                periods = [period_of(index, name) for index in access.indices]
                # Other conditions on the variable are taken to hold.
                periods += [period_of(test, name) or 1 for test in access.tests]
                for period in periods:
                    found = 0 if period is None else math.lcm(found, period)
            self._periods[name] = found
        return self._periods[name] or None

    def _touched(self, access: Access) -> Touched | None:
        """The elements of an access. Conditions on a variable whose iterations are not all looked
        at are taken to hold, unless they come round with it."""
        tests = tuple(
            test
            for test in access.tests
            if all(self._periods.get(name) == 0 or period_of(test, name) for name in self.known)
        )
        access = replace(access, tests=tests) if len(tests) < len(access.tests) else access
        return touched(access, self.grid.blocks, self.grid.threads, self.known)

    def _between_barriers(self, stmt: Stmt, path: Path) -> Race | None:
        """The first race of a statement without barriers."""
        before = {name: _Pending(it.reads, it.writes) for name, it in self.pending.items()}
        for access in accesses(stmt, self.contested):
            name = access.buffer.name
            part = self._touched(access)
            earlier = before.get(name, _Pending())
            now = self.pending.setdefault(name, _Pending())
            others = (now.writes, now.reads) if access.writes else (now.writes,)
            old = (earlier.writes, earlier.reads) if access.writes else (earlier.writes,)
            if part is None:
                busy = any(len(each.keys) for each in others)
                if busy or access.writes:
                    own = access.writes or not any(len(each.keys) for each in old)
                    return self._race(access, path, own=own)
                # Nothing was written: whichever elements are read, there is no race yet.
                part = _everything(access.buffer, self.grid.threads)
            if any(each.shared_with(part) is not None for each in old):
                return self._race(access, path, own=False)
            if any(each.shared_with(part) is not None for each in others):
                return self._race(access, path, own=True)
            if access.writes and part.contested() is not None:
                return self._race(access, path, own=True)
            if access.writes:
                now.writes = now.writes.merged(part)
            else:
                now.reads = now.reads.merged(part)
        return None

    def _race(self, access: Access, path: Path, *, own: bool) -> Race:
        how = "written" if access.writes else "read"
        known = tuple(self.known.items())
        at = ", ".join(f"{name} = {number}" for name, number in known)
        message = (
            f"an element of {access.buffer.name} is {how} while another thread may access it: "
            "no barrier lies between"
        )
        return Race(access.buffer.name, path, own, known, f"{message}, at {at}" if at else message)


def _everything(buffer: Buffer, threads: int) -> Touched:
    """All elements of a buffer, accessed by all threads."""
    keys = np.arange(buffer.size, dtype=np.int64)
    return Touched(keys, np.zeros_like(keys), np.full_like(keys, threads - 1))


def period_of(expr: Expr, name: str) -> int | None:
    """After how many steps of a variable an expression has its values again; None if never."""
    if name not in variables(expr):
        return 1
    match expr:
        case Binary(op=BinaryOp.MOD, left=left, right=Const(value=number)) if (
            number > 0 and _is_sum_with(left, name)
        ):
            return int(number)
        case Var():
            return None
        case _:
            found = 1
            for part in operands(expr):
                period = period_of(part, name)
                if period is None:
                    return None
                found = math.lcm(found, period)
            return found


def _is_sum_with(expr: Expr, name: str) -> bool:
    """Whether an expression is a sum of products by constants, a period of whose remainders is the
    divisor."""
    match expr:
        case Var() | Const():
            return True
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB | BinaryOp.MUL, left=left, right=right):
            return _is_sum_with(left, name) and _is_sum_with(right, name)
        case _:
            return name not in variables(expr)
