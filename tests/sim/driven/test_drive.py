"""Which machine an engine's name makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.memory_model import DEFAULT_MEMORY, MemoryModel
from tandem.sim.driven.drive import drive
from tandem.sim.driven.registers import EngineMachine
from tandem.sim.errors import EngineError

TINY = load_config("tiny")
MEMORY = np.zeros(64, np.uint8)


@pytest.mark.parametrize("engine", ["functional", "cycle"])
def test_engines_without_registers(engine: str) -> None:
    model = MemoryModel(3, 4, 5)
    machine = drive(engine, TINY, MEMORY, model)
    assert isinstance(machine, EngineMachine)
    assert machine.memory is MEMORY
    behind = machine._engine
    assert (behind.name, behind.config, behind.memory_model) == (engine, TINY, model)


def test_the_rtl_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[Any, ...]] = []

    def bench(*how: Any) -> str:
        made.append(how)
        return "the bench"

    monkeypatch.setattr("tandem.sim.driven.bench.BenchMachine", bench)
    found: Any = drive("rtl", TINY, MEMORY)
    assert found == "the bench"
    assert made == [(TINY, MEMORY, DEFAULT_MEMORY)]


def test_names_of_no_engine() -> None:
    with pytest.raises(EngineError, match="nothing"):
        drive("nothing", TINY, MEMORY)
