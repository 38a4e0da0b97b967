"""The accesses of each instruction to on-chip memories and to DRAM."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import Opcode
from tandem.hw.hazards.dram_pieces import DramPieces
from tandem.hw.hazards.hazard_report import Unknown
from tandem.hw.hazards.interval_sets import IntervalSets
from tandem.hw.hazards.micro_ops import MicroOpSource, kernels_of
from tandem.hw.hazards.operands import operand_elements_of
from tandem.hw.isa.columns import Columns, Ints
from tandem.hw.isa.rules import sram_elements
from tandem.hw.routing import executing_unit
from tandem.hw.topology import MemoryId, Unit


@dataclass(frozen=True, slots=True)
class Access:
    """A kind of access: a unit that writes or reads a memory (None: DRAM)."""

    memory: MemoryId | None
    unit: Unit
    writes: bool


_PAIRS = (
    (MemoryId.INP, Unit.LOAD, Unit.COMPUTE),
    (MemoryId.WGT, Unit.LOAD, Unit.COMPUTE),
    (MemoryId.PAR, Unit.LOAD, Unit.COMPUTE),
    (MemoryId.ACC, Unit.COMPUTE, Unit.STORE),
    (None, Unit.STORE, Unit.LOAD),
    (None, Unit.STORE, Unit.COMPUTE),
)
"""(memory, writer, reader): the pairs of units whose accesses of a memory can conflict. A write of
ACC is a write of OUT, and a STORE reads OUT: both count as ACC."""

ACCESSES = tuple(
    dict.fromkeys(
        access
        for memory, writer, reader in _PAIRS
        for access in (Access(memory, writer, True), Access(memory, reader, False))
    )
)
"""Every kind of access that can conflict; each kind has a table of last accesses."""


_SLOTS = 4
"""The largest number of accesses of an instruction."""


def _kind(memory: MemoryId | None, unit: Unit, writes: bool) -> int:
    return ACCESSES.index(Access(memory, unit, writes))


_NONE = -1


def _move(memory: MemoryId) -> tuple[int, int]:
    """The kinds of access of a STORE (of OUT) or LOAD (of any other memory) to DRAM and on chip."""
    stores = memory is MemoryId.OUT
    unit = executing_unit(Opcode.STORE if stores else Opcode.LOAD, memory)
    on_chip = Access(memory.read if stores else memory.written, unit, not stores)
    # UOP has no kind of access: only compute accesses it.
    kind = ACCESSES.index(on_chip) if on_chip in ACCESSES else _NONE
    return _kind(None, unit, stores), kind


_MOVES = np.array([_move(memory) for memory in MemoryId])
"""By `MemoryId`, the kinds of access of a LOAD or STORE to DRAM and to the memory."""
_COMPUTES = np.array(
    [
        _kind(MemoryId.ACC, Unit.COMPUTE, True),
        _kind(MemoryId.INP, Unit.COMPUTE, False),
        _kind(MemoryId.WGT, Unit.COMPUTE, False),
        _kind(MemoryId.PAR, Unit.COMPUTE, False),
    ]
)
"""The kinds of access of GEMM and ALU to the first four of `OPERANDS`. Reads of ACC, the last
operand, conflict with nothing, for only compute writes ACC."""


@dataclass(frozen=True, slots=True)
class Accesses:
    """The accesses of all instructions, as [instruction, slot]; slots are compared in order.

    Attributes
    ----------
    kinds
        Indices into `ACCESSES`.
    which
        Numbers of sets of locations in `sets`; -1 for no access.
    unknown
        Instructions whose on-chip accesses are not known, by reason.
    """

    kinds: Ints
    which: Ints
    sets: IntervalSets
    unknown: dict[Unknown, Ints]


def accesses_of(
    config: HardwareConfig,
    columns: Columns,
    sequence: Ints,
    pieces: DramPieces,
    uop_base: int,
    image: npt.NDArray[np.uint8] | None,
) -> Accesses:
    """The accesses of the instructions `sequence`, in execution order, of a legal program.

    `uop_base` is the base register of micro-ops, in bytes, and `image` memory at launch.
    """
    count = len(columns.opcode)
    kinds, which = (np.full((count, _SLOTS), -1, dtype=np.int64) for _ in range(2))
    started = np.zeros(count, dtype=np.bool_)
    started[sequence] = True
    moves = np.flatnonzero(started & (columns.x_size > 0))
    memory = columns.memory_type[moves]
    kinds[moves, :2] = _MOVES[memory]
    which[moves, 0] = pieces.which[moves]
    which[moves, 1] = len(pieces.sets) + np.arange(len(moves))
    first = columns.sram_base[moves]
    ones = np.ones(len(moves), dtype=np.int64)
    chip = IntervalSets.of(ones, first, first + sram_elements(columns)[moves])

    loads = moves[memory == MemoryId.UOP]
    stored = _loads_of_stored(columns, sequence, pieces, loads)
    source = MicroOpSource(columns, uop_base, image, stored)
    computes = (columns.opcode == Opcode.GEMM) | (columns.opcode == Opcode.ALU)
    users = np.flatnonzero(started & computes)
    kernels, kernel = kernels_of(config, source, loads, users)
    unknown = {reason: users[kernel == -reason] for reason in Unknown}
    users, kernel = users[kernel >= 0], kernel[kernel >= 0]
    reached = operand_elements_of(config, columns, users, kernels, kernel)
    empty = np.append(np.diff(reached.sets.start) == 0, False)  # the last for unused operands
    beyond = empty[reached.which].any(axis=1)
    unknown[Unknown.BEYOND_MEMORY] = users[beyond]
    inside = reached.which[~beyond, :_SLOTS]
    kinds[users[~beyond]] = _COMPUTES
    which[users[~beyond]] = np.where(inside < 0, -1, len(pieces.sets) + len(chip) + inside)
    which[kinds < 0] = -1
    return Accesses(kinds, which, IntervalSets.joined([pieces.sets, chip, reached.sets]), unknown)


def _loads_of_stored(
    columns: Columns, sequence: Ints, pieces: DramPieces, loads: Ints
) -> frozenset[int]:
    """The LOADs among `loads` that read a byte which an earlier STORE in `sequence` writes."""
    candidates = loads[pieces.which[loads] >= 0]
    if not len(candidates):
        return frozenset()
    is_load = np.zeros(len(columns.opcode), dtype=np.bool_)
    is_load[candidates] = True
    is_store = (columns.opcode == Opcode.STORE) & (pieces.which >= 0)
    written = np.zeros(len(pieces.cuts), dtype=np.bool_)
    found = set()
    for position in sequence[(is_load | is_store)[sequence]].tolist():
        for begin, end in pieces.sets.runs(int(pieces.which[position])):
            if is_store[position]:
                written[begin:end] = True
            elif written[begin:end].any():
                found.add(position)
    return frozenset(found)
