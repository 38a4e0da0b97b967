"""How the bench calls the harness; its answers are those of a library that only notes calls. On the
real one: `test_bus`, `test_build`."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tandem.hw.memory_model import MemoryModel
from tandem.sim.engine import Channel, Silence, Stalls
from tandem.sim.errors import BuildError, EngineError
from tandem.sim.rtl.bench import ACCESS_CYCLES, BenchSetup
from tandem.sim.rtl.constants import Outcome
from tandem.sim.rtl.library import CompiledBench

MODEL = MemoryModel(latency=3, interval=5, in_flight=7)


class Function:
    """A function of the harness: notes its calls, and answers as it is told."""

    def __init__(self, harness: Harness, name: str) -> None:
        self.harness, self.name = harness, name
        self.restype: Any = None
        self.argtypes: Any = None

    def __call__(self, machine: Any = None, *arguments: Any) -> Any:
        plain = tuple(getattr(each, "value", each) for each in arguments)
        self.harness.calls.append((self.name.removeprefix("tandem_"), *plain))
        answer = self.harness.answers.get(self.name.removeprefix("tandem_"), 0)
        return answer(*arguments) if callable(answer) else answer


class Harness:
    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.answers: dict[str, Any] = {"open": 99, "broken": None}
        self.functions: dict[str, Function] = {}

    def __getattr__(self, name: str) -> Function:
        if not name.startswith("tandem_"):
            raise AttributeError(name)
        return self.functions.setdefault(name, Function(self, name))

    def called(self, *but: str) -> list[tuple[Any, ...]]:
        """The calls since the last question, but for those of some names."""
        found, self.calls = self.calls, []
        return [call for call in found if call[0] not in but]


@pytest.fixture
def harness(monkeypatch: pytest.MonkeyPatch) -> Harness:
    found = Harness()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: found)
    return found


def bench_of(harness: Harness) -> CompiledBench:
    found = CompiledBench(Path("any"), MODEL)
    assert harness.called() == [("open",), ("timing", 3, 5, 7)]
    return found


def test_a_library_that_cannot_be_loaded(tmp_path: Path) -> None:
    path = tmp_path / "harness.so"
    path.write_text("no library")
    with pytest.raises(BuildError, match=rf"^the RTL simulator {path} cannot be loaded: "):
        CompiledBench(path, MODEL)


def test_it_is_closed_once(harness: Harness) -> None:
    bench = bench_of(harness)
    bench.close()
    bench.close()
    assert harness.called() == [("close",)]


def test_the_environment(harness: Harness) -> None:
    bench = bench_of(harness)
    memory = np.zeros(64, np.uint8)
    ranges: list[list[int]] = []

    def refuse(address: int, count: int) -> int:
        words = (ctypes.c_uint64 * (2 * count)).from_address(address)
        ranges.append(list(words))
        return 0

    harness.answers["refuse"] = refuse
    silence = Silence(Channel.R | Channel.W, 5, 6, lost=True)
    bench.attach(BenchSetup(memory, ((1, 2), (3, 1 << 60)), Stalls(0.5, 11), True, None, silence))
    assert harness.called("refuse") == [
        ("memory", memory.ctypes.data, 64),
        ("stalls", 2048, 11),
        ("silence", 10, 5, 6, True),
        ("arm", True),
    ]
    bench.attach(BenchSetup(memory, (), None, False, None))
    assert harness.called("refuse", "memory") == [
        ("stalls", 0, 0),
        ("silence", 0, 0, 0, False),
        ("arm", False),
    ]
    assert ranges == [[1, 2, 3, 1 << 60], []]
    bench.detach()
    assert harness.called() == [
        ("close_waveform",),
        ("memory", None, 0),
        ("stalls", 0, 0),
        ("silence", 0, 0, 0, False),
    ]


def test_registers(harness: Harness) -> None:
    bench = bench_of(harness)

    def read(offset: int, value: Any, _: int) -> int:
        value._obj.value = offset + 1
        return 0

    harness.answers["read"] = read
    assert bench.read(0x20) == 0x21
    bench.write(0x24, 7)
    assert harness.called("broken", "read") == [("write", 0x24, 7, ACCESS_CYCLES)]


@pytest.mark.parametrize(
    ("response", "text"), [(-1, "did not answer"), (2, "answered with response 2")]
)
def test_registers_that_do_not_answer(harness: Harness, response: int, text: str) -> None:
    bench = bench_of(harness)
    harness.answers |= {"read": response, "write": response}
    with pytest.raises(EngineError) as caught:
        bench.read(0x20)
    assert str(caught.value) == f"read of register 0x020: the design {text}"
    with pytest.raises(EngineError) as caught:
        bench.write(0x4, 1)
    assert str(caught.value) == f"write of register 0x004: the design {text}"


def test_a_run_ends_with_the_interrupt_or_with_a_broken_rule(harness: Harness) -> None:
    bench = bench_of(harness)
    for outcome in Outcome:
        harness.answers["run"] = int(outcome)
        assert bench.run(5) is (outcome is Outcome.INTERRUPT)
    assert ("run", 5) in harness.called()
    harness.answers |= {"broken": b"WLAST is early", "cycles": 17, "write": -1}
    assert bench.cycles == 17
    for broken in (lambda: bench.run(1), lambda: bench.write(0, 0)):
        with pytest.raises(EngineError, match=r"^protocol violation on m_axi: WLAST is early$"):
            broken()


def test_events_are_copied(harness: Harness) -> None:
    bench = bench_of(harness)
    log = np.array([3, 4, 5, 1 << 63], np.uint64)

    def events(start: Any) -> int:
        start._obj.value = log.ctypes.data
        return 2

    assert bench.events().shape == (0, 2)
    harness.answers["events"] = events
    found = bench.events()
    assert found.tolist() == [[3, 4], [5, 1 << 63]]
    log[0] = 9
    assert found[0, 0] == 3


def test_waveforms(harness: Harness, tmp_path: Path) -> None:
    bench, path = bench_of(harness), tmp_path / "wave.fst"
    setup = BenchSetup(np.zeros(8, np.uint8), (), None, False, path)
    bench.attach(setup)
    assert path.exists()
    assert harness.called()[0] == ("open_waveform", str(path).encode())
    harness.answers["open_waveform"] = 1
    with pytest.raises(EngineError, match=rf"^the waveform {path} cannot be written$"):
        bench.attach(setup)
    beyond = BenchSetup(np.zeros(8, np.uint8), (), None, False, tmp_path / "none" / "wave.fst")
    harness.called()
    with pytest.raises(EngineError, match=r"wave\.fst cannot be written: .*No such file"):
        bench.attach(beyond)
    assert harness.called() == []
