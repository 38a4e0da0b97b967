"""A GPU schedule for any operators."""

from __future__ import annotations

from collections.abc import Sequence

from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.stmt import Block, For, IterKind, LoopKind
from tandem.compiler.ir.visit import blocks
from tandem.compiler.machines.cpu.schedules.generic import inline_stages
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.schedules.products import Product, as_products
from tandem.compiler.machines.gpu.schedules.rows import by_rows
from tandem.compiler.machines.gpu.schedules.tile import Tile, tile_of
from tandem.compiler.machines.gpu.schedules.tiles import tiled
from tandem.compiler.machines.gpu.schedules.trees import in_blocks, reader_reduces, with_trees
from tandem.compiler.machines.gpu.schedules.warp_tiles import warp_product
from tandem.compiler.te import Tensor
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.te.tree import axes_of, extent_of, find_block, loops_on_path, path_to

_NEAR = "acc"
"""Of a stage that reduces: the suffix of what one thread sums up in its own memory."""
_WARP = 32
"""Threads that run together: a block of fewer leaves some idle."""


def gpu_schedule(
    *outputs: Tensor,
    machine: GpuMachine,
    inputs: Sequence[Tensor] = (),
    name: str | None = None,
    tile: Tile | None = None,
) -> Schedule:
    """A schedule with element-wise stages inlined; products of matrices by tiles, reductions of
    many terms to few elements by trees, and for each other stage a launch, in which a thread for
    each element reduces in its own memory.

    Parameters
    ----------
    outputs, inputs, name
        Parameters of `Schedule.of`.
    tile
        Of all products; by default `tile_of`.
    """

    def tile_for(product: Product) -> Tile:
        return tile or tile_of(product, machine)

    made, products = as_products(
        outputs,
        lambda found: tile_for(found).sides,
        lambda found: warp_product(found, tile_for(found)) is not None,
    )
    made, trees = with_trees(made, [each.stage for each in products], machine)
    start = Schedule.of(*made, inputs=inputs, name=name)
    schedule = inline_stages(start)
    if reduced_again := [each.result for each in trees if reader_reduces(schedule, each)]:
        schedule = inline_stages(start, reduced_again)
    for product in products:
        schedule = tiled(schedule, product, tile_for(product))
    together = None if products else by_rows(schedule, trees, machine)
    if together is not None:
        return together
    for tree in trees:
        schedule = in_blocks(schedule, tree)
    for stage in [each.name for each in blocks(schedule.program.body)]:
        if all(loop.kind is LoopKind.SERIAL for loop in _loops(schedule, stage)):
            schedule = on_threads(schedule, stage, machine)
    return schedule


def on_threads(schedule: Schedule, stage: str, machine: GpuMachine) -> Schedule:
    """The schedule with the elements of one stage, whose loops are as they were made, on the
    threads of a grid."""
    block = _block(schedule, stage)
    if _extents(schedule, stage).count(0):
        return schedule
    reduced = [each.var.name for each in block.axes(IterKind.REDUCE)]
    spatial = [each for each in axes_of(schedule.program.body, stage) if each not in reduced]
    if not spatial:
        return schedule  # one element: one thread
    if reduced and block.init is not None:
        schedule = schedule.cache_write(stage, Scope.LOCAL, f"{stage}_{_NEAR}")
    first, *others = spatial
    for axis in others:
        schedule = schedule.fuse(stage, first, axis, "element")
        first = "element"
    (size, *_) = _extents(schedule, stage)
    threads = min(machine.threads, max(_WARP, -(-size // _WARP) * _WARP))
    schedule = schedule.split(stage, first, min(threads, size), ("block", "thread"))
    if reduced and block.init is not None:
        near = f"{stage}_{_NEAR}"
        schedule = schedule.compute_at(near, stage, "thread")
        schedule = schedule.decompose_reduction(near, reduced[0])
    return schedule.bind(stage, "block", "blocks").bind(stage, "thread", "threads")


def _block(schedule: Schedule, stage: str) -> Block:
    block = find_block(schedule.program.body, stage)
    assert block is not None, "the stage is there"
    return block


def _loops(schedule: Schedule, stage: str) -> tuple[For, ...]:
    """The loops around a stage's block, outermost first."""
    return loops_on_path(path_to(schedule.program.body, _block(schedule, stage)))


def _extents(schedule: Schedule, stage: str) -> list[int]:
    return [extent_of(each) for each in _loops(schedule, stage)]
