"""A schedule of products of matrices: tiles in shared memory, sums in registers."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from tandem.compiler.errors import ScheduleError
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.expr import Binary, Const, Load, Reinterpret, Select, Var
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.ir.simplify import simplify
from tandem.compiler.ir.stmt import Block, IterKind, Store
from tandem.compiler.ir.visit import blocks, reads, variables
from tandem.compiler.machines.gpu.intrinsics import DOT_TERMS
from tandem.compiler.machines.gpu.launch import SHARED
from tandem.compiler.machines.gpu.neighbours import are_neighbours
from tandem.compiler.machines.gpu.schedules.products import Product
from tandem.compiler.machines.gpu.schedules.tile import Tile
from tandem.compiler.machines.gpu.schedules.warp_tiles import (
    THREADS,
    by_products,
    in_warps,
    laid_out,
    warp_product,
)
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import (
    allocated,
    axes_of,
    extent_of,
    find_block,
    find_loop,
    read_by,
)


def tiled(schedule: Schedule, product: Product, tile: Tile) -> Schedule:
    """The schedule with a product by tiles.

    Where its sums have one reader that takes them element by element, such as an activation, that
    is computed with the tile. Otherwise the sums are written to global memory.
    """
    schedule = _operands_inline(schedule, product)
    read = _by_reader(schedule, product, tile)
    if read is None:
        near = f"{product.stage}_near"
        alone = schedule.cache_write(product.stage, Scope.LOCAL, near)
        alone = _root(alone, product.stage, "m", "n", tile).compute_at(near, product.stage, _LAST)
        read = _Nest(alone, product.stage, near)
    schedule, root, near = read.schedule, read.root, read.near
    schedule = schedule.split(near, "m", tile.thread_rows, ("thread_m", "m"))
    schedule = schedule.split(near, "n", tile.thread_columns, ("thread_n", "n"))
    schedule = schedule.split(near, "k", tile.depth, ("tile_k", "k"))
    together = warp_product(product, tile)
    dot = None if tile.depth % DOT_TERMS or together is not None else product.dot
    threads: tuple[str, ...] = ("thread_m", "thread_n")
    inner = ["k", "m", "n"]
    if together is not None:
        threads = THREADS
        for stage in (near, root):
            schedule = in_warps(schedule, stage)
        schedule = schedule.reorder(root, *threads, *_OWN[2:])
        schedule, inner = by_products(schedule, near, together)
    elif dot is not None:
        schedule = schedule.split(near, "k", DOT_TERMS, ("k", "dot"))
        inner = [*inner, "dot"]
    schedule = schedule.reorder(near, "tile_k", *threads, *inner)
    by_columns = together is not None or dot is not None
    for operand, axes in ((product.left, ("m", "k")), (product.right, ("k", "n"))):
        schedule = _together(schedule, operand, axes, near, tile, by_columns=by_columns)
    schedule = schedule.decompose_reduction(near, "tile_k")
    if together is not None:
        schedule = laid_out(schedule, product, tile, together)
        schedule = schedule.tensorize(near, inner[3], together)
    elif dot is not None:
        # The terms of a column become neighbours, as those of a row are.
        schedule = schedule.set_layout(product.right, ("0", "2", "1"))
        schedule = schedule.tensorize(near, "dot", dot)
    for axis in axes_of(schedule.program.body, root):
        if axis not in (*threads, *_OWN):
            schedule = schedule.bind(root, axis, "blocks")
    # Of a thread's own elements all is in registers; of a warp's products the parts of a tile, too.
    own = ("m", "n", *_OWN[2:]) if together is None else ("k", "m", "n", *_OWN[2:])
    for stage, unrolled in ((f"{near}_init", own), (near, own), (root, _OWN[2:])):
        for axis in threads:
            schedule = schedule.bind(stage, axis, "threads")
        for axis in axes_of(schedule.program.body, stage):
            if axis in unrolled:
                schedule = schedule.unroll(stage, axis)
    return schedule


_LAST = "block_n"
"""The innermost loop over blocks of the stage that writes to global memory."""
_OWN = ("thread_m", "thread_n", "own_m", "own_n")
"""Its loops inside of a block."""


@dataclass(frozen=True, slots=True)
class _Nest:
    """A schedule in which the stage `near`, sums of a block's tile, is computed in a loop of
    `root`, which writes to global memory."""

    schedule: Schedule
    root: str
    near: str


def _root(schedule: Schedule, root: str, rows: str, columns: str, tile: Tile) -> Schedule:
    """The schedule with a stage divided among blocks, and in a block among threads."""
    names = ("block_m", _LAST, "in_m", "in_n")
    schedule = schedule.tile(root, (rows, columns), (tile.rows, tile.columns), names)
    return schedule.tile(root, names[2:], (tile.thread_rows, tile.thread_columns), _OWN)


def _by_reader(schedule: Schedule, product: Product, tile: Tile) -> _Nest | None:
    """The product computed in its reader's loops; None if that does not read a tile at once."""
    body = schedule.program.body
    readers = [each for each in blocks(body) if product.stage in read_by(each)]
    readers = [each for each in readers if each.name != product.stage]
    if len(readers) != 1:
        return None
    (reader,) = readers
    places = {each.indices for each in reads(reader) if each.buffer.name == product.stage}
    if len(places) != 1 or any(each.kind is IterKind.REDUCE for each in reader.iters):
        return None
    groups = [[each for each in _long(reader) if each in variables(at)] for at in places.pop()]
    if sorted(axis for group in groups for axis in group) != sorted(_long(reader)):
        return None
    root = reader.name
    try:
        short = [each for each in axes_of(body, root) if each not in _long(reader)]
        schedule = schedule.reorder(root, *short, *(axis for group in groups for axis in group))
        names = []
        for group, name in zip(groups, ("batch", "rows", "columns"), strict=True):
            for axis in group[1:]:
                schedule = schedule.fuse(root, group[0] if axis is group[1] else name, axis, name)
            names.append(name if len(group) > 1 else "".join(group))
        schedule = _root(schedule, root, names[1], names[2], tile)
        schedule = schedule.set_scope(product.stage, Scope.LOCAL)
        schedule = schedule.compute_at(product.stage, root, _LAST)
    except ScheduleError:
        return None
    extents = [find_loop(schedule.program.body, f"{product.stage}.{axis}") for axis in "bmn"]
    if [extent_of(each) for each in extents if each is not None] != [1, tile.rows, tile.columns]:
        return None
    return _Nest(schedule, root, product.stage)


