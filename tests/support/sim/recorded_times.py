"""Times that the RTL took for random programs, and the same from the model of the cycle engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from zlib import crc32

import numpy as np

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import MemoryId, Unit
from tandem.hw.memory_model import MemoryModel
from tandem.hw.topology import BASE_REGISTERS
from tandem.sim.events import Event
from tandem.sim.memory import place_program
from tandem.sim.result import UnitCycles
from tests.support.hw.configs import UNCOMMON, presets
from tests.support.sim.programs import RandomProgram, random_program

RECORD = "cycles/random.txt"
PATH = Path(__file__).parents[2] / "golden" / RECORD
NAMES = (
    *("tiny", "small8", "batch2", "wide_bus", "widest_bus", "scalar_one_port", "tall"),
    *("custom", "custom_one_port"),
)
MEMORIES = (
    MemoryModel(1, 1, 300),
    MemoryModel(3, 2, 1),
    MemoryModel(16, 1, 2),
    MemoryModel(64, 1, 16),
    MemoryModel(150, 4, 3),
    MemoryModel(5, 3, 16),
)
LENGTH = 50


@dataclass(frozen=True, slots=True)
class RecordedCase:
    """A random program on a machine and a memory."""

    config: HardwareConfig
    memory: MemoryModel
    seed: int

    def drawn(self) -> RandomProgram:
        """The program, the same each time."""
        return _drawn(self.config, self.seed)


@cache
def _drawn(config: HardwareConfig, seed: int) -> RandomProgram:
    return random_program(config, seed, LENGTH)


def recorded_cases() -> Iterator[RecordedCase]:
    """The cases, one a line of the record."""
    configs = {config.name: config for config in (*presets(), *UNCOMMON)}
    for number, name in enumerate(NAMES):
        for at, memory in enumerate(MEMORIES):
            yield RecordedCase(configs[name], memory, 100 * number + at)


def line_of(
    case: RecordedCase,
    cycles: int | None,
    units: Mapping[Unit, UnitCycles] | None,
    events: Sequence[Event],
) -> str:
    """A run's line: its counters, and a checksum of its events."""
    memory = case.memory
    model = f"{memory.latency},{memory.interval},{memory.in_flight}"
    spent = "; ".join(
        f"{unit.name.lower()} {count.busy} {count.token} {count.memory}"
        for unit, count in (units or {}).items()
    )
    rows = [
        (event.cycle, int(event.unit), event.instruction, event.kind.value, event.queue)
        for event in events
    ]
    text = repr([(*row[:4], -1 if row[4] is None else int(row[4])) for row in rows])
    digest = f"{crc32(text.encode()):08x}"
    return f"{case.config.name} {model} seed {case.seed}: {cycles} cycles; {spent}; {digest}"


def modelled(case: RecordedCase) -> str:
    """The line that the model of time gives, with the modules of `sim.cycle` as they are now."""
    machines, prepares = (
        import_module("tandem.sim.cycle.machine"),
        import_module("tandem.sim.cycle.prepare"),
    )
    reads, stores = (
        import_module("tandem.sim.cycle.reads"),
        import_module("tandem.sim.cycle.stores"),
    )
    drawn = case.drawn()
    memory, address = place_program(drawn.image, drawn.program)
    machine = machines.make_machine(case.config, case.memory)
    program = prepares.prepare(case.config, drawn.program.columns())
    uops = np.zeros(case.config.depth(MemoryId.UOP), np.int64)
    run = prepares.make_run(program, address, (0,) * BASE_REGISTERS, memory, uops)
    read_state, store_state = reads.make_reads(machine), stores.make_stores(machine)
    import_module("tandem.sim.cycle.run").run_program(machine, run, read_state, store_state)
    outcome = import_module("tandem.sim.cycle.outcome").outcome_of(program, run, read_state)
    units = import_module("tandem.sim.cycle.counters").unit_cycles(machine, run, store_state)
    events = import_module("tandem.sim.cycle.events").events_of(run)
    return line_of(case, outcome.cycles, units, events)
