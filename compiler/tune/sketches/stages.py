"""What a generator of sketches asks of the stages of a program."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tandem.compiler.ir.dtypes import INDEX
from tandem.compiler.ir.expr import Cast, Load, Reinterpret
from tandem.compiler.ir.stmt import Block, For, IterKind, PrimFunc, Store
from tandem.compiler.ir.strides import accesses, row_length, stride, strides
from tandem.compiler.ir.visit import blocks, expressions, reads, statements, subexpressions
from tandem.compiler.te.dependences import reassociable
from tandem.compiler.te.tree import (
    LoopRef,
    allocated,
    extent_of,
    find_block,
    loops_on_path,
    path_to,
    read_by,
)


def block_of(program: PrimFunc, stage: str) -> Block:
    """The block of a stage, which exists."""
    block = find_block(program.body, stage)
    assert block is not None, stage
    return block


def spatial(block: Block) -> tuple[str, ...]:
    """The names of a block's spatial axes."""
    return tuple(axis.var.name for axis in block.axes(IterKind.SPATIAL))


def shape_of(block: Block) -> tuple[int, ...]:
    """The extents of a block's spatial axes."""
    return tuple(axis.extent for axis in block.axes(IterKind.SPATIAL))


def reduced(block: Block) -> tuple[str, ...]:
    """The names of a block's reduction axes."""
    return tuple(axis.var.name for axis in block.axes(IterKind.REDUCE))


def loop_extents(program: PrimFunc, stage: str) -> dict[str, int]:
    """The extents of a stage's own loops, outermost first, by axis."""
    path = path_to(program.body, block_of(program, stage))
    own = (loop for loop in loops_on_path(path) if LoopRef.of(loop).stage == stage)
    return {LoopRef.of(loop).axis: extent_of(loop) for loop in own}


def is_reduction(block: Block) -> bool:
    """Whether a stage reduces."""
    return block.init is not None


def readers_of(program: PrimFunc, buffer: str) -> tuple[Block, ...]:
    """The blocks that read a buffer, those that update it left out."""
    readers = (block for block in blocks(program.body) if buffer in read_by(block))
    return tuple(block for block in readers if block.name != buffer)


def loads_of(block: Block, buffer: str) -> list[Load]:
    """A block's loads of a buffer."""
    return [load for load in reads(block) if load.buffer.name == buffer]


def elements(block: Block) -> int:
    """The elements that a block computes."""
    return prod(shape_of(block))


def iterations(block: Block) -> int:
    """The iterations of a block in full."""
    return prod(axis.extent for axis in block.iters)


def executed(program: PrimFunc, stage: str) -> int:
    """The iterations of all loops around a stage's block, where the schedule has it."""
    path = path_to(program.body, block_of(program, stage))
    return prod(extent_of(loop) for loop in loops_on_path(path))


def length(block: Block) -> int:
    """The nodes of a block's expressions."""
    found = [expr for stmt in statements(block.body) for expr in expressions(stmt)]
    return sum(1 for expr in found for _ in subexpressions(expr))


def is_intermediate(program: PrimFunc, stage: str) -> bool:
    """Whether a stage computes a buffer of the program's own, not an output."""
    return stage in allocated(program.body)


def widest_bits(block: Block) -> int:
    """The bits of the widest type in a block's computation."""
    kinds = {each.buffer.dtype for each in accesses(block)}
    for stmt in statements(block.body):
        for expr in expressions(stmt):
            for part in subexpressions(expr):
                if isinstance(part, Cast | Reinterpret) and part.dtype != INDEX:
                    kinds.add(part.dtype)
    return max(8, *(each.bits for each in kinds))


def affine_length(block: Block, axis: str) -> int:
    """The iterations of an axis within which every index is affine: all of them, or those of a
    group of channels."""
    extent = next(each.extent for each in block.iters if each.var.name == axis)
    if None not in strides(accesses(block), axis):
        return extent
    row = row_length(block, axis)
    return row if row is not None and extent % row == 0 else extent


def operand_strides(block: Block, axis: str) -> dict[str, set[int | None]]:
    """The strides along an axis of a block's loads, by buffer, within its `affine_length`; its own
    buffer left out."""
    length = affine_length(block, axis)
    iters = [
        replace(other, extent=length) if other.var.name == axis else other for other in block.iters
    ]
    found: dict[str, set[int | None]] = {}
    for access in accesses(replace(block, iters=tuple(iters))):
        if isinstance(access, Load) and access.buffer.name != _target(block):
            found.setdefault(access.buffer.name, set()).add(stride(access, axis))
    return found


def shares_loads(block: Block) -> bool:
    """Whether a reduction reads an element for several of its results: along an axis of more than
    one iteration, a load has stride 0."""
    long = [axis.var.name for axis in block.axes(IterKind.SPATIAL) if axis.extent > 1]
    return any(0 in found for axis in long for found in operand_strides(block, axis).values())


def is_reassociable(block: Block) -> bool:
    """Whether the order of a reduction's terms is free."""
    return reassociable(block)


def perfect_loops(program: PrimFunc, stage: str) -> tuple[str, ...]:
    """The axes of the loops directly around a stage's block, with nothing between them, outermost
    first."""
    found: list[str] = []
    for stmt in reversed(path_to(program.body, block_of(program, stage))[:-1]):
        if not isinstance(stmt, For) or LoopRef.of(stmt).stage != stage:
            break
        found.append(LoopRef.of(stmt).axis)
    return tuple(reversed(found))


def _target(block: Block) -> str:
    (store,) = [each for each in accesses(block) if isinstance(each, Store)]
    return store.buffer.name
