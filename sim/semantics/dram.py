"""Main memory with its base registers, and address ranges that answer with an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tandem.base.jit import compiled, inlined
from tandem.hw.bases import address_mask, bases_by_memory
from tandem.hw.config import HardwareConfig
from tandem.hw.isa.columns import (
    DRAM_BASE,
    MEMORY_TYPE,
    X_SIZE,
    X_STRIDE,
    Y_SIZE,
    InstructionFields,
)
from tandem.hw.isa.element_sizes import dram_unit_table
from tandem.sim.semantics.detail import END_BYTE, FIRST_BYTE, Detail

_FAR = 1 << 62
"""Ranges are clipped to this address, beyond every memory, so that they fit int64."""


class Dram(NamedTuple):
    """Physical memory, as unsigned and as signed bytes: index == address in both."""

    bytes: npt.NDArray[np.uint8]
    signed: npt.NDArray[np.int8]
    bases: npt.NDArray[np.int64]
    """The base of each memory id."""
    units: npt.NDArray[np.int64]
    """By memory id, the bytes that `dram_base` and `x_stride` count."""
    refused: npt.NDArray[np.int64]
    """Address ranges [start, end), a row each, that answer with an error."""
    mask: int
    """All bits of an address: the machine drops the bits of a row's address above them."""


def make_dram(
    memory: npt.NDArray[np.uint8],
    bases: Sequence[int],
    refused: Sequence[tuple[int, int]],
    config: HardwareConfig,
) -> Dram:
    """Main memory on the array `memory` itself, not on a copy; `bases` are the base registers."""
    return Dram(
        bytes=memory,
        signed=memory.view(np.int8),
        bases=np.array(bases_by_memory(bases), dtype=np.int64),
        units=dram_unit_table(config),
        refused=np.array(
            [(min(start, _FAR), min(end, _FAR)) for start, end in refused], dtype=np.int64
        ).reshape(-1, 2),
        mask=address_mask(config),
    )


@inlined
def row_address(dram: Dram, row: InstructionFields, y: int) -> int:
    """Address of the first byte of row `y` of a LOAD or STORE."""
    memory = row[MEMORY_TYPE]
    place = row[DRAM_BASE] + y * row[X_STRIDE]
    return int(dram.bases[memory] + place * dram.units[memory]) & dram.mask


@compiled
def rows_accessible(dram: Dram, row: InstructionFields, size: int, detail: Detail) -> bool:
    """Whether every byte of a LOAD or STORE is accessible; else `detail` gets the first bad row."""
    length = row[X_SIZE] * size
    first = row_address(dram, row, 0)
    end = first + (row[Y_SIZE] - 1) * row[X_STRIDE] * dram.units[row[MEMORY_TYPE]] + length
    if end <= len(dram.bytes) and not _is_refused(dram, first, end):
        return True
    for y in range(row[Y_SIZE]):
        first = row_address(dram, row, y)
        end = first + length
        if end > len(dram.bytes) or _is_refused(dram, first, end):
            detail[FIRST_BYTE] = first
            detail[END_BYTE] = end
            return False
    return True


@inlined
def _is_refused(dram: Dram, first: int, end: int) -> bool:
    for k in range(dram.refused.shape[0]):
        if first < dram.refused[k, 1] and end > dram.refused[k, 0]:
            return True
    return False
