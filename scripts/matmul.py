"""A handwritten program: a tiled, double-buffered matrix product, C = A x B^T.

A is m x k, B is n x k and C is m x n, all int8; C keeps the low 8 bits of each sum, as STORE does.

C is computed tile by tile, each tile in one half of ACC while the other half's tile is stored. The
sum over k runs in chunks: the load unit fills one half of INP and WGT with the next chunk while
the compute unit works on the other half. Tokens synchronise the units:

    load -> compute     a chunk is loaded
    compute -> load     a half of INP and WGT is free again
    compute -> store    a tile is complete
    store -> compute    a half of ACC is free again; at the end, C is complete
"""

from __future__ import annotations

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import UOP_BYTES
from tandem.hw.isa import Assembler, Loop, MicroOp, Program
from tandem.hw.topology import MemoryId, Unit
from tandem.scripts.matmul_layout import MatmulLayout, Tiles, choose_tiles

BUFFERS = 2
"""Halves of each memory: while one is used, the other is filled or emptied."""


def matmul_program(config: HardwareConfig, m: int, n: int, k: int) -> tuple[Program, MatmulLayout]:
    """The program of an m x n x k product, and the layout of its matrices in memory.

    Raises
    ------
    AssemblyError
        A size is no multiple of the array's size.
    """
    tile = choose_tiles(config)
    at = MatmulLayout.of(config, m, n, k, _micro_ops(config, tile))
    writer = _Writer(config, tile, at)
    writer.load_micro_ops()
    for index in range(len(writer.corners)):
        writer.clear(index)
        for chunk in range(len(writer.chunks)):
            writer.load(index, chunk)
            writer.multiply(index, chunk)
        writer.store(index)
    # The end of the program, for machines that end with FINISH: not before C is stored.
    writer.asm.nop(Unit.COMPUTE, waits_for=Unit.STORE)
    writer.asm.finish()
    return writer.asm.build(), at


def _micro_ops(config: HardwareConfig, tile: Tiles) -> list[MicroOp]:
    """The micro-ops: `depth` of them per half of ACC and per half of INP and WGT."""
    return [
        MicroOp(
            dst=_half(config, MemoryId.ACC, acc),
            src=_half(config, MemoryId.INP, buffer) + step,
            wgt=_half(config, MemoryId.WGT, buffer) + step,
        )
        for acc in range(BUFFERS)
        for buffer in range(BUFFERS)
        for step in range(tile.depth)
    ]


def _half(config: HardwareConfig, memory: MemoryId, number: int) -> int:
    """The first element of a half of an on-chip memory."""
    return number * config.depth(memory) // BUFFERS


class _Writer:
    """Emits the instructions of the program; tiles and chunks are numbered."""

    def __init__(self, config: HardwareConfig, tile: Tiles, at: MatmulLayout) -> None:
        self.asm = Assembler(config)
        self.corners = [
            (row, column)
            for row in range(0, at.rows, tile.rows)
            for column in range(0, at.columns, tile.columns)
        ]
        self.chunks = range(0, at.depth, tile.depth)
        self._config, self._tile, self._at = config, tile, at

    def load_micro_ops(self) -> None:
        start = self._at.uop_address // UOP_BYTES
        self.asm.load(MemoryId.UOP, sram=0, dram=start, columns=len(self._at.uops))

    def clear(self, index: int) -> None:
        """Zero a tile's accumulators, after the tile that used them before is stored."""
        rows, columns = self._size(index)
        self.asm.gemm(
            self._kernel(index % BUFFERS, 0, 1),
            (Loop(rows, dst=columns), Loop(columns, dst=1)),
            reset=True,
            waits_for=[Unit.STORE] if index >= BUFFERS else [],
        )

    def load(self, index: int, chunk: int) -> None:
        """Load a chunk of A and of B, after the chunk in the same half has been multiplied."""
        row, column = self.corners[index]
        rows, columns = self._size(index)
        step = self._step(index, chunk)
        self.asm.load(
            MemoryId.INP,
            sram=_half(self._config, MemoryId.INP, step % BUFFERS),
            dram=self._at.a_element(row, self.chunks[chunk]),
            rows=rows,
            columns=self._depth(chunk),
            stride=self._at.depth,
            waits_for=[Unit.COMPUTE] if step >= BUFFERS else [],
        )
        self.asm.load(
            MemoryId.WGT,
            sram=_half(self._config, MemoryId.WGT, step % BUFFERS),
            dram=self._at.b_element(column, self.chunks[chunk]),
            rows=columns,
            columns=self._depth(chunk),
            stride=self._at.depth,
            signals=[Unit.COMPUTE],
        )

    def multiply(self, index: int, chunk: int) -> None:
        """Add a chunk's products to a tile, after the chunk is loaded."""
        rows, columns = self._size(index)
        depth, step = self._depth(chunk), self._step(index, chunk)
        used_again = step + BUFFERS < len(self.corners) * len(self.chunks)
        complete = chunk == len(self.chunks) - 1
        self.asm.gemm(
            self._kernel(index % BUFFERS, step % BUFFERS, depth),
            (Loop(columns, dst=1, wgt=depth), Loop(rows, dst=columns, src=depth)),
            waits_for=[Unit.LOAD],
            signals=[Unit.LOAD] * used_again + [Unit.STORE] * complete,
        )

    def store(self, index: int) -> None:
        """Store a tile, after its last product."""
        rows, columns = self._size(index)
        used_again = index + BUFFERS < len(self.corners)
        last = index == len(self.corners) - 1
        self.asm.store(
            sram=_half(self._config, MemoryId.ACC, index % BUFFERS),
            dram=self._at.c_element(*self.corners[index]),
            rows=rows,
            columns=columns,
            stride=self._at.columns,
            waits_for=[Unit.COMPUTE],
            signals=[Unit.COMPUTE] * (used_again or last),
        )

    def _size(self, index: int) -> tuple[int, int]:
        """Rows and columns of a tile, which is smaller at the edges of C."""
        row, column = self.corners[index]
        rows = min(self._tile.rows, self._at.rows - row)
        return rows, min(self._tile.columns, self._at.columns - column)

    def _depth(self, chunk: int) -> int:
        return min(self._tile.depth, self._at.depth - self.chunks[chunk])

    def _step(self, index: int, chunk: int) -> int:
        """The number of chunks before this chunk: chunks alternate between halves."""
        return index * len(self.chunks) + chunk

    def _kernel(self, acc: int, buffer: int, length: int) -> tuple[int, int]:
        start = (acc * BUFFERS + buffer) * self._tile.depth
        return start, start + length
