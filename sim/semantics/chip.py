"""The on-chip memories, in a layout for the host's vector units.

Every memory is a flat array. Compared with its DRAM form, an element is

* INP: `batch` rows of `row_in` int16: the channels, widened and rounded up to pairs;
* WGT: for every 16 outputs, for every pair of inputs, 16 x 2 int8: transposed, so that one vector
  multiply-add takes a pair of inputs to 16 outputs;
* ACC: `batch` rows of `row_out` int32: the outputs, rounded up to 16;
* UOP: one 32-bit word, as in DRAM.

Because of the rounding one kernel serves every block size. The padding of INP and WGT is always
zero; that of ACC is never read. OUT has no array: it is the low 8 bits of ACC, or, on a machine
that requantises, in `sim.semantics.requantiser`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tandem.hw.codings import TABLE_ENTRIES
from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import uop_layout
from tandem.hw.isa.element_sizes import element_size_table
from tandem.hw.topology import MemoryId

LANES = 16
"""Outputs that the kernel computes at once: 512 bits of int32."""
PAIR = 2
"""Inputs that the kernel multiplies and adds in one step."""

_ALIGNMENT = 64
"""Bytes of a cache line, so that no vector of 16 accumulators straddles two."""


class Chip(NamedTuple):
    """The on-chip memories and sizes: a named tuple, which compiled code unpacks at no cost."""

    uop: npt.NDArray[np.uint32]
    wgt: npt.NDArray[np.int8]
    inp: npt.NDArray[np.int16]
    acc: npt.NDArray[np.int32]

    table: npt.NDArray[np.int8]
    """What codes are widened to."""

    element_bytes: npt.NDArray[np.int64]
    """Bytes of an element in DRAM, by memory id and coding."""

    batch: int
    block_in: int
    block_out: int
    pairs: int
    """Pairs of inputs in a row of INP."""
    row_in: int
    """Entries of `inp` in one row."""
    row_out: int
    """Entries of `acc` in one row."""

    inp_depth: int
    wgt_depth: int
    acc_depth: int

    src_shift: int
    wgt_shift: int
    dst_mask: int
    src_mask: int
    wgt_mask: int


def make_chip(config: HardwareConfig) -> Chip:
    """The on-chip memories of `config`, filled with zeros."""
    pairs = -(-config.block_in // PAIR)
    columns = -(-config.block_out // LANES)
    depth = {memory: config.depth(memory) for memory in MemoryId}
    row_out = columns * LANES
    acc = depth[MemoryId.ACC] * config.batch * row_out
    inp = depth[MemoryId.INP] * config.batch * pairs * PAIR
    wgt = depth[MemoryId.WGT] * row_out * pairs * PAIR
    word = uop_layout(config)
    return Chip(
        uop=_zeros(depth[MemoryId.UOP], 4).view(np.uint32),
        wgt=_zeros(wgt, 1).view(np.int8),
        inp=_zeros(inp, 2).view(np.int16),
        acc=_zeros(acc, 4).view(np.int32),
        table=np.zeros(TABLE_ENTRIES, np.int8),
        element_bytes=element_size_table(config),
        batch=config.batch,
        block_in=config.block_in,
        block_out=config.block_out,
        pairs=pairs,
        row_in=pairs * PAIR,
        row_out=row_out,
        inp_depth=depth[MemoryId.INP],
        wgt_depth=depth[MemoryId.WGT],
        acc_depth=depth[MemoryId.ACC],
        src_shift=word["src"].lsb,
        wgt_shift=word["wgt"].lsb,
        dst_mask=word["dst"].limits[1],
        src_mask=word["src"].limits[1],
        wgt_mask=word["wgt"].limits[1],
    )


def _zeros(entries: int, size: int) -> npt.NDArray[np.uint8]:
    block = np.zeros(entries * size + _ALIGNMENT, dtype=np.uint8)
    start = -block.ctypes.data % _ALIGNMENT
    return block[start : start + entries * size]
