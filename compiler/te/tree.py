"""Where things are in a program, and how to put others there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from compiler.ir.buffer import Buffer
from compiler.ir.expr import Const, Expr, Load, Var
from compiler.ir.interval import Interval
from compiler.ir.stmt import Alloc, Block, For, Function, Invoke, Region, Seq, Stmt, Store
from compiler.ir.visit import (
    blocks,
    children,
    expressions,
    map_children,
    map_expressions,
    rewrite,
    rewrite_expr,
    sequence,
    statements,
    subexpressions,
)

__all__ = [
    "allocated",
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


def stage_of(loop: str) -> str:
    """The stage in a loop's name."""
    return loop.partition(".")[0]


def extent_of(loop: For) -> int:
    """A loop's turns: a number in every program of a schedule."""
    assert isinstance(loop.extent, Const)
    return int(loop.extent.value)


def loop_called(body: Stmt, name: str) -> For | None:
    """The loop over the variable called so."""
    for each in statements(body):
        if isinstance(each, For) and each.var.name == name:
            return each
    return None


def axes_of(body: Stmt, stage: str) -> tuple[str, ...]:
    """The axes of a stage's loops, outermost first."""
    names = (each.var.name for each in statements(body) if isinstance(each, For))
    return tuple(name.partition(".")[2] for name in names if stage_of(name) == stage)


def path_to(body: Stmt, wanted: Stmt) -> tuple[Stmt, ...]:
    """The statements from `body` down to `wanted` (that very object), both included."""
    if body is wanted:
        return (body,)
    for each in children(body):
        rest = path_to(each, wanted)
        if rest:
            return (body, *rest)
    return ()


def loops_among(path: tuple[Stmt, ...]) -> tuple[For, ...]:
    """The loops of a path."""
    return tuple(each for each in path if isinstance(each, For))


def ranges_of(loops: tuple[For, ...]) -> dict[str, Interval]:
    """What the loops' variables can be."""
    return {each.var.name: Interval(0, extent_of(each) - 1) for each in loops}


def replace_stmt(body: Stmt, old: Stmt, new: Stmt | None) -> Stmt | None:
    """`body` with that very statement replaced, or taken out."""
    if body is old:
        return new
    if isinstance(body, Seq):
        parts = [replace_stmt(each, old, new) for each in body.body]
        if all(a is b for a, b in zip(parts, body.body, strict=True)):
            return body
        left = [each for each in parts if each is not None]
        return sequence(*left) if left else None
    gone = False

    def change(each: Stmt) -> Stmt:
        nonlocal gone
        changed = replace_stmt(each, old, new)
        gone = gone or changed is None
        return each if changed is None else changed

    changed = map_children(body, change)
    return None if gone else changed


def replace_loop(body: Stmt, name: str, change: Callable[[For], Stmt]) -> Stmt:
    """`body` with the loop called so changed."""

    def at(each: Stmt) -> Stmt:
        if isinstance(each, For) and each.var.name == name:
            return change(each)
        return map_children(each, at)

    return at(body)


def map_blocks(body: Stmt, change: Callable[[Block], Stmt]) -> Stmt:
    """Every block changed."""
    return rewrite(body, lambda each: change(each) if isinstance(each, Block) else each)


def map_buffers(body: Stmt, buffers: Mapping[str, Buffer]) -> Stmt:
    """Buffers replaced, by name, wherever they are read, written or allocated; statements without
    them stay the very same."""

    def in_expr(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.buffer.name in buffers:
            return Load(buffers[expr.buffer.name], expr.indices)
        return expr

    def change(each: Stmt) -> Stmt:
        each = map_expressions(each, lambda expr: rewrite_expr(expr, in_expr))
        match each:
            case Store(buffer=buffer) | Alloc(buffer=buffer) if buffer.name in buffers:
                return replace(each, buffer=buffers[buffer.name])
            case Invoke(operands=operands) if any(one.buffer.name in buffers for one in operands):
                return replace(
                    each,
                    operands=tuple(
                        replace(one, buffer=buffers.get(one.buffer.name, one.buffer))
                        for one in operands
                    ),
                )
            case _:
                return each

    return rewrite(body, change)


def rename_loops(body: Stmt, new_name: Callable[[str], str]) -> Stmt:
    """Loop variables renamed, where they run and where they are used."""
    names = {each.var.name for each in statements(body) if isinstance(each, For)}

    def in_expr(expr: Expr) -> Expr:
        if isinstance(expr, Var) and expr.name in names:
            return Var(new_name(expr.name), expr.dtype)
        return expr

    def change(each: Stmt) -> Stmt:
        each = map_expressions(each, lambda expr: rewrite_expr(expr, in_expr))
        if isinstance(each, For):
            return replace(each, var=Var(new_name(each.var.name)))
        return each

    return rewrite(body, change)


def insert_before(body: Stmt, new: Stmt, first: Callable[[Stmt], bool]) -> Stmt:
    """`new` in front of the first part of `body`, below its allocations, that `first` accepts."""
    if isinstance(body, Alloc):
        return replace(body, body=insert_before(body.body, new, first))
    parts = body.body if isinstance(body, Seq) else (body,)
    at = next(number for number, part in enumerate(parts) if first(part))
    if isinstance(parts[at], Alloc):
        return sequence(*parts[:at], insert_before(parts[at], new, first))
    return sequence(*parts[:at], new, *parts[at:])


def allocated(body: Stmt) -> dict[str, Buffer]:
    """Buffers that exist within `body` only."""
    return {each.buffer.name: each.buffer for each in statements(body) if isinstance(each, Alloc)}


def without_alloc(body: Stmt, name: str) -> Stmt:
    """`body` with a buffer no longer allocated."""

    def change(each: Stmt) -> Stmt:
        return each.body if isinstance(each, Alloc) and each.buffer.name == name else each

    return rewrite(body, change)


def read_by(stmt: Stmt) -> Iterator[str]:
    """Names of the buffers that a statement, or one under it, reads."""
    for each in statements(stmt):
        for expr in expressions(each):
            for load in subexpressions(expr):
                if isinstance(load, Load):
                    yield load.buffer.name
        if isinstance(each, Invoke):
            inputs = len(each.intrinsic.inputs)
            yield from (region.buffer.name for region in each.operands[:inputs])


def written_by(stmt: Stmt) -> Iterator[str]:
    """Names of the buffers that a statement, or one under it, writes."""
    for each in statements(stmt):
        match each:
            case Store(buffer=buffer):
                yield buffer.name
            case Invoke(intrinsic=intrinsic, operands=operands):
                yield from (region.buffer.name for region in _results(intrinsic, operands))
            case _:
                pass


def _results(intrinsic: Function, operands: tuple[Region, ...]) -> tuple[Region, ...]:
    """The operands that stand for an intrinsic's outputs."""
    parameters = (
        *intrinsic.inputs,
        *(each for each in intrinsic.outputs if each not in intrinsic.inputs),
    )
    return tuple(
        region
        for parameter, region in zip(parameters, operands, strict=True)
        if parameter in intrinsic.outputs
    )


def block_called(body: Stmt, stage: str) -> Block | None:
    """The block called so."""
    return next((each for each in blocks(body) if each.name == stage), None)
