"""One walk over a program in an order of execution: what each instruction touches, and with whom it
conflicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hw.config import HardwareConfig
from hw.encoding import UOP_BYTES, Opcode
from hw.isa.columns import Columns
from hw.isa.hazards.accesses import Accesses, Conflict
from hw.isa.hazards.dram import DramPieces, Rectangles
from hw.isa.hazards.micro_ops import MicroOps, Places
from hw.isa.hazards.order import Order
from hw.isa.hazards.report import Doubt
from hw.isa.rules import sram_elements
from hw.memories import MemoryId, Module

__all__ = ["Walk"]

_Touch = tuple[MemoryId | None, Places, bool]
"""A memory (None: DRAM), places in it, and whether they are written."""


class Walk:
    """Takes a legal program's instructions, in an order of execution.

    Attributes
    ----------
    doubts
        So far, the instructions of which the on-chip accesses are not known.
    """

    def __init__(
        self,
        config: HardwareConfig,
        columns: Columns,
        order: Order,
        rectangles: Rectangles,
        bases: Sequence[int],
        image: npt.NDArray[np.uint8] | None,
    ) -> None:
        self.doubts: defaultdict[Doubt, list[int]] = defaultdict(list)
        self._config = config
        self._columns = columns
        self._uop_base = bases[MemoryId.UOP]
        self._image = image
        self._pieces = DramPieces(rectangles)
        self._accesses = Accesses(config, order, len(self._pieces))
        self._micro_ops = MicroOps(config)
        self._opcode = columns.opcode.tolist()
        self._memory = columns.memory_type.tolist()
        self._sram = columns.sram_base.tolist()
        self._elements = sram_elements(columns).tolist()

    def step(self, position: int, module: Module) -> list[Conflict]:
        """The conflicts of the next instruction with those before it."""
        touched: list[_Touch] = []
        if self._opcode[position] in (Opcode.GEMM, Opcode.ALU):
            touched = self._loops(position)
        elif self._elements[position]:
            touched = self._rectangle(position)
        return [
            conflict
            for memory, places, writes in touched
            for conflict in self._accesses.add(position, module, memory, places, writes=writes)
        ]

    def address(self, conflict: Conflict) -> int:
        """The element, or the physical byte, of a conflict."""
        if conflict.memory is not None:
            return conflict.place
        return self._pieces.address(conflict.place)

    # LOAD and STORE ---------------------------------------------------------------------

    def _rectangle(self, position: int) -> list[_Touch]:
        first = self._sram[position]
        chip = slice(first, first + self._elements[position])
        pieces = self._pieces.places(position)
        store = self._opcode[position] == Opcode.STORE
        touched: list[_Touch] = [] if pieces is None else [(None, pieces, store)]
        match MemoryId(self._memory[position]):
            case MemoryId.UOP:
                self._load_micro_ops(position, pieces)
            case MemoryId.INP | MemoryId.WGT as memory:
                touched.append((memory, chip, True))
            case MemoryId.ACC | MemoryId.ACC_8BIT | MemoryId.OUT:
                touched.append((MemoryId.ACC, chip, not store))
        return touched

    def _load_micro_ops(self, position: int, pieces: Places | None) -> None:
        columns = self._columns
        rows, width = int(columns.y_size[position]), int(columns.x_size[position])
        elements = (
            int(columns.dram_base[position])
            + np.arange(rows)[:, np.newaxis] * int(columns.x_stride[position])
            + np.arange(width)
        )
        words, doubts = self._read(self._uop_base + elements * UOP_BYTES)
        if pieces is not None and self._accesses.was_stored(pieces):
            doubts[:] = Doubt.STORED
        pads = (
            (int(columns.y_pad_0[position]), int(columns.y_pad_1[position])),
            (int(columns.x_pad_0[position]), int(columns.x_pad_1[position])),
        )
        first = self._sram[position]
        self._micro_ops.put(first, np.pad(words, pads).ravel(), np.pad(doubts, pads).ravel())

    def _read(
        self, addresses: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int8]]:
        """The words at byte `addresses` as memory was at launch, and the doubt about each."""
        image = self._image
        if image is None:
            doubts = np.full(addresses.shape, Doubt.NO_IMAGE, dtype=np.int8)
            return np.zeros(addresses.shape, dtype=np.uint32), doubts
        inside = addresses + UOP_BYTES <= len(image)
        doubts = np.where(inside, 0, Doubt.BEYOND_IMAGE).astype(np.int8)
        words = np.zeros(addresses.shape, dtype=np.uint32)
        for byte in range(UOP_BYTES):
            words[inside] |= image[addresses[inside] + byte].astype(np.uint32) << np.uint32(
                8 * byte
            )
        return words, doubts

    # GEMM and ALU -----------------------------------------------------------------------

    def _loops(self, position: int) -> list[_Touch]:
        columns = self._columns
        kernel = self._micro_ops.kernel(
            int(columns.uop_bgn[position]), int(columns.uop_end[position])
        )
        if isinstance(kernel, Doubt):
            self.doubts[kernel].append(position)
            return []
        touched: list[_Touch] = []
        for field, memory, writes in self._operands(position):
            loops = (
                int(columns.iter_out[position]),
                int(getattr(columns, f"{field}_factor_out")[position]),
                int(columns.iter_in[position]),
                int(getattr(columns, f"{field}_factor_in")[position]),
            )
            places = self._micro_ops.reach(kernel, field, loops, self._config.depth(memory))
            if places is None:
                self.doubts[Doubt.BEYOND_MEMORY].append(position)
                return []
            # Compute alone writes ACC, so that its reads of it meet no other module's writes.
            if writes or memory is not MemoryId.ACC:
                touched.append((memory, places, writes))
        return touched

    def _operands(self, position: int) -> tuple[tuple[str, MemoryId, bool], ...]:
        """The fields in use, the memory that each points into, and whether that is written."""
        columns = self._columns
        if self._opcode[position] == Opcode.GEMM:
            return _RESET if columns.reset_reg[position] else _MULTIPLY
        return _IMMEDIATE if columns.use_imm[position] else _TENSOR


_RESET = (("dst", MemoryId.ACC, True),)
_MULTIPLY = (*_RESET, ("src", MemoryId.INP, False), ("wgt", MemoryId.WGT, False))
_IMMEDIATE = _RESET
_TENSOR = (*_RESET, ("src", MemoryId.ACC, False))