def _long(block: Block) -> list[str]:
    """The axes of a block with more than one element."""
    return [each.var.name for each in block.iters if each.extent > 1]


def _together(
    schedule: Schedule,
    operand: str,
    axes: tuple[str, str],
    near: str,
    tile: Tile,
    *,
    by_columns: bool,
) -> Schedule:
    """The schedule with an operand's tile loaded by all threads of a block: as vectors, if what
    are neighbours in memory become neighbours in the tile.

    Parameters
    ----------
    by_columns
        Whether the right operand's tile is laid out with terms as neighbours.
    """
    schedule = schedule.set_scope(operand, SHARED).compute_at(operand, near, "tile_k")
    placed = ("n", "k") if axes == ("k", "n") and by_columns else axes
    vectors = _copied_at_once(schedule, operand, placed[1])
    if vectors > 1 and placed != axes:
        schedule = schedule.reorder(operand, *placed)
        axes = placed
    sides = [find_loop(schedule.program.body, f"{operand}.{axis}") for axis in axes]
    rows, row = (extent_of(each) for each in sides if each is not None)
    elements = rows * row
    schedule = schedule.fuse(operand, *axes, "element")
    lanes = min(tile.threads, elements)
    size = _vector_size(schedule, operand, gcd(row, elements // lanes, vectors))
    inner: tuple[str, ...] = ("step",)
    if size > 1:
        schedule = schedule.split(operand, "element", size, ("element", "vector"))
        inner = ("step", "vector")
    schedule = schedule.split(operand, "element", lanes, ("step", "thread"))
    schedule = schedule.reorder(operand, "thread", *inner)
    schedule = schedule.bind(operand, "thread", "threads")
    if size > 1:
        schedule = schedule.vectorize(operand, "vector")
    return schedule.multi_buffer(operand, tile.slots) if tile.slots > 1 else schedule


_VECTOR_BYTES = 16
"""What a thread loads at once at most."""


def _copied_at_once(schedule: Schedule, stage: str, axis: str) -> int:
    """How many elements along an axis a stage copies at most, if it copies neighbours in memory
    under conditions that so many have in common: of a matrix that ends in a tile, the greatest
    power of two that divides its extent. 1 for any other stage."""
    block = find_block(schedule.program.body, stage)
    if block is None or not isinstance(block.body, Store):
        return 1
    value, found = block.body.value, _VECTOR_BYTES
    while isinstance(value, Select) and isinstance(value.otherwise, Const | Reinterpret):
        match value.condition:
            case Binary(op=BinaryOp.LT, left=Var(name=name), right=Const(value=bound)):
                found = gcd(found, int(bound)) if name == axis else found
            case _:
                return 1
        value = value.then
    if not isinstance(value, Load):
        return 1
    # A term of a window is one number again where the weights are a matrix.
    ranges = {each.var.name: Interval(0, each.extent - 1) for each in block.iters}
    indices = tuple(simplify(each, ranges) for each in value.indices)
    return found if are_neighbours(value.buffer, indices, axis) else 1


def _vector_size(schedule: Schedule, stage: str, most: int) -> int:
    """Elements of a stage's buffer that are loaded at once: a power of two that divides `most`."""
    size = allocated(schedule.program.body)[stage].dtype.holder.numpy.itemsize
    return gcd(_VECTOR_BYTES // size, most)


def _operands_inline(schedule: Schedule, product: Product) -> Schedule:
    """The schedule with what the operands read, such as a padded image, inlined where that is
    element-wise."""
    for operand in (product.left, product.right):
        for stage in sorted(_sources(schedule, operand)):
            try:
                schedule = schedule.compute_inline(stage)
            except ScheduleError:
                continue  # it is a reduction, or read elsewhere: it is a launch of its own
    return schedule


def _sources(schedule: Schedule, stage: str) -> frozenset[str]:
    """The stages that a stage alone reads."""
    body = schedule.program.body
    block = find_block(body, stage)
    assert block is not None, "the operand is there"
    names = read_by(block) & allocated(body).keys()
    readers = {
        name: [each.name for each in blocks(body) if name in read_by(each)] for name in names
    }
    return frozenset(name for name, found in readers.items() if found == [stage])
