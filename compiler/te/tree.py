"""Finds, replaces, inserts and removes the loops, blocks and buffers of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.expr import Const, Var
from tandem.compiler.ir.facts import facts
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.stmt import Alloc, Block, For, Seq, Stmt
from tandem.compiler.ir.visit import (
    blocks,
    children,
    loops,
    map_accesses_in,
    map_children,
    rewrite,
    sequence,
    substitute_in,
)

NO_OP = Seq(())
"""The statement that does nothing."""


class LoopRef(NamedTuple):
    """A loop of a schedule: the stage and the axis in the name of its variable, `stage.axis`."""

    stage: str
    axis: str

    @staticmethod
    def of(loop: For | str) -> LoopRef:
        """The stage and the axis of a loop, or of the name of its variable."""
        stage, _, axis = (loop if isinstance(loop, str) else loop.var.name).partition(".")
        return LoopRef(stage, axis)

    @property
    def name(self) -> str:
        """The name of the loop's variable."""
        return f"{self.stage}.{self.axis}"

    @property
    def var(self) -> Var:
        """The loop's variable."""
        return Var(self.name)


def extent_of(loop: For) -> int:
    """The number of a loop's iterations, which is constant in every program of a schedule."""
    assert isinstance(loop.extent, Const)
    return int(loop.extent.value)


def find_loop(body: Stmt, name: str) -> For | None:
    """The loop whose variable has this name, or None."""
    if name not in facts(body).loops:
        return None
    while not (isinstance(body, For) and body.var.name == name):
        body = next(each for each in children(body) if name in facts(each).loops)
    return body


def axes_of(body: Stmt, stage: str) -> tuple[str, ...]:
    """The axes of a stage's loops, outermost first."""
    found = map(LoopRef.of, loops(body))
    return tuple(loop.axis for loop in found if loop.stage == stage)


def path_to(body: Stmt, wanted: Stmt) -> tuple[Stmt, ...]:
    """The statements from `body` down to the object `wanted`, both included."""
    if body is wanted:
        return (body,)
    if _may_hold(body, wanted):
        for child in children(body):
            if rest := path_to(child, wanted):
                return (body, *rest)
    return ()


def _may_hold(body: Stmt, part: Stmt) -> bool:
    """Whether `body` may contain `part`; False if the names in `body` exclude that."""
    known = facts(body)
    match part:
        case For(var=var):
            return var.name in known.loops
        case Alloc(buffer=buffer):
            return buffer.name in known.allocated
        case Block():
            return any(each is part for each in known.blocks)
        case _:
            return facts(part).height < known.height


def loops_on_path(path: tuple[Stmt, ...]) -> tuple[For, ...]:
    """The loops on a path, outermost first."""
    return tuple(each for each in path if isinstance(each, For))


def ranges_of(loops: tuple[For, ...]) -> dict[str, Interval]:
    """The interval of each loop's variable, by name."""
    return {each.var.name: Interval(0, extent_of(each) - 1) for each in loops}


def replace_stmt(body: Stmt, old: Stmt, new: Stmt) -> Stmt:
    """Return `body` with the object `old` replaced. `NO_OP` removes `old`, together with the loops
    left empty."""
    if body is old:
        return new
    if not _may_hold(body, old):
        return body
    changed = map_children(body, lambda child: replace_stmt(child, old, new))
    return NO_OP if NO_OP in children(changed) else changed


def replace_loop(body: Stmt, name: str, change: Callable[[For], Stmt]) -> Stmt:
    """Return `body` with the loop of this name changed."""
    if name not in facts(body).loops:
        return body
    if isinstance(body, For) and body.var.name == name:
        return change(body)
    return map_children(body, lambda child: replace_loop(child, name, change))


def map_blocks(body: Stmt, change: Callable[[Block], Stmt]) -> Stmt:
    """Return `body` with every block changed."""
    if not blocks(body):
        return body
    changed = map_children(body, lambda child: map_blocks(child, change))
    return change(changed) if isinstance(changed, Block) else changed


def map_buffers(body: Stmt, buffers: Mapping[str, Buffer]) -> Stmt:
    """Return `body` with buffers replaced, by name, wherever they are read, written or allocated;
    statements that use no such buffer stay the same objects."""

    def change(stmt: Stmt) -> Stmt:
        if not facts(stmt).allocated.keys().isdisjoint(buffers):
            stmt = map_children(stmt, change)
        if isinstance(stmt, Alloc) and stmt.buffer.name in buffers:
            return replace(stmt, buffer=buffers[stmt.buffer.name])
        return stmt

    moved = map_accesses_in(body, buffers, lambda old, indices: (buffers[old.name], indices))
    return change(moved)


def rename_loops(body: Stmt, new_name: Callable[[str], str]) -> Stmt:
    """Return `body` with its loop variables renamed."""
    new = {name: Var(new_name(name)) for name in facts(body).loops}

    def change(stmt: Stmt) -> Stmt:
        return replace(stmt, var=new[stmt.var.name]) if isinstance(stmt, For) else stmt

    return rewrite(substitute_in(body, new), change)


def insert_before(body: Stmt, new: Stmt, buffer: str) -> Stmt:
    """Return `body` with `new` before the first statement in it that reads a buffer, below
    allocations."""
    if isinstance(body, Alloc):
        return replace(body, body=insert_before(body.body, new, buffer))
    parts = body.body if isinstance(body, Seq) else (body,)
    at = next(place for place, part in enumerate(parts) if buffer in read_by(part))
    if isinstance(parts[at], Alloc):
        return sequence(*parts[:at], insert_before(parts[at], new, buffer))
    return sequence(*parts[:at], new, *parts[at:])


def allocated(body: Stmt) -> Mapping[str, Buffer]:
    """The buffers that `body` allocates, by name."""
    return facts(body).allocated


def allocations(body: Stmt) -> Iterator[Alloc]:
    """Every allocation, in the order of the text."""
    if facts(body).allocated:
        if isinstance(body, Alloc):
            yield body
        for child in children(body):
            yield from allocations(child)


def without_alloc(body: Stmt, name: str) -> Stmt:
    """Return `body` without the allocation of a buffer."""
    if name not in facts(body).allocated:
        return body
    if isinstance(body, Alloc) and body.buffer.name == name:
        return body.body
    return map_children(body, lambda child: without_alloc(child, name))


def read_by(stmt: Stmt) -> frozenset[str]:
    """The names of the buffers that a statement, or one under it, reads."""
    return facts(stmt).reads


def written_by(stmt: Stmt) -> frozenset[str]:
    """The names of the buffers that a statement, or one under it, writes."""
    return facts(stmt).writes


def find_block(body: Stmt, stage: str) -> Block | None:
    """The block of a stage, or None."""
    return next((each for each in blocks(body) if each.name == stage), None)
