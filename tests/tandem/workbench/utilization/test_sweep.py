"""Sweeps: their cycles are those of single measurements, and every stream is checked."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tandem.compiler.machines.accelerator.templates.machine_cost import MemoryTiming
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import MemoryModel
from tandem.sim.engine import Engine
from tandem.sim.engines import make_engine
from tandem.workbench.errors import ConvolutionError, SweepError, WrongResultError
from tandem.workbench.utilization import ConvLayer, measure
from tandem.workbench.utilization import case as cases
from tandem.workbench.utilization import sweep as sweeps
from tandem.workbench.utilization.build import CompiledConvolution, Convolution
from tandem.workbench.utilization.case import Case, Int8
from tandem.workbench.utilization.measure import CheckedRun, Report, run_checked
from tandem.workbench.utilization.sweep import SweptPoint, sweep
from tandem.workbench.utilization.sweep_axes import machine_at, parse_axes, points

LAYERS = [
    ConvLayer("point", 8, 8, 16, 16, 1, 1, 0, count=2),
    ConvLayer("strided", 6, 7, 5, 9, 2, 2, 1),
]
SMALL8 = load_config("small8")
FAST = MemoryModel(16, 1, 16)


def swept(text: str, layers: list[ConvLayer] = LAYERS) -> tuple[SweptPoint, ...]:
    return sweep(parse_axes(text), SMALL8, FAST, layers)


def test_points_are_what_single_measurements_are() -> None:
    """With data, and nothing shared between points."""
    text = "latency=4:400:x100,in_flight=1:3:2,log_inp_buffer=8:11:3"
    found = swept(text, LAYERS[1:])
    assert [each.point for each in found] == [*points(parse_axes(text))]
    for point in found:
        config, memory = machine_at(point.point, SMALL8, FAST)
        engine = make_engine("cycle", config, memory)
        assert point.rows == tuple(measure(engine, LAYERS[1:]))
    assert len({each.rows for each in found}) == 8


def test_a_point_is_what_the_rtl_takes() -> None:
    (found,) = swept("latency=100:100,interval=3:3")
    engine = make_engine("rtl", SMALL8, MemoryModel(100, 3, 16))
    assert found.rows == tuple(measure(engine, LAYERS))


def test_tiles_are_chosen_for_each_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    right = Convolution.of

    def of(case: Case, config: HardwareConfig, timing: MemoryTiming) -> Convolution:
        asked.append((timing.latency, timing.interval))
        return right(case, config, timing)

    monkeypatch.setattr(Convolution, "of", staticmethod(of))
    swept("latency=8:16,interval=1:2,in_flight=1:2", layers=LAYERS[:1])
    assert asked == [(8, 1), (8, 2), (16, 1), (16, 2)]


def checks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The labels of the checks that are made from now on."""
    labels: list[str] = []

    def check(
        engine: Engine, built: CompiledConvolution, wanted: Int8, label: str, say: Report
    ) -> CheckedRun:
        labels.append(label)
        return run_checked(engine, built, wanted, label, say)

    monkeypatch.setattr(sweeps, "run_checked", check)
    return labels


def test_a_stream_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = checks(monkeypatch)
    swept("in_flight=1:4", layers=LAYERS[:1])
    assert labels == [
        "point at in_flight=1 without latency hiding",
        "point at in_flight=1 with latency hiding",
    ]


def test_every_machine_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = checks(monkeypatch)
    swept("load_buffer=64:256", layers=LAYERS[:1])
    assert len(labels) == 2 * 3


@pytest.mark.parametrize("way", [0, 1])
def test_a_wrong_result_is_an_error(way: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is the stream without latency hiding or the one with it."""
    right = Convolution.build
    streams: list[CompiledConvolution] = []

    def build(conv: Convolution, threads: int) -> CompiledConvolution:
        stream = right(conv, threads)
        streams.append(stream)
        if len(streams) == way + 3:  # Of the second layer.
            stream.values["data"] = np.zeros_like(stream.values["data"])
        return stream

    monkeypatch.setattr(Convolution, "build", build)
    hiding = ("without", "with")[way]
    message = f"^strided at latency=8 {hiding} latency hiding on functional: .* differ from NumPy's"
    with pytest.raises(WrongResultError, match=message):
        swept("latency=8:8")


def test_one_wrong_number_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = cases.expected

    def almost(case: Case) -> Int8:
        result = right(case)
        result[0, 7, 3, 2] ^= 1
        return result

    monkeypatch.setattr(cases, "expected", almost)
    with pytest.raises(WrongResultError, match=r": 1 of 1,024 .* the first, \[0, 7, 3, 2\] of "):
        swept("latency=8:8")


def test_points_that_cannot_be_have_reasons() -> None:
    found = swept("latency=0:8:8,load_buffer=32:64:32,log_wgt_buffer=7:12:5")
    memory = "memory latency is 0: it must lie in 1..1000000"
    buffer = "load_buffer is 32 beats: a burst of 64 (longest_burst) is only"
    layer = "layer strided: small8 is too small for the smallest tiles: WGT has 2 elements"
    wanted = [buffer, buffer, memory, memory, buffer, buffer, layer]
    for point, start in zip(found, wanted, strict=False):
        reason = point.reason
        assert reason is not None
        assert reason.startswith(start)
        assert (point.rows, point.total) == ((), None)
        entry = point.as_json()
        assert (entry["total"], entry["layers"], entry["reason"]) == (None, [], reason)
    *_, last = found
    assert (len(found), last.reason, len(last.rows)) == (8, None, 2)


def test_no_point_at_all() -> None:
    message = "no point of the sweep can be measured; latency=0: memory latency is 0: it must lie"
    with pytest.raises(SweepError, match=f"^{re.escape(message)}"):
        swept("latency=0:0:1")


def test_a_name_twice_is_refused() -> None:
    with pytest.raises(ConvolutionError, match=r"^layer point: there are 2 of the name$"):
        swept("latency=8:8", layers=[LAYERS[0], LAYERS[0]])
