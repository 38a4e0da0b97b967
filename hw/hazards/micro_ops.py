"""The micro-ops that each GEMM and ALU executes, as loaded by earlier LOADs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import UOP_BYTES
from tandem.hw.hazards.hazard_report import Unknown
from tandem.hw.hazards.interval_sets import group_rows
from tandem.hw.isa.columns import Columns, Ints
from tandem.hw.topology import MemoryId

Kernel = npt.NDArray[np.uint32]
"""The micro-ops that one instruction executes, as words."""


@dataclass(frozen=True, slots=True)
class MicroOpSource:
    """The DRAM from which LOADs read micro-ops, with its contents at launch.

    Attributes
    ----------
    base
        The base register, in bytes.
    image
        Memory, index == physical address; None if the contents are not known.
    stored
        LOADs that read bytes which a STORE has written before.
    """

    columns: Columns
    base: int
    image: npt.NDArray[np.uint8] | None
    stored: frozenset[int]

    def read(self, position: int) -> tuple[Kernel, npt.NDArray[np.int8]]:
        """The micro-ops that a LOAD writes, padding included, and for each an `Unknown` or 0."""
        columns = self.columns
        rows, width = int(columns.y_size[position]), int(columns.x_size[position])
        elements = (
            int(columns.dram_base[position])
            + np.arange(rows)[:, np.newaxis] * int(columns.x_stride[position])
            + np.arange(width)
        )
        words, unknown = self._words(self.base + elements * UOP_BYTES)
        if position in self.stored:
            unknown[:] = Unknown.STORED
        pads = (
            (int(columns.y_pad_0[position]), int(columns.y_pad_1[position])),
            (int(columns.x_pad_0[position]), int(columns.x_pad_1[position])),
        )
        return np.pad(words, pads).ravel(), np.pad(unknown, pads).ravel()

    def _words(self, addresses: Ints) -> tuple[Kernel, npt.NDArray[np.int8]]:
        """The words at byte `addresses`, and for each an `Unknown` or 0."""
        words, image = np.zeros(addresses.shape, dtype=np.uint32), self.image
        if image is None:
            return words, np.full(addresses.shape, Unknown.NO_IMAGE, dtype=np.int8)
        inside = addresses + UOP_BYTES <= len(image)
        for byte in range(UOP_BYTES):
            found = image[addresses[inside] + byte].astype(np.uint32)
            words[inside] |= found << np.uint32(8 * byte)
        return words, np.where(inside, 0, Unknown.BEYOND_IMAGE).astype(np.int8)


def kernels_of(
    config: HardwareConfig, source: MicroOpSource, loads: Ints, users: Ints
) -> tuple[list[Kernel], Ints]:
    """The micro-ops of each GEMM or ALU in `users`, as loaded by earlier LOADs in `loads`.

    Compute runs loads and users in program order. Returns the distinct kernels, and for each of
    `users` the index of its kernel, or minus the `Unknown` if its micro-ops are not known.
    """
    depth, columns = config.depth(MemoryId.UOP), source.columns
    memory = np.zeros(depth, dtype=np.uint32)
    reasons = np.full(depth, Unknown.UNLOADED, dtype=np.int8)
    before = np.searchsorted(loads, users)
    table = np.stack([before, columns.uop_bgn[users], columns.uop_end[users]], axis=1)
    firsts, groups = group_rows(table)
    numbers: dict[bytes, int] = {}
    found, loaded = [], 0
    for due, begin, end in table[firsts].tolist():
        for position in loads[loaded:due].tolist():
            words, unknown = source.read(position)
            first = int(columns.sram_base[position])
            memory[first : first + len(words)] = words
            reasons[first : first + len(words)] = unknown
        loaded = due
        reason = int(reasons[begin:end].max())
        found.append(-reason or numbers.setdefault(memory[begin:end].tobytes(), len(numbers)))
    kernels = [np.frombuffer(kernel, dtype=np.uint32) for kernel in numbers]
    return kernels, np.array(found, dtype=np.int64)[groups]
