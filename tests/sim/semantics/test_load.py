"""LOADs and TABLEs whose results are worked out by hand; random ones: `test_copies`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tandem.hw.codings import Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.features import Feature
from tandem.hw.isa import MemoryId, Table
from tandem.hw.topology import BASE_REGISTERS
from tandem.sim.semantics.chip import LANES, Chip, make_chip
from tandem.sim.semantics.detail import BUS_READ, NONE, make_detail
from tandem.sim.semantics.dram import make_dram
from tandem.sim.semantics.load import load, load_with_out, set_table
from tandem.sim.semantics.requantiser import Requantiser, make_requantiser
from tests.support.sim.rows import load_row, row_of

TINY = load_config("tiny").replace(name="roomy", log_wgt_buffer=10, log_acc_buffer=11)
"""4 inputs, 4 outputs, one row."""
SCALAR = TINY.replace(name="scalar", log_block_in=0, log_block_out=5, log_batch=1)
"""1 input, 32 outputs, two rows."""
PACKED = load_config("tiny-w")
"""`TINY` with PAR and compressed weights."""
Bytes = npt.NDArray[np.uint8]


def loaded(
    config: HardwareConfig, memory: MemoryId, image: Bytes, *, start: int = 0, **fields: Any
) -> Chip:
    """Memories, full of `start`, after a LOAD without OUT and PAR."""
    chip = make_chip(config)
    for array in (chip.uop, chip.wgt, chip.inp, chip.acc):
        array[:] = start
    dram = make_dram(image, (0,) * BASE_REGISTERS, (), config)
    assert load(chip, dram, load_row(config, memory, **fields), make_detail()) == NONE
    return chip


def numbers(count: int) -> Bytes:
    return np.arange(count, dtype=np.uint8)


def test_micro_ops_are_words_without_sign() -> None:
    image = np.array([1, 2, 3, 4, 0xFF, 0, 0, 0x80], np.uint8)
    chip = loaded(TINY, MemoryId.UOP, image, start=7, sram_base=3, x_size=2)
    assert chip.uop[2:6].tolist() == [7, 0x04030201, 0x800000FF, 7]


def test_weights_lie_by_pairs_of_inputs() -> None:
    image = np.array([*range(100, 116), *range(250, 256), *range(10)], np.uint8)
    chip = loaded(TINY, MemoryId.WGT, image, start=55, sram_base=1, x_size=2)
    assert (chip.wgt[: 4 * LANES] == 55).all()
    assert (chip.wgt[3 * 4 * LANES :] == 55).all()
    found = chip.wgt[4 * LANES : 3 * 4 * LANES].reshape(2, 2, LANES, 2)
    # [element, pair, output, half] against [element, output, input].
    expected = image.view(np.int8).reshape(2, 4, 2, 2).transpose(0, 2, 1, 3)
    assert (found[:, :, :4] == expected).all()
    assert (found[:, :, 4:] == 55).all()


def test_of_one_input_the_other_half_of_the_pair_stays() -> None:
    chip = loaded(SCALAR, MemoryId.WGT, numbers(32), start=55)
    assert chip.wgt[:64].tolist() == [each for out in range(32) for each in (out, 55)]
    assert (chip.wgt[64:] == 55).all()


def test_inputs_and_accumulators_of_two_rows() -> None:
    signed = np.array([5, 0x80, 0xFF], np.uint8)
    chip = loaded(SCALAR, MemoryId.INP, np.concatenate([signed, signed]), start=9, x_size=3)
    # Rows of two entries, of which the second is padding.
    assert chip.inp[:14].tolist() == [5, 9, -128, 9, -1, 9, 5, 9, -128, 9, -1, 9, 9, 9]
    words = np.arange(-64, 64, dtype="<i4") * 20_000_003
    chip = loaded(SCALAR, MemoryId.ACC, words.view(np.uint8), start=9, sram_base=1, x_size=2)
    assert chip.acc[:64].tolist() == [9] * 64
    assert chip.acc[64:192].tolist() == words.tolist()
    assert (chip.acc[192:] == 9).all()


def test_accumulators_of_bytes_are_signed() -> None:
    chip = loaded(TINY, MemoryId.ACC_8BIT, np.array([1, 127, 128, 255], np.uint8), start=9)
    assert chip.acc[:16].tolist() == [1, 127, -128, -1, *[9] * 12]
    wide = loaded(SCALAR, MemoryId.ACC_8BIT, numbers(64), sram_base=1)
    assert wide.acc[:64].any() == 0
    assert wide.acc[64:128].tolist() == list(range(64))


def test_padding_lies_around_the_rows_and_nothing_else_is_written() -> None:
    image = numbers(64)
    places = {"dram_base": 1, "y_size": 2, "x_size": 2, "x_stride": 5, "sram_base": 4}
    pads = {"y_pad_0": 1, "y_pad_1": 2, "x_pad_0": 2, "x_pad_1": 1}
    chip = loaded(TINY, MemoryId.INP, image, start=99, **places, **pads)
    first = chip.inp.reshape(-1, 4)[:, 0].tolist()
    # Rows of 2 + 2 + 1: one of zeros, elements 1 and 2, elements 6 and 7, two of zeros.
    expected = [*[0] * 5, 0, 0, 4, 8, 0, 0, 0, 24, 28, 0, *[0] * 10]
    assert first == [99] * 4 + expected + [99] * (len(first) - 29)
    alike = loaded(TINY, MemoryId.WGT, np.full(256, 3, np.uint8), start=9, sram_base=1, **pads)
    # 4 x 4 elements; what is beyond the 4 outputs of the one that is read stays.
    assert [int(np.count_nonzero(alike.wgt == each)) for each in (0, 3)] == [15 * 64, 16]
    assert set(alike.wgt[:64].tolist()) == {9} == set(alike.wgt[17 * 64 :].tolist())
    words = loaded(TINY, MemoryId.UOP, np.full(8, 1, np.uint8), start=9, sram_base=1, **pads)
    assert words.uop[:18].tolist() == [9, *[0] * 6, 0x01010101, *[0] * 9, 9]
    results = loaded(TINY, MemoryId.ACC, np.full(16, 1, np.uint8), start=9, sram_base=1, **pads)
    assert results.acc.reshape(-1, 16)[:18, 0].tolist() == [9, *[0] * 6, 0x01010101, *[0] * 9, 9]


def memories(config: HardwareConfig) -> tuple[Chip, Requantiser]:
    """Memories of which ACC, OUT and PAR are not zero, and a table."""
    chip = make_chip(config)
    requantiser = make_requantiser(config, chip)
    assert requantiser is not None
    chip.acc[:], requantiser.out[:], requantiser.par[:] = -7, 77, 7
    chip.table[:] = [-3, 5, -128, 127, *range(40, 52)]
    return chip, requantiser


def with_out(
    config: HardwareConfig, memory: MemoryId, image: Bytes, **fields: Any
) -> tuple[Chip, Requantiser]:
    chip, requantiser = memories(config)
    dram = make_dram(image, (0,) * BASE_REGISTERS, (), config)
    row = load_row(config, memory, **fields)
    assert load_with_out(chip, requantiser, dram, row, make_detail()) == NONE
    return chip, requantiser


@pytest.mark.parametrize("coding", Coding)
def test_codes_are_widened(coding: Coding) -> None:
    """Codes of a block of 16 weights from the lowest bit up; scales are in a beat before them."""
    codes = [0, 1, 3, 2, 1, 1, 0, 3, 2, 0, 1, 2, 3, 3, 0, 1]
    if coding is Coding.BITS_1:
        codes = [code % 2 for code in codes]
    packed = sum(code << coding.bits * at for at, code in enumerate(codes))
    scales = [1, 3, 15, 0] if coding.scaled else [1] * 4
    image = np.frombuffer(packed.to_bytes(8, "little") + bytes(8), np.uint8).copy()
    if coding.scaled:
        image = np.concatenate([np.array([0x31, 0x0F, *[0xEE] * 6], np.uint8), image])
    chip, _ = with_out(PACKED, MemoryId.WGT_CODES, image, coding=coding, sram_base=2)
    table = np.array([-3, 5, -128, 127], np.int64)
    values = table[codes].reshape(4, 4) * np.array(scales)[:, None]
    expected = (values & 0xFF).astype(np.uint8).view(np.int8)
    found = chip.wgt[2 * 64 : 3 * 64].reshape(2, LANES, 2)[:, :4]
    assert found.transpose(1, 0, 2).reshape(4, 4).tolist() == expected.tolist()
    assert not chip.wgt[: 2 * 64].any()
    assert not chip.wgt[3 * 64 :].any()


def test_codes_of_more_outputs_than_lanes() -> None:
    """1 input and 32 outputs: a bit of each, behind 16 bytes of scales if there are some."""
    config = SCALAR.replace(name="packed", features=frozenset({Feature.COMPRESSED_WEIGHTS}))
    chip = make_chip(config)
    chip.table[:16] = range(16)
    image = np.array([0x21] * 16 + [0x43] * 16, np.uint8)
    dram = make_dram(image, (0,) * BASE_REGISTERS, (), config)
    row = load_row(config, MemoryId.WGT_CODES, coding=Coding.BITS_4_SCALED)
    assert load(chip, dram, row, make_detail()) == NONE
    # Entry 3 times 1 and entry 4 times 2, one after the other.
    assert chip.wgt[:64].tolist() == [3, 0, 8, 0] * 16


def test_parameters() -> None:
    addend, multiplier = -2, 0xFEDC
    channel = [*addend.to_bytes(4, "little", signed=True), 0xDC, 0xFE, 0xFF, 0xEE]
    image = np.array(channel + [1, 0, 0, 0, 2, 0, 3, 0] * 3, np.uint8)
    fields = {"sram_base": 1, "x_pad_0": 1, "x_pad_1": 1}
    chip, requantiser = with_out(PACKED, MemoryId.PAR, image, **fields)
    par = requantiser.par.reshape(-1, 3, 16)
    # Seven bits of the shift's byte and the last byte have no meaning.
    assert par[2, :, 0].tolist() == [addend, multiplier, 31]
    assert par[2, :, 1:4].tolist() == [[1] * 3, [2] * 3, [3] * 3]
    assert (par[2, :, 4:] == 7).all()
    assert not par[[1, 3]].any()
    assert (par[[0, 4]] == 7).all()
    assert (requantiser.out == 77).all()
    assert (chip.acc == -7).all()


@pytest.mark.parametrize("memory", [MemoryId.ACC, MemoryId.ACC_8BIT])
def test_out_gets_the_low_bytes_of_what_a_load_of_accumulators_writes(memory: MemoryId) -> None:
    wide = np.array([[-1, 256 + 3, 511, -(1 << 31)], [1, 2, 3, 4]], "<i4")
    image = wide.view(np.uint8).ravel() if memory is MemoryId.ACC else numbers(8)
    fields = {"sram_base": 2, "x_size": 2, "x_pad_1": 1, "y_pad_0": 1, "y_pad_1": 1, "x_pad_0": 2}
    chip, requantiser = with_out(PACKED, memory, image, **fields)
    out = requantiser.out.reshape(-1, 16)[:, :4]
    last = 2 + 3 * 5
    assert (out[2:last] == (chip.acc.reshape(-1, 16)[2:last, :4] & 0xFF)).all()
    middle = (
        [[255, 3, 255, 0], [1, 2, 3, 4]] if memory is MemoryId.ACC else [[0, 1, 2, 3], [4, 5, 6, 7]]
    )
    assert out[9:11].tolist() == middle
    assert (out[[*range(2, 9), *range(11, last)]] == 0).all()
    assert (out[:2] == 77).all()
    assert (out[last:] == 77).all()
    # What else a LOAD writes is no result.
    for other in (MemoryId.INP, MemoryId.WGT, MemoryId.UOP):
        assert (with_out(PACKED, other, numbers(64))[1].out == 77).all()


@pytest.mark.parametrize("memory", [MemoryId.INP, MemoryId.ACC, MemoryId.PAR])
def test_a_load_that_memory_refuses_writes_nothing(memory: MemoryId) -> None:
    chip, requantiser = memories(PACKED)
    size = PACKED.element_bytes(memory)
    dram = make_dram(numbers(2 * size), (0,) * BASE_REGISTERS, (), PACKED)
    row = load_row(PACKED, memory, x_size=3)
    assert load_with_out(chip, requantiser, dram, row, make_detail()) == BUS_READ
    assert not chip.inp.any()
    assert (chip.acc == -7).all()
    assert (requantiser.out == 77).all()
    assert (requantiser.par == 7).all()
    # Of no elements nothing is read, nor is padding written.
    empty = load_row(PACKED, memory, x_size=0, dram_base=100, y_pad_0=1, x_pad_0=1)
    assert load_with_out(chip, requantiser, dram, empty, make_detail()) == NONE
    assert load(chip, dram, empty, make_detail()) == NONE
    assert (chip.acc == -7).all()
    assert (requantiser.par == 7).all()


def test_halves_of_the_table() -> None:
    chip = make_chip(PACKED)
    set_table(chip, row_of(PACKED, Table(entries_low=0x807F0201, entries_high=0xFF050403)))
    assert chip.table.tolist() == [1, 2, 127, -128, 3, 4, 5, -1, *[0] * 8]
    set_table(chip, row_of(PACKED, Table(upper_half=True, entries_low=9, entries_high=1 << 31)))
    assert chip.table[8:].tolist() == [9, *[0] * 6, -128]
    assert chip.table[:8].tolist() == [1, 2, 127, -128, 3, 4, 5, -1]
