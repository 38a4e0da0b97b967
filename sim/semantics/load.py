"""LOAD: copies a rectangle of DRAM, padded with zeros, to consecutive on-chip elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tandem.base.jit import compiled, inlined
from tandem.hw.codings import Coding
from tandem.hw.config import PARAMETER_BYTES
from tandem.hw.isa.columns import (
    CODING,
    ENTRIES_HIGH,
    ENTRIES_LOW,
    MEMORY_TYPE,
    SRAM_BASE,
    UPPER_HALF,
    X_PAD_0,
    X_PAD_1,
    X_SIZE,
    Y_PAD_0,
    Y_PAD_1,
    Y_SIZE,
    InstructionFields,
)
from tandem.hw.topology import MemoryId
from tandem.sim.semantics.chip import LANES, Chip
from tandem.sim.semantics.detail import BUS_READ, NONE, Detail
from tandem.sim.semantics.dram import Dram, row_address, rows_accessible
from tandem.sim.semantics.requantiser import PARAMETER_ROWS, Requantiser
from tandem.sim.semantics.view import view

UOP = int(MemoryId.UOP)
WGT = int(MemoryId.WGT)
INP = int(MemoryId.INP)
ACC = int(MemoryId.ACC)
ACC_8BIT = int(MemoryId.ACC_8BIT)
PAR = int(MemoryId.PAR)
WGT_CODES = int(MemoryId.WGT_CODES)
BITS_1 = int(Coding.BITS_1)
BITS_2 = int(Coding.BITS_2)
BITS_4 = int(Coding.BITS_4)
SHIFT_MASK = 31
"""The bits of a shift in PAR."""


Memories = TypeVar("Memories", Chip, Requantiser)
Put = Callable[[Memories, int, Dram, int], None]
"""A function (memories, index, dram, address) that loads one element."""
Clear = Callable[[Memories, int, int], None]
"""A function (memories, index, count) that clears `count` elements."""


@inlined
def _word(dram: Dram, address: int) -> int:
    """The signed little-endian 32-bit word at `address`, which may be unaligned."""
    low = int(dram.bytes[address]) | int(dram.bytes[address + 1]) << 8
    return low | int(dram.bytes[address + 2]) << 16 | int(dram.signed[address + 3]) << 24


@inlined
def _put_uop(chip: Chip, at: int, dram: Dram, address: int) -> None:
    chip.uop[at] = _word(dram, address) & 0xFFFFFFFF


@compiled
def _clear_uop(chip: Chip, at: int, count: int) -> None:
    chip.uop[at : at + count] = 0


@inlined
def _put_wgt(chip: Chip, at: int, dram: Dram, address: int) -> None:
    step = 2 * LANES
    base = at * chip.row_out * chip.row_in
    for out in range(chip.block_out):
        to = base + out // LANES * LANES * chip.row_in + out % LANES * 2
        start = address + out * chip.block_in
        for pair in range(chip.block_in // 2):
            chip.wgt[to + pair * step] = dram.signed[start + 2 * pair]
            chip.wgt[to + pair * step + 1] = dram.signed[start + 2 * pair + 1]
        if chip.block_in % 2:
            last = chip.pairs - 1
            chip.wgt[to + last * step] = dram.signed[start + 2 * last]


@compiled
def _clear_wgt(chip: Chip, at: int, count: int) -> None:
    size = chip.row_out * chip.row_in
    chip.wgt[at * size : (at + count) * size] = 0


def _put_codes(coding: Coding) -> Put[Chip]:
    """Loads a block of codes, widened."""
    bits, scaled, kind, unscaled = coding.bits, coding.scaled, int(coding), int(Coding.BITS_4)

    def put(chip: Chip, at: int, dram: Dram, address: int) -> None:
        step = 2 * LANES
        base = at * chip.row_out * chip.row_in
        codes = address
        if scaled:
            sizes = chip.element_bytes
            codes += int(sizes[WGT_CODES, kind] - sizes[WGT_CODES, unscaled])
        mask = (1 << bits) - 1
        for out in range(chip.block_out):
            to = base + out // LANES * LANES * chip.row_in + out % LANES * 2
            scale = 1
            if scaled:
                scale = int(dram.bytes[address + out // 2]) >> (out % 2 * 4) & 15
            for channel in range(chip.block_in):
                bit = (out * chip.block_in + channel) * bits
                code = int(dram.bytes[codes + bit // 8]) >> bit % 8 & mask
                value = int(chip.table[code]) * scale & 0xFF
                chip.wgt[to + channel // 2 * step + channel % 2] = (value ^ 0x80) - 0x80

    return inlined(put)


@inlined
def _put_inp(chip: Chip, at: int, dram: Dram, address: int) -> None:
    for b in range(chip.batch):
        start = (at * chip.batch + b) * chip.row_in
        to = view(chip.inp, start, chip.block_in)
        start = address + b * chip.block_in
        source = view(dram.signed, start, chip.block_in)
        for channel in range(len(to)):
            to[channel] = source[channel]


@compiled
def _clear_inp(chip: Chip, at: int, count: int) -> None:
    size = chip.batch * chip.row_in
    chip.inp[at * size : (at + count) * size] = 0


@inlined
def _put_acc(chip: Chip, at: int, dram: Dram, address: int) -> None:
    for b in range(chip.batch):
        to = (at * chip.batch + b) * chip.row_out
        start = address + 4 * b * chip.block_out
        for out in range(chip.block_out):
            chip.acc[to + out] = _word(dram, start + 4 * out)


@inlined
def _put_acc_8bit(chip: Chip, at: int, dram: Dram, address: int) -> None:
    for b in range(chip.batch):
        start = (at * chip.batch + b) * chip.row_out
        to = view(chip.acc, start, chip.block_out)
        start = address + b * chip.block_out
        source = view(dram.signed, start, chip.block_out)
        for out in range(len(to)):
            to[out] = source[out]


@compiled
def _clear_acc(chip: Chip, at: int, count: int) -> None:
    size = chip.batch * chip.row_out
    chip.acc[at * size : (at + count) * size] = 0


@inlined
def _put_par(requantiser: Requantiser, at: int, dram: Dram, address: int) -> None:
    addends = at * PARAMETER_ROWS * requantiser.row_out
    multipliers = addends + requantiser.row_out
    shifts = multipliers + requantiser.row_out
    for out in range(requantiser.block_out):
        start = address + PARAMETER_BYTES * out
        requantiser.par[addends + out] = _word(dram, start)
        high = int(dram.bytes[start + 5]) << 8
        requantiser.par[multipliers + out] = int(dram.bytes[start + 4]) | high
        requantiser.par[shifts + out] = dram.bytes[start + 6] & SHIFT_MASK


@compiled
def _clear_par(requantiser: Requantiser, at: int, count: int) -> None:
    size = PARAMETER_ROWS * requantiser.row_out
    requantiser.par[at * size : (at + count) * size] = 0


def _filling(
    put: Put[Memories], clear: Clear[Memories]
) -> Callable[[Memories, Dram, InstructionFields, int], None]:
    """A compiled LOAD for one memory: `put` loads elements, and `clear` zeroes the padding."""

    def fill(memories: Memories, dram: Dram, row: InstructionFields, size: int) -> None:
        width = row[X_PAD_0] + row[X_SIZE] + row[X_PAD_1]
        at = row[SRAM_BASE]
        clear(memories, at, row[Y_PAD_0] * width)
        at += row[Y_PAD_0] * width
        for y in range(row[Y_SIZE]):
            address = row_address(dram, row, y)
            clear(memories, at, row[X_PAD_0])
            at += row[X_PAD_0]
            for x in range(row[X_SIZE]):
                put(memories, at + x, dram, address + x * size)
            at += row[X_SIZE]
            clear(memories, at, row[X_PAD_1])
            at += row[X_PAD_1]
        clear(memories, at, row[Y_PAD_1] * width)

    return compiled(fill)


_FILL_UOP = _filling(_put_uop, _clear_uop)
_FILL_WGT = _filling(_put_wgt, _clear_wgt)
_FILL_INP = _filling(_put_inp, _clear_inp)
_FILL_ACC = _filling(_put_acc, _clear_acc)
_FILL_ACC_8BIT = _filling(_put_acc_8bit, _clear_acc)
_FILL_PAR = _filling(_put_par, _clear_par)


_FILL_BITS_1, _FILL_BITS_2, _FILL_BITS_4, _FILL_BITS_4_SCALED = (
    _filling(_put_codes(coding), _clear_wgt) for coding in Coding
)


@compiled
def _fill_codes(chip: Chip, dram: Dram, row: InstructionFields, size: int) -> None:
    if row[CODING] == BITS_1:
        _FILL_BITS_1(chip, dram, row, size)
    elif row[CODING] == BITS_2:
        _FILL_BITS_2(chip, dram, row, size)
    elif row[CODING] == BITS_4:
        _FILL_BITS_4(chip, dram, row, size)
    else:
        _FILL_BITS_4_SCALED(chip, dram, row, size)


@compiled
def set_table(chip: Chip, row: InstructionFields) -> None:
    """Execute a TABLE."""
    first = 8 * row[UPPER_HALF]
    for at in range(4):
        low, high = row[ENTRIES_LOW] >> 8 * at & 0xFF, row[ENTRIES_HIGH] >> 8 * at & 0xFF
        chip.table[first + at] = (low ^ 0x80) - 0x80
        chip.table[first + 4 + at] = (high ^ 0x80) - 0x80


@compiled
def load(chip: Chip, dram: Dram, row: InstructionFields, detail: Detail) -> int:
    """Execute a LOAD that obeys the static rules of `hw.isa`. Returns a fault code, or 0."""
    if row[X_SIZE] == 0:
        return NONE
    memory = row[MEMORY_TYPE]
    size = chip.element_bytes[memory, row[CODING]]
    if not rows_accessible(dram, row, size, detail):
        return BUS_READ
    if memory == UOP:
        _FILL_UOP(chip, dram, row, size)
    elif memory == WGT:
        _FILL_WGT(chip, dram, row, size)
    elif memory == INP:
        _FILL_INP(chip, dram, row, size)
    elif memory == ACC:
        _FILL_ACC(chip, dram, row, size)
    elif memory == WGT_CODES:
        _fill_codes(chip, dram, row, size)
    else:
        _FILL_ACC_8BIT(chip, dram, row, size)
    return NONE


@compiled
def load_with_out(
    chip: Chip, requantiser: Requantiser, dram: Dram, row: InstructionFields, detail: Detail
) -> int:
    """`load` on a machine with PAR, and an OUT of its own: that of ACC writes the low bytes."""
    memory = row[MEMORY_TYPE]
    if row[X_SIZE] == 0 or not (memory == PAR or memory == ACC or memory == ACC_8BIT):
        return load(chip, dram, row, detail)
    if memory != PAR:
        fault = load(chip, dram, row, detail)
        if fault == NONE:
            _low_bytes(chip, requantiser, row)
        return fault
    size = chip.element_bytes[memory, row[CODING]]
    if not rows_accessible(dram, row, size, detail):
        return BUS_READ
    _FILL_PAR(requantiser, dram, row, size)
    return NONE


@compiled
def _low_bytes(chip: Chip, requantiser: Requantiser, row: InstructionFields) -> None:
    """OUT behind a LOAD of ACC: the low bytes of all that the LOAD has written."""
    width = row[X_PAD_0] + row[X_SIZE] + row[X_PAD_1]
    height = row[Y_PAD_0] + row[Y_SIZE] + row[Y_PAD_1]
    size = chip.batch * chip.row_out
    source = view(chip.acc, row[SRAM_BASE] * size, height * width * size)
    to = view(requantiser.out, row[SRAM_BASE] * size, height * width * size)
    for k in range(len(to)):
        to[k] = source[k] & 0xFF
