"""The store unit's time: what a beat costs, by memory's interval."""

from __future__ import annotations

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.isa import Assembler, MemoryId, Unit
from tandem.hw.memory_model import MemoryModel
from tandem.sim.cycle.engine import CycleEngine
from tests.support.sim.launching import launch

TINY = load_config("tiny")
BURST = TINY.longest_burst
ELEMENTS = BURST * TINY.bus_bytes // TINY.element_bytes(MemoryId.OUT)
"""Elements of OUT in a burst."""


def cycles(bursts: int, interval: int, latency: int = 8) -> int:
    """The cycles of a program with one STORE, of so many whole bursts one after the other."""
    asm = Assembler(TINY)
    columns = bursts * ELEMENTS
    asm.store(sram=0, dram=0x1000, columns=columns, signals=Unit.COMPUTE)
    asm.nop(Unit.COMPUTE, waits_for=Unit.STORE)
    asm.finish()
    found, _ = launch(CycleEngine(TINY, MemoryModel(latency, interval, 16)), asm.build())
    assert found.cycles is not None
    return found.cycles


@pytest.mark.parametrize("interval", [2, 3, 8])
def test_memory_takes_a_beat_each_interval(interval: int) -> None:
    """The program is fetched alike, so that only the STORE's own beats are the difference."""
    assert cycles(2, interval) - cycles(1, interval) == BURST * interval


@pytest.mark.parametrize("interval", [1, 4])
def test_the_last_acknowledgement_comes_after_the_latency(interval: int) -> None:
    short, long = (cycles(2, interval, latency) for latency in (64, 264))
    # Once for the instructions, which are fetched, and once for the acknowledgement.
    assert long - short == 2 * 200
