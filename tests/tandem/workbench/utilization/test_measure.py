"""Layers on engines: cycles, checks, and what is refused."""

from __future__ import annotations

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.isa import Program
from tandem.hw.memory_model import MEMORY_PRESETS
from tandem.sim.engine import Bytes, Engine, Launch
from tandem.sim.engines import make_engine
from tandem.sim.result import Result
from tandem.workbench.errors import ConvolutionError, WrongResultError
from tandem.workbench.utilization import ConvLayer, Times, measure, parse_layer, total
from tandem.workbench.utilization import case as cases
from tandem.workbench.utilization.case import Case, Int8

SMALL = [
    ConvLayer("point", 8, 8, 8, 8, 1, 1, 0, count=2),
    ConvLayer("strided", 6, 7, 5, 9, 2, 2, 1),
]


def engine(name: str, config: str = "tiny", memory: str = "fast") -> Engine:
    return make_engine(name, load_config(config), MEMORY_PRESETS[memory])


def test_cycles_of_the_rtl() -> None:
    rows = list(measure(engine("rtl"), SMALL))
    assert [row.layer for row in rows] == SMALL
    for row in rows:
        times = row.times
        assert (times.name, times.count) == (row.layer.name, row.layer.count)
        assert times.cycles_with is not None
        assert times.cycles_without is not None
        assert 0 < times.cycles_with < times.cycles_without
        assert times.macs == row.layer.macs
        assert times.utilization_with == row.layer.macs / (times.cycles_with * 16)
        assert times.utilization_without == row.layer.macs / (times.cycles_without * 16)


def test_slow_memory_takes_longer() -> None:
    layer = [parse_layer("a=8,8,16,16,3,1,1")]
    (fast,) = measure(engine("rtl", "small8"), layer)
    (edge,) = measure(engine("rtl", "small8", "edge"), layer)
    assert fast.times.cycles_with is not None
    assert edge.times.cycles_with is not None
    assert fast.times.cycles_with < edge.times.cycles_with


@pytest.mark.parametrize("config", ["tiny", "small8", "batch2"])
def test_no_time_on_functional(config: str) -> None:
    rows = list(measure(engine("functional", config), SMALL))
    assert [row.times.cycles_with for row in rows] == [None, None]
    assert [row.times.utilization_without for row in rows] == [None, None]


def test_engines_agree_on_what_is_done() -> None:
    """The same streams: only one of them, on an engine that needs no build, in time."""
    (row,) = measure(engine("pysim"), [ConvLayer("a", 2, 2, 4, 4, 1, 1, 0)])
    (other,) = measure(engine("rtl"), [ConvLayer("a", 2, 2, 4, 4, 1, 1, 0)])
    assert row == other


@pytest.mark.parametrize(("way", "wrong"), [("without", 0), ("with", 1)])
def test_a_wrong_result_is_an_error(way: str, wrong: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is the run without latency hiding or the one with it."""
    machine = engine("functional")
    right = machine.launch
    launches: list[int] = []

    def launch(program: Program, memory: Bytes, how: Launch) -> Result:
        result = right(program, memory, how)
        if len(launches) == wrong:
            memory[:] = 0x55
        launches.append(len(memory))
        return result

    monkeypatch.setattr(machine, "launch", launch)
    message = (
        rf"^point {way} latency hiding on functional: \d+ of 512 results differ from NumPy's; the "
        r"first, \[0, 0, 0, \d\] of \[n, c, y, x\], is 85 and has to be \d+$"
    )
    with pytest.raises(WrongResultError, match=message):
        list(measure(machine, SMALL))
    assert len(launches) == wrong + 1


def test_one_wrong_number_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = cases.expected

    def almost(case: Case) -> Int8:
        result = right(case)
        result[0, 7, 7, 6] ^= 1
        return result

    monkeypatch.setattr(cases, "expected", almost)
    with pytest.raises(WrongResultError, match=r": 1 of 512 .* the first, \[0, 7, 7, 6\] of "):
        list(measure(engine("functional"), SMALL))


def test_a_layer_that_does_not_fit() -> None:
    message = (
        "^layer a: tiny is too small .*: WGT has 16 elements and they take 18, for which .* be 9$"
    )
    with pytest.raises(ConvolutionError, match=message):
        list(measure(engine("functional"), [parse_layer("a=8,8,8,8,3,1,1")]))


def test_a_name_twice_is_refused_before_anything_runs() -> None:
    rows = measure(engine("functional"), [*SMALL, SMALL[0]])
    with pytest.raises(ConvolutionError, match=r"^layer point: there are 2 of the name$"):
        next(rows)


def test_what_is_reported() -> None:
    said: list[str] = []
    list(measure(engine("functional"), SMALL, report=said.append))
    assert said[0] == "point: compiling"
    assert "point without latency hiding" in said
    assert any(each.startswith("strided with latency hiding") for each in said)


def test_the_total_counts_layers() -> None:
    rows = list(measure(engine("rtl"), SMALL))
    first, second = (row.times for row in rows)
    assert first.cycles_with is not None
    assert second.cycles_with is not None
    whole = total(rows)
    assert (whole.name, whole.count) == ("total", 3)
    assert whole.macs == 2 * first.macs + second.macs
    assert whole.cycles_with == 2 * first.cycles_with + second.cycles_with
    assert whole.utilization_with == whole.macs / (whole.cycles_with * 16)


def test_utilization_is_of_all_multipliers() -> None:
    assert Times("a", 1, 750, 10, 100, 75).utilization_without == 0.75
    assert Times("a", 1, 750, 10, 100, 75).utilization_with == 1
