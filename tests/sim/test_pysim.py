"""Amaranth's simulator as a bench, on the traffic generator, whose cycles are known; and what the
engine on it refuses. On the accelerator: `tests/cosim`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.isa import Finish, Program
from tandem.hw.memory_model import MemoryModel
from tandem.sim import pysim
from tandem.sim.engine import Channel, Launch, Silence, Stalls
from tandem.sim.errors import EngineError
from tandem.sim.pysim import PysimEngine, SimulatorBench
from tandem.sim.rtl.bench import BenchSetup
from tests.sim.rtl.benches import expected_times, random_memory, run_traffic
from tests.support.sim.traffic import (
    CHECKSUM,
    LAUNCH,
    STATUS,
    AxiViolation,
    Handshake,
    Traffic,
    TrafficGenerator,
)

TINY = load_config("tiny")
PROGRAM = Program.from_instructions(TINY, [Finish()])
MODEL = MemoryModel(latency=5, interval=2, in_flight=2)
TRAFFIC = Traffic(reads=3, writes=2, length=2, write_address=512)


def bench() -> SimulatorBench:
    return SimulatorBench(TrafficGenerator(), MODEL, 8)


@pytest.fixture(scope="module")
def shared() -> SimulatorBench:
    """A bench for tests that leave it at the end of a run."""
    return bench()


def launch(made: SimulatorBench, setup: BenchSetup, traffic: Traffic = TRAFFIC) -> None:
    made.attach(setup)
    for offset, value in traffic.settings().items():
        made.write(offset, value)
    made.write(LAUNCH, 1)


def setup(*, events: bool = True, **fields: Any) -> BenchSetup:
    values: dict[str, Any] = {"refused": (), "stalls": None, "waveform": None}
    return BenchSetup(random_memory(1024), events=events, **{**values, **fields})


def test_cycles_of_traffic_are_those_of_the_memory_model(shared: SimulatorBench) -> None:
    made, memory = shared, random_memory(1024)
    words = memory.view(np.uint64)
    for _ in range(2):
        result = run_traffic(made, TRAFFIC, memory)
        assert result.times == expected_times(MODEL, TRAFFIC)
        assert result.checksum == int(words[:6].sum())
        assert words[64:68].tolist() == [at * 0x0101010101010101 for at in (1, 2, 3, 4)]
    # One more than the last answer, and those that the generator takes to end.
    assert made.cycles > max(result.times[Handshake.B] + result.times[Handshake.R])


def test_a_run_ends_with_the_interrupt_or_after_so_many_cycles(shared: SimulatorBench) -> None:
    made = shared
    made.attach(setup())
    assert made.cycles == 0
    assert made.events().shape == (0, 2)
    launch(made, setup())
    before = made.cycles
    assert not made.run(3)
    # The run begins with the second of these.
    assert (before, made.cycles) == (0, 2)
    assert made.run(1000)
    ended = made.cycles
    # It is high: nothing is run.
    assert made.run(1000)
    assert made.cycles == ended
    assert made.read(STATUS) == 2


def test_events_are_kept_on_demand_and_until_the_next_launch(shared: SimulatorBench) -> None:
    made = shared
    launch(made, setup(events=False))
    assert made.run(1000)
    assert len(made.events()) == 0
    launch(made, setup())
    assert made.run(1000)
    events = made.events()
    assert events.dtype == np.uint64
    assert len(events) >= 3 * 2
    assert (events[:, 1] > 0).all()
    made.attach(setup())
    assert len(made.events()) == 0
    assert made.cycles == 0


def test_stalls_and_silence_are_those_of_the_launch(shared: SimulatorBench) -> None:
    made = shared
    plain = run_traffic(made, TRAFFIC, random_memory(1024))
    stalled = run_traffic(made, TRAFFIC, random_memory(1024), stalls=Stalls(0.5, 3))
    assert stalled.checksum == plain.checksum
    assert stalled.times[Handshake.R][-1] > plain.times[Handshake.R][-1]
    # No beat of read data is sent in cycles 8 to 57 of the run.
    launch(made, setup(silence=Silence(Channel.R, 8, 50)))
    assert made.run(1000)
    log = made.events()
    reads = log[log[:, 1] >> np.uint64(Handshake.R) & np.uint64(1) == 1, 0].tolist()
    assert all(cycle < 8 or cycle >= 58 for cycle in reads)
    assert reads[-1] >= 58
    made.detach()
    assert run_traffic(made, TRAFFIC, random_memory(1024)).times == plain.times


@pytest.mark.parametrize("verb", ["read", "write"])
def test_responses_that_are_errors(
    shared: SimulatorBench, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    shared.read(STATUS)
    port = shared._registers
    monkeypatch.setattr(port, f"begin_{verb}", lambda *_: setattr(port, "response", 2))
    with pytest.raises(EngineError) as caught:
        shared.read(STATUS) if verb == "read" else shared.write(STATUS, 0)
    text = f"{verb} of register 0x00c: the design answered with response 2"
    assert str(caught.value) == text
    port.response = 0


def test_registers_that_are_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    made = bench()
    monkeypatch.setattr(pysim, "ACCESS_CYCLES", 1)
    with pytest.raises(EngineError) as caught:
        made.read(CHECKSUM)
    assert str(caught.value) == "read of register 0x100: the design did not answer"


def test_rules_that_the_design_breaks() -> None:
    made = bench()
    broken = Traffic(writes=2, length=2, misdeeds=AxiViolation.NEVER_LAST)
    launch(made, setup(), broken)
    with pytest.raises(EngineError, match=r"^protocol violation on m_axi: "):
        made.run(1000)


def test_a_waveform(tmp_path: Path) -> None:
    made, path = bench(), tmp_path / "wave.vcd"
    launch(made, setup(waveform=path))
    assert made.run(1000)
    made.detach()
    assert "$enddefinitions" in path.read_text()
    with pytest.raises(EngineError, match=r"none/wave\.vcd cannot be written: .*No such file"):
        made.attach(setup(waveform=tmp_path / "none" / "wave.vcd"))


class Driver:
    """Notes what it is made of, and what it launches."""

    made: ClassVar[list[tuple[Any, ...]]] = []

    def __init__(self, *of: Any) -> None:
        Driver.made.append(of)

    def launch(self, *_: Any) -> str:
        return "the result"


def test_the_engine_makes_its_design_once(monkeypatch: pytest.MonkeyPatch) -> None:
    Driver.made.clear()
    monkeypatch.setattr(pysim, "Driver", Driver)
    monkeypatch.setattr(pysim, "Accelerator", lambda config: ("accelerator of", config.name))
    monkeypatch.setattr(pysim, "SimulatorBench", lambda *of: of)
    memory, how = np.zeros(64, np.uint8), Launch(address=0)
    engine = PysimEngine(TINY, MODEL)
    assert (engine.name, engine.has_time) == ("pysim", True)
    for _ in range(2):
        result: Any = engine.launch(PROGRAM, memory, how)
        assert result == "the result"
    assert Driver.made == [("pysim", TINY, (("accelerator of", "tiny"), MODEL, 8))]
    engine.close()
    engine.prepare()
    assert len(Driver.made) == 2
    other: Any = TrafficGenerator()
    PysimEngine(TINY, MODEL, design=other).prepare()
    assert Driver.made[2] == ("pysim", TINY, (other, MODEL, 8))


def test_waveforms_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pysim, "Driver", Driver)
    monkeypatch.setattr(pysim, "Accelerator", lambda _: None)
    monkeypatch.setattr(pysim, "SimulatorBench", lambda *of: of)
    engine, memory = PysimEngine(TINY, MODEL), np.zeros(64, np.uint8)
    with pytest.raises(EngineError) as caught:
        engine.launch(PROGRAM, memory, Launch(address=0, waveform=Path("a.fst")))
    assert str(caught.value) == "a .fst waveform was asked for: the pysim engine writes .vcd"
    wanted = Launch(address=0, waveform=Path("a.vcd"))
    engine.launch(PROGRAM, memory, wanted)
    with pytest.raises(EngineError) as caught:
        engine.launch(PROGRAM, memory, wanted)
    assert str(caught.value) == "pysim can only write the waveform of an engine's first launch"
    engine.launch(PROGRAM, memory, Launch(address=0))
