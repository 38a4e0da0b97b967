"""When the RTL's simulator is built, and which waveforms it has; nothing is built here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.isa import Finish, Program
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.sim.engine import Launch
from tandem.sim.errors import EngineError
from tandem.sim.rtl import engine as engines
from tandem.sim.rtl.build import Waves
from tandem.sim.rtl.engine import RtlEngine

TINY = load_config("tiny")
PROGRAM = Program.from_instructions(TINY, [Finish()])
MEMORY = np.zeros(64, np.uint8)


class Calls:
    """What the engine asks others for, in its order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made: list[tuple[Any, ...]] = []
        for name in ("verilog_of", "build", "CompiledBench", "Driver"):
            monkeypatch.setattr(engines, name, self._noting(name))

    def _noting(self, name: str) -> Any:
        def note(*arguments: Any) -> Any:
            self.made.append((name, *arguments))
            return self if name in ("CompiledBench", "Driver") else f"a {name}"

        return note

    def launch(self, *arguments: Any) -> str:
        self.made.append(("launch", *arguments))
        return "the result"

    def close(self) -> None:
        self.made.append(("close",))

    @property
    def names(self) -> list[str]:
        return [name for name, *_ in self.made]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    return Calls(monkeypatch)


def test_the_first_launch_builds_and_the_next_does_not(calls: Calls, tmp_path: Path) -> None:
    engine = RtlEngine(TINY, cache=tmp_path)
    how = Launch(address=0)
    result: Any = engine.launch(PROGRAM, MEMORY, how)
    assert result == "the result"
    assert calls.made == [
        ("verilog_of", TINY, tmp_path),
        ("build", "a verilog_of", Waves.NONE, tmp_path),
        ("CompiledBench", "a build", engine.memory_model),
        ("Driver", "rtl", TINY, calls),
        ("launch", PROGRAM, MEMORY, how),
    ]
    engine.prepare()
    engine.launch(PROGRAM, MEMORY, how)
    assert calls.names[5:] == ["launch"]
    engine.close()
    engine.close()
    assert calls.names[6:] == ["close"]
    engine.launch(PROGRAM, MEMORY, how)
    assert calls.names[7:] == ["verilog_of", "build", "CompiledBench", "Driver", "launch"]


def test_a_design_takes_the_place_of_the_generated_one(calls: Calls) -> None:
    design = VerilogDesign("tandem", {"tandem.v": ""}, ("tandem",))
    RtlEngine(TINY, design=design).prepare()
    assert calls.made[0] == ("build", design, Waves.NONE, None)


@pytest.mark.parametrize(("name", "waves"), [("a.fst", Waves.FST), ("b.vcd", Waves.VCD)])
def test_waveforms_are_asked_for_in_the_first_launch(calls: Calls, name: str, waves: Waves) -> None:
    engine = RtlEngine(TINY)
    wanted = Launch(address=0, waveform=Path(name))
    engine.launch(PROGRAM, MEMORY, wanted)
    assert calls.made[1] == ("build", "a verilog_of", waves, None)
    engine.launch(PROGRAM, MEMORY, wanted)
    engine.launch(PROGRAM, MEMORY, Launch(address=0))
    assert calls.names.count("launch") == 3
    other = "b.vcd" if waves is Waves.FST else "a.fst"
    with pytest.raises(EngineError) as caught:
        engine.launch(PROGRAM, MEMORY, Launch(address=0, waveform=Path(other)))
    kind = other.partition(".")[2]
    assert str(caught.value) == f"a {kind} waveform must be asked for in the engine's first launch"
    assert calls.names.count("launch") == 3


def test_waveforms_of_other_kinds(calls: Calls) -> None:
    with pytest.raises(EngineError) as caught:
        RtlEngine(TINY).launch(PROGRAM, MEMORY, Launch(address=0, waveform=Path("a.txt")))
    assert str(caught.value) == "waveform a.txt: the rtl engine writes .fst and .vcd"
    assert calls.made == []


def test_its_name_and_time() -> None:
    assert RtlEngine(TINY).name == "rtl"
    assert RtlEngine.has_time is True
