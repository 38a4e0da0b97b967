"""Bytes of DRAM that machines hold on chip."""

from __future__ import annotations

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.timing import OUT_QUEUE_BEATS
from tandem.hw.topology import MemoryId
from tandem.workbench.network_bound.on_chip import OnChipBytes

# Memories of 2 KiB, 4 KiB and 8 KiB; 32-bit results of one byte each in OUT: 2 KiB.
CONFIG = HardwareConfig(
    log_inp_buffer=11, log_wgt_buffer=12, log_acc_buffer=13, load_buffer=64, compute_buffer=128
)


def test_memories_and_buffers() -> None:
    found = OnChipBytes.of(CONFIG)
    bus = CONFIG.bus_bytes
    assert found.operands == {MemoryId.WGT: 4096, MemoryId.INP: 2048, MemoryId.PAR: 0}
    assert found.results == 2048 + OUT_QUEUE_BEATS * bus
    assert found.buffered == 64 * bus
    memories = 2048 + 4096 + 8192 + 2048
    assert found.everything == memories + OUT_QUEUE_BEATS * bus + 64 * bus + 128 * bus


def test_parameters_and_codes() -> None:
    plain = OnChipBytes.of(load_config("pynq"))
    config = load_config("pynq-x")
    found = OnChipBytes.of(config)
    parameters = config.depth(MemoryId.PAR) * config.block_out * 8
    assert found.operands[MemoryId.PAR] == parameters > 0
    assert found.operands[MemoryId.INP] == plain.operands[MemoryId.INP]
    # Codes are fewer bytes than the block: int8 is the most that is held.
    compressed = OnChipBytes.of(load_config("pynq-w"))
    assert compressed.operands[MemoryId.WGT] == plain.operands[MemoryId.WGT]
