"""The order of event records, and counters from times."""

from __future__ import annotations

from tandem.hw.config_files import load_config
from tandem.hw.memory_model import MemoryModel
from tandem.sim.cycle.engine import CycleEngine
from tandem.sim.events import EventKind
from tests.support.sim.launching import launch
from tests.support.sim.programs import random_program

PLACES = {
    EventKind.FETCH: 0,
    EventKind.DISPATCH: 1,
    EventKind.POP: 2,
    EventKind.START: 3,
    EventKind.END: 4,
    EventKind.PUSH: 5,
}


def test_events_are_in_order() -> None:
    """By cycle, unit and instruction; of an instruction from its fetch to its pushes."""
    config = load_config("tiny")
    drawn = random_program(config, 5, 60)
    engine = CycleEngine(config, MemoryModel(20, 1, 8))
    events = launch(engine, drawn.program, drawn.image, events=True)[0].events
    keys = [
        (event.cycle or 0, event.unit, event.instruction, PLACES[event.kind]) for event in events
    ]
    assert keys == sorted(keys)
    assert len(events) > 4 * len(drawn.program)


def test_a_second_launch_of_another_program_and_of_the_same() -> None:
    """Nothing of a run is left to the next but what is on chip."""
    config = load_config("tiny")
    engine = CycleEngine(config)
    runs = []
    for seed in (1, 2, 1, 1):
        drawn = random_program(config, seed, 40)
        result, _ = launch(engine, drawn.program, drawn.image, events=True)
        runs.append((result.cycles, result.units, result.events))
    assert runs[0] == runs[2] == runs[3] != runs[1]
