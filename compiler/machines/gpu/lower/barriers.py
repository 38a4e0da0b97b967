"""Barriers, placed where threads would race without."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tandem.compiler.ir.stmt import Alloc, For, If, PrimFunc, Seq, Stmt
from tandem.compiler.ir.visit import children, sequence, statements, with_body
from tandem.compiler.machines.gpu.check.races import (
    Path,
    Race,
    RaceError,
    contested_buffers,
    find_race,
)
from tandem.compiler.machines.gpu.launch import WAIT, grid_of, is_barrier, launch_of


def with_barriers(launch: PrimFunc, uniform: frozenset[str]) -> PrimFunc:
    """A launch with the barriers that it needs: in front of each statement that would access an
    element which another thread has accessed since the last barrier, in the order of execution;
    without those that later ones made superfluous.

    Parameters
    ----------
    uniform
        The loops that all threads run alike.

    Raises
    ------
    RaceError
        If a race is inside one statement, where no barrier can be.
    """
    grid = grid_of(launch)
    contested = contested_buffers(launch, grid)

    def race_of(body: Stmt) -> Race | None:
        return find_race(launch, grid._replace(body=body), uniform, contested)

    body = grid.body
    while (race := race_of(body)) is not None:
        if race.own:
            raise RaceError(f"{launch.name}: {race.message}, and none can")
        body = _separated(body, race, race_of)
    for number in reversed(range(sum(map(is_barrier, statements(body))))):
        path = [*_paths(body)][number]
        without = _at(body, path, lambda _: Seq(()))
        if race_of(without) is None:
            body = without
    return launch_of(launch.name, launch.inputs, launch.outputs, grid._replace(body=body))


def _separated(body: Stmt, race: Race, race_of: Callable[[Stmt], Race | None]) -> Stmt:
    """The statement with a barrier that ends a race: in front of as many loops as possible."""
    found = body
    for depth in range(len(race.path) + 1):
        stmt = body
        for number in race.path[:depth]:
            stmt = children(stmt)[number]
        if depth < len(race.path) and not isinstance(stmt, For):
            continue
        found = _at(body, race.path[:depth], lambda stmt: Seq((WAIT, stmt)))
        left = race_of(found)
        # The barrier makes the path of what follows longer.
        if left is None or left.at != race.at or _stmt_at(found, left) is not _stmt_at(body, race):
            break
    return found


def _stmt_at(body: Stmt, race: Race) -> Stmt:
    for number in race.path:
        body = children(body)[number]
    return body


def _paths(stmt: Stmt, path: Path = ()) -> Iterator[Path]:
    """The paths of the barriers in a statement, in the order of the text."""
    if is_barrier(stmt):
        yield path
    for number, child in enumerate(children(stmt)):
        yield from _paths(child, (*path, number))


def _at(stmt: Stmt, path: Path, change: Callable[[Stmt], Stmt]) -> Stmt:
    if not path:
        return change(stmt)
    number, *rest = path
    inside = [*children(stmt)]
    inside[number] = _at(inside[number], tuple(rest), change)
    match stmt:
        case Seq():
            return sequence(*inside)
        case For() | If() | Alloc():
            return with_body(stmt, inside[0])
        case _:
            raise AssertionError("a path goes through no other statement")
