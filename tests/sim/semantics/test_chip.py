"""Sizes of on-chip memories, by hand, and what main memory has beside its bytes."""

from __future__ import annotations

import numpy as np

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.topology import BASE_REGISTERS, MemoryId
from tandem.sim.semantics.chip import make_chip
from tandem.sim.semantics.dram import make_dram

CONFIG = HardwareConfig()
TINY = load_config("tiny")
"""Blocks of 4 inputs and 4 outputs."""


def test_rows_are_rounded_up_to_vectors() -> None:
    chip = make_chip(CONFIG)
    depth = {memory: CONFIG.depth(memory) for memory in MemoryId}
    assert (chip.batch, chip.block_in, chip.block_out) == (1, 16, 16)
    assert (chip.pairs, chip.row_in, chip.row_out) == (8, 16, 16)
    assert len(chip.uop) == depth[MemoryId.UOP]
    assert len(chip.inp) == depth[MemoryId.INP] * 16
    assert len(chip.acc) == depth[MemoryId.ACC] * 16
    assert len(chip.wgt) == depth[MemoryId.WGT] * 16 * 16
    assert (chip.inp_depth, chip.wgt_depth, chip.acc_depth) == (
        *(depth[MemoryId.INP], depth[MemoryId.WGT], depth[MemoryId.ACC]),
    )
    narrow = make_chip(TINY.replace(log_block_in=0, log_block_out=5, log_batch=1))
    assert (narrow.batch, narrow.block_in, narrow.block_out) == (2, 1, 32)
    assert (narrow.pairs, narrow.row_in, narrow.row_out) == (1, 2, 32)
    assert len(narrow.acc) == narrow.acc_depth * 2 * 32
    assert len(narrow.inp) == narrow.inp_depth * 2 * 2
    assert len(narrow.wgt) == narrow.wgt_depth * 32 * 2
    few = make_chip(TINY)
    assert (few.batch, few.pairs, few.row_in, few.row_out) == (1, 2, 4, 16)


def test_memories_are_zero_and_begin_at_a_cache_line() -> None:
    chip = make_chip(CONFIG)
    kinds = {"uop": np.uint32, "wgt": np.int8, "inp": np.int16, "acc": np.int32}
    for name, dtype in kinds.items():
        array = getattr(chip, name)
        assert array.dtype == dtype
        assert array.ctypes.data % 64 == 0
        assert not array.any()
    assert chip.table.dtype == np.int8
    assert chip.table.shape == (16,)


def test_main_memory() -> None:
    memory = np.array([0, 127, 128, 255], np.uint8)
    registers = [256 * number for number in range(BASE_REGISTERS)]
    dram = make_dram(memory, registers, [(0, 4), (1 << 63, 1 << 70)], CONFIG)
    # It is the array itself.
    memory[0] = 200
    assert dram.bytes.tolist() == [200, 127, 128, 255]
    assert dram.signed.tolist() == [-56, 127, -128, -1]
    assert dram.refused.tolist() == [[0, 4], [1 << 62, 1 << 62]]
    assert make_dram(memory, registers, [], CONFIG).refused.shape == (0, 2)
    # Codes of weights have the base register of weights.
    assert dram.bases.tolist()[:7] == registers[:7]
    assert dram.bases[MemoryId.WGT_CODES] == registers[MemoryId.WGT]
    assert dram.units[MemoryId.INP] == CONFIG.element_bytes(MemoryId.INP)
    assert dram.mask == (1 << CONFIG.address_bits) - 1
