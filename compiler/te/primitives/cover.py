"""Whether what a stage reads has been computed: a stage inside a loop computes only a box."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.boxes import Box, box
from compiler.ir.expr import Binary, BinaryOp, Expr, Load
from compiler.ir.interval import Interval, Ranges
from compiler.ir.linear import linear
from compiler.ir.ops import index
from compiler.ir.prove import prove
from compiler.ir.stmt import Alloc, Block, For, Stmt
from compiler.ir.visit import blocks, reads, substitute, variables, writes
from compiler.te.tree import (
    allocations,
    block_called,
    loops_among,
    path_to,
    ranges_of,
    read_by,
    written_by,
)

__all__ = ["boxes_of", "common_guard", "loads_of", "not_covered"]


def common_guard(readers: Sequence[Block], around: Sequence[For]) -> tuple[Expr, ...]:
    """The conditions on loops around that all readers share."""
    names = {each.var.name for each in around}
    first, *others = readers
    return tuple(
        test
        for test in first.guard
        if variables(test) <= names and all(test in each.guard for each in others)
    )


def not_covered(body: Stmt, stage: str) -> str | None:
    """What a stage reads of another's box and may not find there; None if all is there."""
    block = block_called(body, stage)
    assert block is not None
    for alloc in allocations(body):
        name = alloc.buffer.name
        if name in written_by(block) or name not in read_by(block):
            continue
        outer = loops_among(path_to(body, alloc))
        loads = loads_of(block, name)
        path = path_to(alloc, block)
        if not outer or not loads or not path:
            continue
        accesses, inner = [each.indices for each in loads], ranges_of(loops_among(path))
        read = boxes_of(block, accesses, inner, ranges_of(outer), alloc.buffer.shape)
        writers = [each for each in blocks(alloc) if name in written_by(each) and each is not block]
        if not any(_covers(each, read, block, alloc, outer) for each in writers):
            return (
                f"{stage} would read more of {name} than is computed of it in {outer[-1].var.name}"
            )
    return None


def loads_of(block: Block, buffer: str) -> list[Load]:
    """A block's loads of a buffer."""
    return [load for load in reads(block) if load.buffer.name == buffer]


def boxes_of(
    block: Block,
    accesses: Sequence[tuple[Expr, ...]],
    inner: Ranges,
    outer: Ranges,
    shape: Sequence[int],
) -> list[Box]:
    """The boxes of a buffer that a block's accesses, in terms of its axes, touch in all turns of
    the inner loops (`ir.boxes.box`)."""
    values = {each.var.name: each.value for each in block.iters}
    return [
        box([substitute(each, values) for each in indices], inner, outer, shape)
        for indices in accesses
    ]


def _covers(
    writer: Block, read: list[Box], reader: Block, alloc: Alloc, outer: tuple[For, ...]
) -> bool:
    """Whether a block writes all of the boxes, in every turn that the reader has."""
    inner = ranges_of(loops_among(path_to(alloc, writer)))
    shape_tests = {
        _canonical(test)
        for each in writer.iters
        for test in (index(0) <= each.value, each.value < each.extent)
    }
    for test in writer.guard:
        shared = test in reader.guard and not variables(test) & inner.keys()
        if not shared and _canonical(test) not in shape_tests:
            return False
    stores = [each.indices for each in writes(writer)]
    if not stores:
        return False
    ranges = ranges_of(outer)
    (written,) = boxes_of(writer, stores[-1:], inner, ranges, alloc.buffer.shape)
    return all(_within(each, written, alloc, ranges) for each in read)


def _canonical(test: Expr) -> object:
    """A comparison of sums, whatever its form."""
    match test:
        case Binary(op=BinaryOp.LT | BinaryOp.LE as op, left=left, right=right):
            return op, linear(left - right)
        case _:
            return test


def _within(read: Box, written: Box, alloc: Alloc, ranges: dict[str, Interval]) -> bool:
    return all(
        length >= extent
        or (prove(begin <= low, ranges) and prove(low + size <= begin + length, ranges))
        for low, size, begin, length, extent in zip(
            read.lower, read.shape, written.lower, written.shape, alloc.buffer.shape, strict=True
        )
    )
