"""Durations of instructions, by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost, MemoryTiming
from tandem.hw.codings import Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature
from tandem.hw.timing import TRANSFER_OVERHEAD, issue_cycles
from tandem.hw.topology import MemoryId

INP, WGT, ACC, OUT = MemoryId.INP, MemoryId.WGT, MemoryId.ACC, MemoryId.OUT
# Elements of INP and OUT have 16 bytes, of ACC 64; beats have 8.
CONFIG = HardwareConfig()
COST = MachineCost(CONFIG, MemoryTiming(latency=20, interval=3))
OVERHEAD = 20 + 2 * TRANSFER_OVERHEAD


def test_beats() -> None:
    assert CONFIG.bus_bytes == 8
    assert COST.beats(INP, 5) == 3 * 10
    assert COST.beats(ACC, 1) == 3 * 8
    wide = MachineCost(CONFIG.replace(bus_bits=256), MemoryTiming(interval=3))
    # A half of a beat of 32 bytes is one.
    assert [wide.beats(INP, count) for count in (0, 1, 2, 3)] == [0, 3, 3, 6]
    assert wide.beats(INP, np.array([1, 4])).tolist() == [3, 6]


def test_overheads() -> None:
    assert COST.overhead == OVERHEAD
    assert COST.store_gap == 2 * TRANSFER_OVERHEAD
    # An instruction has 16 bytes.
    assert COST.fetch == 2 * 3
    assert MachineCost(CONFIG.replace(bus_bits=128)).fetch == 1
    assert MachineCost(CONFIG.replace(bus_bits=256)).fetch == 1


def test_loads() -> None:
    assert COST.load(INP, np.array([0, 5])).tolist() == [OVERHEAD, OVERHEAD + 30]
    assert COST.load(INP, np.array([5]), 7).tolist() == [OVERHEAD + 37]
    # No more than an element in a cycle is written.
    wide = MachineCost(CONFIG.replace(bus_bits=512), MemoryTiming(20, 1))
    assert wide.load(INP, np.array([40])).tolist() == [OVERHEAD + 40]


def test_codes_of_weights() -> None:
    plain = CONFIG.element_bytes(WGT)
    assert COST.element_bytes(WGT) == plain == 256
    four = COST.of(SimpleNamespace(coding=Coding.BITS_4))
    assert four.coding is Coding.BITS_4
    assert four.element_bytes(WGT) == 128
    assert four.element_bytes(INP) == COST.element_bytes(INP)
    assert four.of(SimpleNamespace(coding=Coding.BITS_4)) is four
    assert COST.of(SimpleNamespace()) is COST
    assert four.of(SimpleNamespace(coding=None)) == COST


def test_passes() -> None:
    for operand in (False, True):
        cycles = issue_cycles(CONFIG, two_reads=operand)
        assert COST.alu(7, tensor_operand=operand) == 7 * cycles
    assert not COST.overwrites
    assert MachineCost(CONFIG.replace(features=frozenset({Feature.OVERWRITE}))).overwrites
