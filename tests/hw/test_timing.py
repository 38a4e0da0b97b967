"""The times of the machine, by hand and as the RTL shows them."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.isa import Assembler, MemoryId
from tandem.hw.memory_model import MemoryModel
from tandem.hw.timing import TRANSFER_OVERHEAD, issue_cycles, pipeline_depth
from tandem.sim.engine import Launch
from tandem.sim.events import EventKind
from tandem.sim.memory import place_program
from tandem.sim.pysim import PysimEngine

BEATS = 5


def test_depth_of_the_pipeline() -> None:
    config = HardwareConfig(log_inp_buffer=11, log_wgt_buffer=14)
    depths = [pipeline_depth(config.replace(log_block_in=log)) for log in range(8)]
    assert depths == [8, 8, 8, 8, 8, 9, 9, 10]


@pytest.mark.parametrize(
    ("ports", "two_reads", "cycles"), [(2, True, 1), (1, False, 1), (1, True, 2)]
)
def test_issue(ports: int, two_reads: bool, cycles: int) -> None:
    config = HardwareConfig(acc_read_ports=ports)
    assert issue_cycles(config, two_reads=two_reads) == cycles


@pytest.mark.parametrize("latency", [1, 20])
def test_a_load_alone_on_the_bus(latency: int) -> None:
    config = load_config("tiny")
    elements = BEATS * config.bus_bytes // config.element_bytes(MemoryId.INP)
    asm = Assembler(config)
    asm.load(MemoryId.INP, sram=0, dram=0, columns=elements)
    asm.finish()
    memory, address = place_program(np.zeros(1 << 12, np.uint8), program := asm.build())
    engine = PysimEngine(config, MemoryModel(latency=latency))
    events = engine.launch(program, memory, Launch(address=address, events=True)).events

    (start, end) = (
        event.cycle
        for kind in (EventKind.START, EventKind.END)
        for event in events
        if event.instruction == 0 and event.kind is kind
    )
    assert start is not None
    assert end is not None
    writes = max(BEATS, elements)
    assert end - start == TRANSFER_OVERHEAD + latency + writes - 1
