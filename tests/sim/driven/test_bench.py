"""The clock of a machine that a driver drives, on a bench that only counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.hw.config_files import load_config
from tandem.hw.memory_model import DEFAULT_MEMORY
from tandem.sim.driven import bench as driven
from tandem.sim.driven.bench import BenchMachine
from tandem.sim.engine import Channel, Silence
from tandem.sim.errors import MemoryImageError
from tandem.sim.rtl.bench import BenchSetup

TINY = load_config("tiny")


class Bench:
    """Notes what it is asked for; the interrupt rises in its slice number `rises`."""

    def __init__(self, *_: Any) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.made_of: tuple[Any, ...] = ()
        self.rises = -1

    def attach(self, setup: BenchSetup) -> None:
        self.calls.append(("attach", setup))

    def read(self, offset: int) -> int:
        return offset + 1

    def write(self, offset: int, value: int) -> None:
        self.calls.append(("write", offset, value))

    def run(self, cycles: int) -> bool:
        self.calls.append(("run", cycles))
        return sum(call[0] == "run" for call in self.calls) == self.rises

    def detach(self) -> None:
        self.calls.append(("detach",))

    def close(self) -> None:
        self.calls.append(("close",))


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    found = Bench()

    def made(*of: Any) -> Bench:
        found.made_of = of
        return found

    monkeypatch.setattr(driven, "CompiledBench", made)
    monkeypatch.setattr(driven, "build", lambda verilog: ("built", verilog))
    monkeypatch.setattr(driven, "verilog_of", lambda config: ("verilog", config.name))
    return found


def test_it_begins_with_a_memory_and_ends_without(bench: Bench) -> None:
    memory, silence = np.zeros(64, np.uint8), Silence(Channel.R, 1, 2)
    machine = BenchMachine(TINY, memory, DEFAULT_MEMORY, refused=((1, 2),), silence=silence)
    assert machine.memory is memory
    assert bench.made_of == (("built", ("verilog", "tiny")), DEFAULT_MEMORY)
    ((_, setup),) = bench.calls
    assert setup.memory is memory
    assert (setup.refused, setup.silence) == (((1, 2),), silence)
    assert (setup.stalls, setup.events, setup.waveform) == (None, False, None)
    machine.close()
    assert bench.calls[1:] == [("detach",), ("close",)]
    with pytest.raises(MemoryImageError):
        BenchMachine(TINY, np.zeros(63, np.uint8), DEFAULT_MEMORY)


def test_an_access_takes_ten_cycles(bench: Bench) -> None:
    machine = BenchMachine(TINY, np.zeros(64, np.uint8), DEFAULT_MEMORY)
    assert machine.read(7) == 8
    for _ in range(8):
        machine.read(0)
    assert machine.microseconds == 0
    machine.write(4, 5)
    assert bench.calls[1:] == [("write", 4, 5)]
    # A hundred cycles are a microsecond.
    assert machine.microseconds == 1


def test_waiting_runs_slices_until_the_interrupt(bench: Bench) -> None:
    machine = BenchMachine(TINY, np.zeros(64, np.uint8), DEFAULT_MEMORY)
    machine.wait(1000)
    assert bench.calls[1:] == [("run", 65536), ("run", 100_000 - 65536)]
    assert machine.microseconds == 1000
    bench.rises = 3
    machine.wait(1000)
    assert bench.calls[3:] == [("run", 65536)]
    assert machine.microseconds == 1655
    machine.wait(0)
    assert len(bench.calls) == 4
