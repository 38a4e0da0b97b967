"""Runs of the cycle engine at launch, for tests of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import MemoryId, Program
from tandem.hw.memory_model import MemoryModel
from tandem.hw.topology import BASE_REGISTERS
from tandem.sim.cycle.machine import Machine, make_machine
from tandem.sim.cycle.prepare import make_run, prepare
from tandem.sim.cycle.reads import Reads, make_reads
from tandem.sim.cycle.state import Run
from tandem.sim.cycle.stores import Stores, make_stores
from tandem.sim.engine import Silence

MEMORY = MemoryModel(latency=8, interval=1, in_flight=16)


class Parts(NamedTuple):
    """What the parts of the cycle engine work on."""

    machine: Machine
    run: Run
    reads: Reads
    stores: Stores


def parts_of(
    config: HardwareConfig,
    program: Program,
    memory: MemoryModel = MEMORY,
    *,
    address: int = 0,
    bases: Sequence[int] = (0,) * BASE_REGISTERS,
    image: int = 4096,
    refused: Sequence[tuple[int, int]] = (),
    silence: Silence | None = None,
    log: bool = False,
) -> Parts:
    """A program at launch, on so many bytes of memory, all of them 0."""
    machine = make_machine(config, memory)
    uops = np.zeros(config.depth(MemoryId.UOP), np.int64)
    prepared = prepare(config, program.columns())
    bytes_of = np.zeros(image, np.uint8)
    run = make_run(prepared, address, bases, bytes_of, uops, refused, silence, log=log)
    return Parts(machine, run, make_reads(machine), make_stores(machine))
