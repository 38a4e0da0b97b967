"""The layout of a matrix product: tiles in on-chip memories, and matrices in DRAM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tandem.hw.config import PAGE_BYTES, HardwareConfig
from tandem.hw.encoding import UOP_BYTES
from tandem.hw.errors import AssemblyError
from tandem.hw.isa import MicroOp, pack_uops
from tandem.hw.topology import MemoryId

Int8 = npt.NDArray[np.int8]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Tiles:
    """Tile sizes in elements: a tile of C is `rows` x `columns`, and the sum runs in chunks of
    `depth`. Two tiles and two chunks fit the on-chip memories."""

    rows: int
    columns: int
    depth: int


def choose_tiles(config: HardwareConfig) -> Tiles:
    """The tile sizes that load the fewest bytes per micro-op.

    A chunk loads rows x depth elements of INP and columns x depth of WGT for rows x columns x
    depth micro-ops: each micro-op pays for 1/columns of an INP element and 1/rows of a WGT one.
    """
    acc, inp, wgt = (
        config.depth(memory) // 2 for memory in (MemoryId.ACC, MemoryId.INP, MemoryId.WGT)
    )

    def rows_for(columns: int) -> int:
        return min(acc // columns, inp)

    def bytes_per_uop(columns: int) -> float:
        return config.element_bytes(MemoryId.INP) / columns + config.element_bytes(
            MemoryId.WGT
        ) / rows_for(columns)

    powers = (1 << bit for bit in range(min(acc, wgt).bit_length()))
    columns = min(powers, key=bytes_per_uop)
    rows = rows_for(columns)
    # Each pair of a half of ACC and a half of INP and WGT has its own `depth` micro-ops.
    depth = min(inp // rows, wgt // columns, config.depth(MemoryId.UOP) // 4)
    if depth == 0:
        raise AssemblyError(
            f"configuration {config.name}: {config.depth(MemoryId.UOP)} micro-ops are too few "
            f"for a double-buffered product; it takes 4"
        )
    return Tiles(rows, columns, depth)


@dataclass(frozen=True, slots=True)
class MatmulLayout:
    """C = A x B^T in memory: an empty page, then micro-ops, A, B and C, on pages of their own.

    `rows`, `columns` and `depth` are the product's m, n and k in elements. A is packed as
    [m][k][batch][block_in], B as [n][k][block_out][block_in], C as [m][n][batch][block_out].
    """

    config: HardwareConfig
    rows: int
    columns: int
    depth: int
    uops: tuple[MicroOp, ...]

    @classmethod
    def of(
        cls, config: HardwareConfig, m: int, n: int, k: int, uops: Sequence[MicroOp]
    ) -> MatmulLayout:
        """The layout for an m x n x k product; `AssemblyError` unless its sizes are multiples of
        the array's.
        """
        sizes = (("m", m, config.batch), ("n", n, config.block_out), ("k", k, config.block_in))
        for name, size, block in sizes:
            if size <= 0 or size % block:
                raise AssemblyError(f"{name} is {size}: it must be a positive multiple of {block}")
        return cls(
            config, m // config.batch, n // config.block_out, k // config.block_in, tuple(uops)
        )

    # Addresses, in bytes ----------------------------------------------------------------

    def _pages(self, size: int) -> int:
        """`size` rounded up so that what follows is aligned: to a page, or to a larger element."""
        alignment = max(PAGE_BYTES, *(self.config.element_bytes(memory) for memory in MemoryId))
        return -(-size // alignment) * alignment

    @property
    def uop_address(self) -> int:
        """Byte address of the micro-ops: not page 0, which VTA's memory manager lacks."""
        return self._pages(1)

    @property
    def a_address(self) -> int:
        """Byte address of A."""
        return self.uop_address + self._pages(len(self.uops) * UOP_BYTES)

    @property
    def b_address(self) -> int:
        """Byte address of B."""
        size = self.rows * self.depth * self.config.element_bytes(MemoryId.INP)
        return self.a_address + self._pages(size)

    @property
    def c_address(self) -> int:
        """Byte address of C."""
        size = self.columns * self.depth * self.config.element_bytes(MemoryId.WGT)
        return self.b_address + self._pages(size)

    @property
    def size(self) -> int:
        """Bytes of the whole image."""
        size = self.rows * self.columns * self.config.element_bytes(MemoryId.OUT)
        return self.c_address + self._pages(size)

    # Addresses, in elements, as `dram_base` counts them ----------------------------------

    def a_element(self, row: int, depth: int) -> int:
        """Element address of one INP element of A."""
        start = self.a_address // self.config.element_bytes(MemoryId.INP)
        return start + row * self.depth + depth

    def b_element(self, column: int, depth: int) -> int:
        """Element address of one WGT element of B."""
        start = self.b_address // self.config.element_bytes(MemoryId.WGT)
        return start + column * self.depth + depth

    def c_element(self, row: int, column: int) -> int:
        """Element address of one OUT element of C."""
        start = self.c_address // self.config.element_bytes(MemoryId.OUT)
        return start + row * self.columns + column

    # Contents ---------------------------------------------------------------------------

    def image(self, a: Int8, b: Int8) -> Bytes:
        """Memory before the run. A and B are plain m x k and n x k matrices."""
        config = self.config
        image = np.zeros(self.size, dtype=np.uint8)
        words = pack_uops(config, self.uops)
        parts = (
            (self.uop_address, np.frombuffer(words, dtype=np.uint8)),
            (self.a_address, _pack(a, config.batch, config.block_in)),
            (self.b_address, _pack(b, config.block_out, config.block_in)),
        )
        for address, part in parts:
            image[address : address + part.size] = part
        return image

    def result(self, image: Bytes) -> Int8:
        """C as a plain m x n matrix, from memory after the run."""
        batch, block = self.config.batch, self.config.block_out
        count = self.rows * self.columns * batch * block
        packed = image[self.c_address : self.c_address + count].view(np.int8)
        blocks = packed.reshape(self.rows, self.columns, batch, block)
        return blocks.transpose(0, 2, 1, 3).reshape(self.rows * batch, self.columns * block)


def _pack(matrix: Int8, rows: int, columns: int) -> Bytes:
    """Cut a matrix into blocks of rows x columns, in row-major order of the blocks."""
    height, width = matrix.shape
    blocks = matrix.reshape(height // rows, rows, width // columns, columns)
    return np.ascontiguousarray(blocks.transpose(0, 2, 1, 3)).view(np.uint8).reshape(-1)
