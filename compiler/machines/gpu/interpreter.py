"""Interprets launches: threads with memory of their own, shared memory, and barriers.

The order in which threads run between barriers is chosen, so that a race shows: as an element that
is read before it is written, or as another result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import Any, NamedTuple, TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.errors import IRError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.evaluate import Cell, Frame, Memory, element
from tandem.compiler.ir.stmt import Alloc, Block, For, If, Invoke, PrimFunc, Seq, Stmt, Store
from tandem.compiler.ir.verify import verify
from tandem.compiler.machines.gpu.intrinsics import behaviour, is_dot_product
from tandem.compiler.machines.gpu.launch import (
    BLOCK,
    THREAD,
    GpuProgram,
    Grid,
    grid_of,
    is_barrier,
)
from tandem.compiler.machines.gpu.warps import KNOWN, WARP, is_warp_product

_Stop: TypeAlias = "Stmt | None"
"""Where a thread stops for others to run: at a barrier or a product of its warp, or None after a
store."""
_Run: TypeAlias = Callable[[], Iterator[_Stop]]


class _Running(NamedTuple):
    """A thread, by its number in the block, and what is left of it."""

    number: int
    steps: Iterator[_Stop]


class Order(Enum):
    """The order in which blocks run, and the threads of a block between barriers."""

    FORWARDS = "forwards"
    BACKWARDS = "backwards"
    INTERLEAVED = "interleaved"
    """Another thread, drawn at random, goes on after each store."""


def run_program(
    program: GpuProgram, arrays: Sequence[NDArray[Any]], order: Order, seed: int = 0
) -> tuple[NDArray[Any], ...]:
    """Run the launches of a program, and return its outputs; as `ir.interpreter.run`.

    Raises
    ------
    IRError
        If a launch is not legal, an element outside a buffer is accessed or one is read before it
        is written, threads wait at different barriers, or an output is not complete.
    """
    memories: dict[str, Memory] = {}
    for buffer in (*program.inputs, *program.outputs, *program.scratch):
        memories.setdefault(buffer.name, Memory(buffer, buffer.strides)).clear()
    for buffer, array in zip(program.inputs, arrays, strict=True):
        memories[buffer.name].fill(array)
    random = Random(seed)
    with np.errstate(all="ignore"):
        for launch in program.launches:
            verify(launch)
            _run_launch(launch, memories, order, random)
    return tuple(_complete(memories[each.name]) for each in program.outputs)


def run_launch(
    launch: PrimFunc, arrays: Sequence[NDArray[Any]], order: Order, seed: int = 0
) -> tuple[NDArray[Any], ...]:
    """Run one launch; as `run_program`."""
    program = GpuProgram(launch.name, launch.inputs, launch.outputs, (), (launch,))
    return run_program(program, arrays, order, seed)


def _complete(memory: Memory) -> NDArray[Any]:
    buffer = memory.buffer
    if None in memory.cells:
        index = [int(each) for each in np.unravel_index(memory.cells.index(None), buffer.shape)]
        raise IRError(f"an output is not complete: {element(buffer, index)} is never written")
    cells = np.array(memory.cells, buffer.dtype.holder.numpy)
    return cells.view(buffer.dtype.numpy).reshape(buffer.shape)


def _run_launch(
    launch: PrimFunc, memories: dict[str, Memory], order: Order, random: Random
) -> None:
    grid = grid_of(launch)
    block: Cell = [0]
    near = {each.name: Memory(each, each.strides) for each in grid.shared}
    threads = [
        (
            number,
            _thread(number, grid, {**memories, **near}, block, steps=order is Order.INTERLEAVED),
        )
        for number in range(grid.threads)
    ]
    numbers = [*range(grid.blocks)]
    if order is Order.BACKWARDS:
        numbers.reverse()
        threads.reverse()
    elif order is Order.INTERLEAVED:
        random.shuffle(numbers)
    for number in numbers:
        block[0] = number
        for memory in near.values():
            memory.clear()
        running = [_Running(at, each()) for at, each in threads]
        _run_block(launch.name, number, running, order, random)


def _run_block(
    name: str, block: int, threads: list[_Running], order: Order, random: Random
) -> None:
    """Run the threads of a block from barrier to barrier."""
    left = threads
    while left:
        waiting: list[tuple[_Running, Stmt]] = []
        meetings: dict[int, list[tuple[_Running, Stmt]]] = {}
        going = left
        while going:
            at = random.randrange(len(going)) if order is Order.INTERLEAVED else 0
            thread = going[at]
            try:
                stop = next(thread.steps)
            except StopIteration:
                going = going[:at] + going[at + 1 :]
                continue
            if stop is None:
                continue
            going = going[:at] + going[at + 1 :]
            if is_barrier(stop):
                waiting.append((thread, stop))
                continue
            warp = thread.number // WARP
            met = meetings.setdefault(warp, [])
            met.append((thread, stop))
            if len(met) == WARP:
                # All go on together, those that came last not as the last ones always.
                _check_same(f"{name}, block {block}, warp {warp}", meetings.pop(warp))
                free = {each.number for each in (*going, *(one for one, _ in met))}
                going = [each for each in left if each.number in free]
        for warp, met in meetings.items():
            raise IRError(
                f"{name}, block {block}, warp {warp}: {len(met)} of {WARP} threads come to "
                f"{_called(met[0][1])}"
            )
        where = {id(stop) for _, stop in waiting}
        if len(where) > 1 or (waiting and len(waiting) < len(threads)):
            raise IRError(f"{name}, block {block}: not all threads come to the same barrier")
        # Interleaved or not, those that came last to a barrier must not be the last ones always.
        kept = {each.number for each, _ in waiting}
        left = [each for each in left if each.number in kept]


def _check_same(where: str, met: list[tuple[_Running, Stmt]]) -> None:
    """Raise `IRError` unless the threads of a warp are at the same statement."""
    if len({id(stop) for _, stop in met}) > 1:
        names = sorted({_called(stop) for _, stop in met})
        raise IRError(f"{where}: threads are at different products: {', '.join(names)}")


def _called(stmt: Stmt) -> str:
    assert isinstance(stmt, Invoke), "threads stop at intrinsics"
    return stmt.intrinsic.name


def _thread(
    number: int, grid: Grid, memories: dict[str, Memory], block: Cell, *, steps: bool
) -> _Run:
    """A thread, which starts anew at each call; with `steps` it stops after each store."""
    cells: dict[str, Cell] = {BLOCK.name: block, THREAD.name: [number]}
    frame = Frame(dict(memories), cells, tuple(cells.items()))
    return _Thread(steps).run(grid.body, frame)


@dataclass(frozen=True, slots=True)
class _Thread:
    steps: bool

    def run(self, stmt: Stmt, frame: Frame) -> _Run:
        """A function that starts a statement's execution, which stops at barriers."""
        match stmt:
            case Store():
                return self._store(stmt, frame)
            case Seq(body=body):
                return _in_order([self.run(each, frame) for each in body])
            case For():
                return self._for(stmt, frame)
            case If():
                return self._if(stmt, frame)
            case Alloc(buffer=buffer, body=body):
                return _cleared(_own(frame, buffer), self.run(body, frame))
            case Invoke() if is_barrier(stmt):
                return lambda: iter((stmt,))
            case Invoke() if is_dot_product(stmt):
                return self.run(behaviour(stmt), frame)
            case Invoke() if is_warp_product(stmt):
                own = self.run(behaviour(stmt), frame)
                return _in_order([lambda: iter((stmt,)), own])
            case Invoke() | Block():
                raise IRError(f"launches have no {type(stmt).__name__}, but {KNOWN}")
            case _:
                assert_never(stmt)

    def _store(self, stmt: Store, frame: Frame) -> _Run:
        memory = frame.memories[stmt.buffer.name]
        position, value = frame.position(memory, stmt.indices), frame.value(stmt.value)

        def write() -> Iterator[_Stop]:
            found = value()
            if self.steps:
                yield None  # others may run between the reads and the write
            memory.cells[position()] = found

        return write

    def _for(self, stmt: For, frame: Frame) -> _Run:
        extent = frame.value(stmt.extent)
        cell: Cell = [0]
        body = self.run(stmt.body, frame.inside_loop(stmt.var.name, cell))

        def repeat() -> Iterator[_Stop]:
            for number in range(extent()):
                cell[0] = number
                yield from body()

        return repeat

    def _if(self, stmt: If, frame: Frame) -> _Run:
        condition, body = frame.value(stmt.condition), self.run(stmt.body, frame)

        def decide() -> Iterator[_Stop]:
            if condition():
                yield from body()

        return decide


def _in_order(parts: Sequence[_Run]) -> _Run:
    def sequence() -> Iterator[_Stop]:
        for part in parts:
            yield from part()

    return sequence


def _own(frame: Frame, buffer: Buffer) -> Memory:
    """New memory of one thread."""
    frame.memories[buffer.name] = Memory(buffer, buffer.strides)
    return frame.memories[buffer.name]


def _cleared(memory: Memory, body: _Run) -> _Run:
    def run() -> Iterator[_Stop]:
        memory.clear()
        yield from body()

    return run
