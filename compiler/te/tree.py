"""Where things are in a program, and how to put others there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from compiler.ir.buffer import Buffer
from compiler.ir.expr import Const, Var
from compiler.ir.facts import facts
from compiler.ir.interval import Interval
from compiler.ir.stmt import Alloc, Block, For, Seq, Stmt
from compiler.ir.visit import (
    blocks,
    children,
    map_accesses_in,
    map_children,
    rewrite,
    sequence,
    statements,
    substitute_in,
)

__all__ = [
    "NOTHING",
    "allocated",
    "allocations",
    "axes_of",
    "block_called",
    "extent_of",
    "insert_before",
    "loop_called",
    "loops_among",
    "map_blocks",
    "map_buffers",
    "path_to",
    "ranges_of",
    "read_by",
    "rename_loops",
    "replace_loop",
    "replace_stmt",
    "stage_of",
    "without_alloc",
    "written_by",
]

NOTHING = Seq(())
"""What stands for a statement that is taken out."""


def stage_of(loop: str) -> str:
    """The stage in a loop's name."""
    return loop.partition(".")[0]


def extent_of(loop: For) -> int:
    """A loop's turns: a number in every program of a schedule."""
    assert isinstance(loop.extent, Const)
    return int(loop.extent.value)


def loop_called(body: Stmt, name: str) -> For | None:
    """The loop over the variable called so."""
    if name not in facts(body).loops:
        return None
    while not (isinstance(body, For) and body.var.name == name):
        body = next(each for each in children(body) if name in facts(each).loops)
    return body


def axes_of(body: Stmt, stage: str) -> tuple[str, ...]:
    """The axes of a stage's loops, outermost first."""
    names = (each.var.name for each in statements(body) if isinstance(each, For))
    return tuple(name.partition(".")[2] for name in names if stage_of(name) == stage)


def path_to(body: Stmt, wanted: Stmt) -> tuple[Stmt, ...]:
    """The statements from `body` down to `wanted` (that very object), both included."""
    if body is wanted:
        return (body,)
    if _may_hold(body, wanted):
        for each in children(body):
            rest = path_to(each, wanted)
            if rest:
                return (body, *rest)
    return ()


def _may_hold(body: Stmt, part: Stmt) -> bool:
    """Whether a statement can lie in another: False where names say that it does not."""
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


def loops_among(path: tuple[Stmt, ...]) -> tuple[For, ...]:
    """The loops of a path."""
    return tuple(each for each in path if isinstance(each, For))


def ranges_of(loops: tuple[For, ...]) -> dict[str, Interval]:
    """What the loops' variables can be."""
    return {each.var.name: Interval(0, extent_of(each) - 1) for each in loops}


def replace_stmt(body: Stmt, old: Stmt, new: Stmt) -> Stmt:
    """`body` with that very statement replaced; or, by `NOTHING`, taken out, with all loops that
    hold nothing else."""
    if body is old:
        return new
    if not _may_hold(body, old):
        return body
    changed = map_children(body, lambda each: replace_stmt(each, old, new))
    return NOTHING if NOTHING in children(changed) else changed


def replace_loop(body: Stmt, name: str, change: Callable[[For], Stmt]) -> Stmt:
    """`body` with the loop called so changed."""
    if name not in facts(body).loops:
        return body
    if isinstance(body, For) and body.var.name == name:
        return change(body)
    return map_children(body, lambda each: replace_loop(each, name, change))


def map_blocks(body: Stmt, change: Callable[[Block], Stmt]) -> Stmt:
    """Every block changed."""
    if not blocks(body):
        return body
    changed = map_children(body, lambda each: map_blocks(each, change))
    return change(changed) if isinstance(changed, Block) else changed


def map_buffers(body: Stmt, buffers: Mapping[str, Buffer]) -> Stmt:
    """Buffers replaced, by name, wherever they are read, written or allocated; statements without
    them stay the very same."""

    def change(each: Stmt) -> Stmt:
        if not facts(each).allocated.keys().isdisjoint(buffers):
            each = map_children(each, change)
        if isinstance(each, Alloc) and each.buffer.name in buffers:
            return replace(each, buffer=buffers[each.buffer.name])
        return each

    moved = map_accesses_in(body, buffers, lambda old, indices: (buffers[old.name], indices))
    return change(moved)


def rename_loops(body: Stmt, new_name: Callable[[str], str]) -> Stmt:
    """Loop variables renamed, where they run and where they are used."""
    new = {name: Var(new_name(name)) for name in facts(body).loops}

    def change(each: Stmt) -> Stmt:
        return replace(each, var=new[each.var.name]) if isinstance(each, For) else each

    return rewrite(substitute_in(body, new), change)


def insert_before(body: Stmt, new: Stmt, buffer: str) -> Stmt:
    """`new` in front of the first part of `body`, below its allocations, that reads a buffer."""
    if isinstance(body, Alloc):
        return replace(body, body=insert_before(body.body, new, buffer))
    parts = body.body if isinstance(body, Seq) else (body,)
    at = next(number for number, part in enumerate(parts) if buffer in read_by(part))
    if isinstance(parts[at], Alloc):
        return sequence(*parts[:at], insert_before(parts[at], new, buffer))
    return sequence(*parts[:at], new, *parts[at:])


def allocated(body: Stmt) -> Mapping[str, Buffer]:
    """Buffers that exist within `body` only."""
    return facts(body).allocated


def allocations(body: Stmt) -> Iterator[Alloc]:
    """Every allocation, in the order of the text."""
    if facts(body).allocated:
        if isinstance(body, Alloc):
            yield body
        for each in children(body):
            yield from allocations(each)


def without_alloc(body: Stmt, name: str) -> Stmt:
    """`body` with a buffer no longer allocated."""

    if name not in facts(body).allocated:
        return body
    if isinstance(body, Alloc) and body.buffer.name == name:
        return body.body
    return map_children(body, lambda each: without_alloc(each, name))


def read_by(stmt: Stmt) -> frozenset[str]:
    """Names of the buffers that a statement, or one under it, reads."""
    return facts(stmt).reads


def written_by(stmt: Stmt) -> frozenset[str]:
    """Names of the buffers that a statement, or one under it, writes."""
    return facts(stmt).writes


def block_called(body: Stmt, stage: str) -> Block | None:
    """The block called so."""
    return next((each for each in blocks(body) if each.name == stage), None)
