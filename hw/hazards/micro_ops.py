"""What GEMM and ALU reach: the micro-ops that a program has loaded, and where their loops lead."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hw.config import HardwareConfig
from hw.encoding import UOP_BYTES
from hw.hazards.places import group_rows
from hw.hazards.report import Doubt
from hw.isa.columns import Columns, Ints
from hw.topology import MemoryId

__all__ = ["Kernel", "MicroOpSource", "kernels_of"]


Kernel = npt.NDArray[np.uint32]
"""Micro-ops that one instruction uses."""


@dataclass(frozen=True, slots=True)
class MicroOpSource:
    """Where LOADs read micro-ops: memory as it was at launch.

    Attributes
    ----------
    base
        The base register, in bytes.
    image
        Memory, index == physical address; None where it is not known.
    stored
        The LOADs that read where a STORE has written before.
    """

    columns: Columns
    base: int
    image: npt.NDArray[np.uint8] | None
    stored: frozenset[int]

    def read(self, position: int) -> tuple[Kernel, npt.NDArray[np.int8]]:
        """What a LOAD puts into the micro-op memory, padding included, and the `Doubt` about each
        micro-op: 0 is none."""
        columns = self.columns
        rows, width = int(columns.y_size[position]), int(columns.x_size[position])
        elements = (
            int(columns.dram_base[position])
            + np.arange(rows)[:, np.newaxis] * int(columns.x_stride[position])
            + np.arange(width)
        )
        words, doubts = self._words(self.base + elements * UOP_BYTES)
        if position in self.stored:
            doubts[:] = Doubt.STORED
        pads = (
            (int(columns.y_pad_0[position]), int(columns.y_pad_1[position])),
            (int(columns.x_pad_0[position]), int(columns.x_pad_1[position])),
        )
        return np.pad(words, pads).ravel(), np.pad(doubts, pads).ravel()

    def _words(self, addresses: Ints) -> tuple[Kernel, npt.NDArray[np.int8]]:
        """The words at byte `addresses`, and the doubt about each."""
        words, image = np.zeros(addresses.shape, dtype=np.uint32), self.image
        if image is None:
            return words, np.full(addresses.shape, Doubt.NO_IMAGE, dtype=np.int8)
        inside = addresses + UOP_BYTES <= len(image)
        for byte in range(UOP_BYTES):
            found = image[addresses[inside] + byte].astype(np.uint32)
            words[inside] |= found << np.uint32(8 * byte)
        return words, np.where(inside, 0, Doubt.BEYOND_IMAGE).astype(np.int8)


def kernels_of(
    config: HardwareConfig, source: MicroOpSource, loads: Ints, users: Ints
) -> tuple[list[Kernel], Ints]:
    """The micro-ops of `users` (GEMM and ALU) once the LOADs `loads` that are before them are done.

    Compute runs both in program order. Returns kernels, and for each of `users` which of them it
    uses, or minus the `Doubt` why that is not known.
    """
    depth, columns = config.depth(MemoryId.UOP), source.columns
    memory = np.zeros(depth, dtype=np.uint32)
    doubts = np.full(depth, Doubt.UNLOADED, dtype=np.int8)
    before = np.searchsorted(loads, users)
    table = np.stack([before, columns.uop_bgn[users], columns.uop_end[users]], axis=1)
    firsts, groups = group_rows(table)
    known: dict[bytes, int] = {}
    found, done = [], 0
    for due, begin, end in table[firsts].tolist():
        for position in loads[done:due].tolist():
            words, unknown = source.read(position)
            first = int(columns.sram_base[position])
            memory[first : first + len(words)] = words
            doubts[first : first + len(words)] = unknown
        done = due
        doubt = int(doubts[begin:end].max())
        found.append(-doubt or known.setdefault(memory[begin:end].tobytes(), len(known)))
    kernels = [np.frombuffer(kernel, dtype=np.uint32) for kernel in known]
    return kernels, np.array(found, dtype=np.int64)[groups]
