"""Launches: what each thread of a grid does, as programs of the loop language.

A launch is a program of one form:

    func C_1(A: float32[64], B: float32[64]) -> (C: float32[64]):
      for gpu.block in 2 blocks:
        alloc A_shared: float32[32] @ shared
        for gpu.thread in 32 threads:
          A_shared[gpu.thread] = A[gpu.block * 32 + gpu.thread]
          invoke barrier()
          C[gpu.block * 32 + gpu.thread] = A_shared[31 - gpu.thread]

The two loops are the grid. What lies inside them runs once on each thread; memory that is allocated
between them is one for the threads of a block, memory inside them one for each thread. A thread
goes past a barrier when all threads of its block have reached it. So a launch is not a program of
independent threads, as `ir.interpreter` would run it: `compiler.machines.gpu.interpreter` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.expr import Const, Var
from tandem.compiler.ir.stmt import Alloc, For, Invoke, LoopKind, PrimFunc, Seq, Stmt

SHARED = Scope("shared")
"""The memory of a block, which its threads share."""
BLOCK = Var("gpu.block")
"""The number of the block in its grid."""
THREAD = Var("gpu.thread")
"""The number of the thread in its block."""
BARRIER = PrimFunc("barrier", (), (), Seq(()))
"""No thread goes on before all threads of its block have come here, with what they have written."""
WAIT = Invoke(BARRIER, ())
"""The statement that waits at a barrier."""
INTRINSICS = {BARRIER.name: BARRIER}
"""The intrinsics of launches, by name, for `ir.parser.parse`."""


def is_barrier(stmt: Stmt) -> bool:
    """Whether a statement waits at a barrier."""
    return isinstance(stmt, Invoke) and stmt.intrinsic == BARRIER


class Grid(NamedTuple):
    """The parts of a launch.

    Attributes
    ----------
    blocks, threads
        The number of blocks, and of the threads of each.
    shared
        The buffers that a block's threads share.
    body
        What a thread does.
    """

    blocks: int
    threads: int
    shared: tuple[Buffer, ...]
    body: Stmt


def grid_of(launch: PrimFunc) -> Grid:
    """The parts of a launch; raises `LoweringError` for a program of another form."""
    outer = launch.body
    if not (isinstance(outer, For) and outer.var == BLOCK and outer.kind is LoopKind.BLOCKS):
        raise LoweringError(f"{launch.name} is no launch: its outermost loop is not {BLOCK.name}")
    shared, inner = [], outer.body
    while isinstance(inner, Alloc):
        if inner.buffer.scope != SHARED:
            raise LoweringError(
                f"{launch.name}: {inner.buffer.name} of a block is in {inner.buffer.scope.value}, "
                f"and not in {SHARED.value}"
            )
        shared.append(inner.buffer)
        inner = inner.body
    if not (isinstance(inner, For) and inner.var == THREAD and inner.kind is LoopKind.THREADS):
        raise LoweringError(f"{launch.name} is no launch: it has no loop {THREAD.name}")
    assert isinstance(outer.extent, Const)
    assert isinstance(inner.extent, Const)
    blocks, threads = int(outer.extent.value), int(inner.extent.value)
    return Grid(blocks, threads, tuple(shared), inner.body)


def launch_of(
    name: str, inputs: tuple[Buffer, ...], outputs: tuple[Buffer, ...], grid: Grid
) -> PrimFunc:
    """The launch of a grid."""
    body: Stmt = For(THREAD, Const(grid.threads), LoopKind.THREADS, grid.body)
    for buffer in reversed(grid.shared):
        body = Alloc(buffer, body)
    return PrimFunc(name, inputs, outputs, For(BLOCK, Const(grid.blocks), LoopKind.BLOCKS, body))


@dataclass(frozen=True, slots=True)
class GpuProgram:
    """A program for a GPU: launches, one after the other, each with all of its blocks done before
    the next begins.

    Attributes
    ----------
    inputs, outputs
        The buffers of the whole.
    scratch
        Global buffers between launches.
    launches
        A launch's inputs and outputs are what it reads and writes of all of these.
    """

    name: str
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    scratch: tuple[Buffer, ...]
    launches: tuple[PrimFunc, ...]
