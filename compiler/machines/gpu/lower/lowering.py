"""From a schedule's program to launches on a grid."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tandem.compiler.errors import CapacityError, LoweringError
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.facts import facts
from tandem.compiler.ir.stmt import Alloc, PrimFunc, Seq, Stmt
from tandem.compiler.ir.visit import map_accesses_in
from tandem.compiler.lower.compact_buffers import CompactBuffers
from tandem.compiler.lower.lower_blocks import LowerBlocks
from tandem.compiler.lower.lowering import LoopPass, Simplify, lower
from tandem.compiler.machines.gpu.check.races import check_races, private_to_threads
from tandem.compiler.machines.gpu.check.warps import check_warps
from tandem.compiler.machines.gpu.launch import GpuProgram, Grid, grid_of, launch_of
from tandem.compiler.machines.gpu.lower.barriers import with_barriers
from tandem.compiler.machines.gpu.lower.threads import threaded
from tandem.compiler.machines.gpu.lower.vectors import SplitConditions
from tandem.compiler.machines.gpu.machine import GpuMachine

GPU_PASSES: tuple[LoopPass, ...] = (LowerBlocks(), Simplify(), CompactBuffers(), Simplify())
"""The passes to plain loops. Conditions stay inside of loops over threads, so that these loops lie
directly inside each other, and barriers under no condition."""


def gpu_program(function: PrimFunc, machine: GpuMachine) -> GpuProgram:
    """The launches of a schedule's program, checked for races: one for each nest of loops that
    stands alone.

    Raises
    ------
    LoweringError
        If loops over blocks and threads are not where they can be, or memory of one thread is
        accessed by several.
    RaceError
        If threads race where no barrier can be.
    WarpError
        If not all threads of a warp come to what they compute together.
    CapacityError
        If a launch has too many threads, or too much shared memory.
    """
    plain = lower(function, GPU_PASSES)
    scratch, nests = _nests(plain.name, plain.body)
    known = (*plain.inputs, *plain.outputs, *scratch)
    launches = []
    filled = {each.name for each in plain.inputs}
    for number, nest in enumerate(nests):
        name = plain.name if len(nests) == 1 else f"{plain.name}_{number}"
        launch = _launch(name, nest, known, filled)
        _check_fits(launch, machine)
        check_races(launch)
        check_warps(launch)
        launches.append(launch)
        filled |= facts(nest).writes
    return GpuProgram(plain.name, plain.inputs, plain.outputs, tuple(scratch), tuple(launches))


def _nests(name: str, body: Stmt) -> tuple[list[Buffer], list[Stmt]]:
    """The global buffers between nests, and the nests, in order."""
    match body:
        case Alloc(buffer=buffer, body=inside) if buffer.scope == Scope.GLOBAL:
            whole = replace(buffer, slots=1)  # one launch ends before the next begins
            moved = map_accesses_in(inside, {buffer.name}, lambda _, indices: (whole, indices))
            scratch, nests = _nests(name, moved)
            return [whole, *scratch], nests
        case Seq(body=parts):
            found = [_nests(name, part) for part in parts]
            return (
                [buffer for buffers, _ in found for buffer in buffers],
                [nest for _, nests in found for nest in nests],
            )
        case _ if facts(body).writes:
            return [], [body]
        case _:
            return [], []


def _launch(name: str, nest: Stmt, known: tuple[Buffer, ...], filled: Collection[str]) -> PrimFunc:
    """The launch of a nest, with barriers.

    Parameters
    ----------
    known
        All global buffers.
    filled
        The names of those that have content before.
    """
    made = threaded(name, nest)
    grid = Grid(made.blocks, made.threads, made.shared, made.body)
    for buffer in made.near:
        if not private_to_threads(buffer, grid):
            raise LoweringError(
                f"{name}: several threads access an element of {buffer.name}, which lies in "
                f"{buffer.scope.value} memory of one thread"
            )
    used = facts(nest)
    inputs = tuple(each for each in known if each.name in used.reads and each.name in filled)
    outputs = tuple(each for each in known if each.name in used.writes)
    launch = launch_of(name, inputs, outputs, grid)
    # Memory of one thread is the box that one thread uses.
    small = lower(launch, (Simplify(), CompactBuffers(), Simplify(), SplitConditions()))
    return lower(with_barriers(small, made.uniform), ())


def _check_fits(launch: PrimFunc, machine: GpuMachine) -> None:
    grid = grid_of(launch)
    if grid.threads > machine.threads:
        raise CapacityError(
            f"{launch.name} has {grid.threads} threads a block: {machine.name} has "
            f"{machine.threads}"
        )
    needed = shared_bytes(grid)
    if needed > machine.shared_bytes:
        raise CapacityError(
            f"{launch.name} shares {needed} bytes a block: {machine.name} has "
            f"{machine.shared_bytes}"
        )


def shared_bytes(grid: Grid) -> int:
    """The bytes of a block's shared memory."""
    return sum(each.size * each.dtype.holder.numpy.itemsize for each in grid.shared)
