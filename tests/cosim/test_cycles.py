"""How long programs take, cycle by cycle, and what each unit does meanwhile.

Other tests look at results. What only costs time, or only counts it, is pinned here: change the
files with `--update-golden` when a timing rule of docs/timing.md changes, and look at every line.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.isa import Unit
from tandem.hw.memory_model import MEMORY_PRESETS, MemoryModel
from tandem.sim.engine import Stalls
from tandem.sim.result import Result
from tandem.sim.rtl.engine import RtlEngine
from tests.support.hw.vectors import load_vector, vector_names
from tests.support.sim.launching import launch
from tests.support.sim.programs import random_program

Golden = Callable[[str, str], None]

SEEDS = range(8)
LENGTH = 40
SHORT = (25, 8)
"""Seed and length of a short program in which every unit waits."""
SLOW = (0x15555, 0x2AAAA)
"""Latencies, in cycles, that no memory has: for what they do to the counters."""
VECTORS = [name for name in vector_names() if name.endswith("small8")]


def row(name: str, result: Result) -> str:
    """One run: its cycles, and each unit's busy, token and memory cycles."""
    assert result.units is not None
    spent = [result.units[unit] for unit in Unit]
    states = (f"{one.busy:6} {one.token:6} {one.memory:6}" for one in spent)
    return f"{name:20} {result.cycles:7} | {' | '.join(states)}\n"


HEADING = f"{'':20}  cycles | {' | '.join(f'{unit.name.lower():20}' for unit in Unit)}\n"
COLUMNS = f"{'':20}         | {' | '.join(['  busy  token memory'] * len(Unit))}\n"


@pytest.mark.parametrize("memory", MEMORY_PRESETS)
def test_random_programs(memory: str, golden: Golden) -> None:
    config = load_config("tiny")
    engine = RtlEngine(config, MEMORY_PRESETS[memory])
    text = HEADING + COLUMNS
    for seed in SEEDS:
        drawn = random_program(config, seed, LENGTH)
        for stalls in (None, Stalls(0.3, seed)):
            result, _ = launch(
                engine, drawn.program, drawn.image, stalls=stalls, max_cycles=100_000
            )
            text += row(f"seed {seed}{', stalls' if stalls else ''}", result)
    engine.close()
    golden(f"cycles/tiny_{memory}.txt", text)


def test_vectors(golden: Golden) -> None:
    text = HEADING + COLUMNS
    for name in VECTORS:
        vector = load_vector(name)
        engine = RtlEngine(vector.config, MEMORY_PRESETS["ddr"])
        result, _ = launch(engine, vector.program, vector.before, max_cycles=100_000)
        engine.close()
        text += row(name, result)
    golden("cycles/small8_ddr.txt", text)


def test_counters_go_beyond_16_bits(golden: Golden) -> None:
    config = load_config("tiny")
    drawn = random_program(config, *SHORT)
    text = HEADING + COLUMNS
    for latency in SLOW:
        engine = RtlEngine(config, MemoryModel(latency))
        result, _ = launch(engine, drawn.program, drawn.image, max_cycles=100_000_000)
        engine.close()
        text += row(f"latency {latency}", result)
    golden("cycles/tiny_slow.txt", text)


def test_events(golden: Golden) -> None:
    config = load_config("tiny")
    drawn = random_program(config, 1, LENGTH)
    engine = RtlEngine(config, MEMORY_PRESETS["ddr"])
    result, _ = launch(engine, drawn.program, drawn.image, events=True, max_cycles=100_000)
    engine.close()
    lines = [
        f"{event.cycle:6} {event.unit.name.lower():8} {event.instruction:3} "
        f"{event.kind.value} {event.queue.name.lower() if event.queue is not None else ''}".rstrip()
        for event in result.events
    ]
    golden("cycles/events.txt", "\n".join([*lines, ""]))
