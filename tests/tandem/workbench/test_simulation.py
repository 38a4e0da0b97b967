"""What came of a program, and where it lay."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.isa import Finish, Program, Unit, Work
from tandem.hw.memory_model import parse_memory
from tandem.sim.engine import Launch
from tandem.sim.events import EventTable
from tandem.sim.result import Result, UnitCycles
from tandem.workbench.errors import ArgumentValueError, UntimedError
from tandem.workbench.programs import LoadedProgram
from tandem.workbench.simulation import (
    PlacedProgram,
    Simulation,
    Simulator,
    open_simulator,
    place,
)

TINY = load_config("tiny")
PROGRAM = Program.from_instructions(TINY, [Finish()])
WORK = Work(loaded={}, stored=0, gemm_uops=0, reset_uops=0, alu_uops=0, instructions={})
UNITS = {unit: UnitCycles(busy=1, token=2, memory=3) for unit in Unit}
RESULT = Result("cycle", 1234, UNITS, WORK, EventTable.of(()), 0.5)
IMAGE = np.arange(64, dtype=np.uint8)


def simulation(result: Result = RESULT) -> Simulation:
    return Simulation(PROGRAM, result, IMAGE, None)


def untimed() -> Simulation:
    return simulation(replace(RESULT, engine="functional", cycles=None, units=None))


def test_what_is_said_of_a_run() -> None:
    found = simulation()
    assert (found.machine, found.engine, found.cycles) == (TINY, "cycle", 1234)
    assert found.image_sha256 == hashlib.sha256(IMAGE.tobytes()).hexdigest()
    said = found.as_json()
    assert (said["config"], said["instructions"], said["compare"]) == ("tiny", 1, None)
    assert (said["cycles"], said["image_sha256"]) == (1234, found.image_sha256)
    head, *table = repr(found).splitlines()
    assert head == "1 instructions on tiny, engine cycle: 1,234 cycles"
    assert table == repr(found.units).splitlines()
    assert repr(untimed()) == "1 instructions on tiny, engine functional: no cycles"


def test_timelines(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(ArgumentValueError, match=r"a\.fst: a timeline is a file that ends in"):
        simulation().trace(tmp_path / "a.fst")
    with pytest.raises(UntimedError, match=r"^trace needs cycles: the engine functional counts"):
        untimed().trace(path)
    with pytest.raises(OSError, match="missing"):
        simulation().trace(tmp_path / "missing" / "a.json")
    assert not path.exists()


def test_places() -> None:
    placed = place(LoadedProgram(PROGRAM, IMAGE), None)
    assert (placed.address, placed.image_bytes) == (4096, 64)
    assert placed.memory[:64].tolist() == IMAGE.tolist()
    assert placed.memory[4096:4112].tobytes() == PROGRAM.data
    assert place(LoadedProgram(PROGRAM, IMAGE), 8192).address == 8192


class Engine:
    """An engine that notes its launches, and doubles the first byte of memory."""

    def __init__(self) -> None:
        self.launches: list[Launch] = []

    def launch(self, program: Program, memory: Any, how: Launch) -> Result:
        self.launches.append(how)
        memory[1] *= 2
        return RESULT


def test_runs() -> None:
    engine = Engine()
    memory = np.concatenate([IMAGE, np.zeros(64, np.uint8)])
    placed = PlacedProgram(PROGRAM, memory, 32, 64)
    how = Launch(address=0, max_cycles=9)
    found = Simulator(cast(Any, engine), []).run(placed, how, None)
    assert engine.launches == [replace(how, address=32)]
    assert found.image.tolist() == [0, 2, *range(2, 64)]
    assert (found.result, found.comparison) == (RESULT, None)
    # What a later run does to memory is no matter.
    memory[:] = 0
    assert found.image[1] == 2


def test_numbers_of_engines() -> None:
    for names in ([], ["cycle"] * 3):
        with (
            pytest.raises(ArgumentValueError, match=r"^engines are \[.*: there must be one, or"),
            open_simulator(names, TINY, parse_memory("fast")),
        ):
            pass
