"""Reports of runs: rows, sums and JSON of a network by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from msgspec.structs import replace as with_fields

from tandem.hw.config_files import load_config
from tandem.hw.isa import Finish, Program, Work
from tandem.hw.memory_model import DEFAULT_MEMORY
from tandem.runtime.artifact import (
    Artifact,
    Input,
    Layer,
    Output,
    PlacedTensor,
    Provenance,
    Tensor,
)
from tandem.runtime.artifact.manifest import StoredWeights
from tandem.runtime.executor import Run
from tandem.runtime.layer_profiles import LayerProfile, StreamRun
from tandem.runtime.profile import Profile, StepProfile
from tandem.sim.events import EventTable
from tandem.sim.result import Result
from tandem.workbench.clock import Clock
from tandem.workbench.networks import Network
from tandem.workbench.platform import Platform
from tandem.workbench.run_report import ReportRow, RunReport
from tests.support.runtime.plain_artifacts import plain_artifact, plain_step, plain_stream

TINY = load_config("tiny")
PROGRAM = Program.from_instructions(TINY, [Finish()])
LAYERS = (Layer("conv", ("conv2d", "relu"), 800, 9), Layer("dense", ("dense",), 200, 9))
WORK = Work(loaded={}, stored=0, gemm_uops=0, reset_uops=0, alu_uops=0, instructions={})
PLACE = PlacedTensor("a", 0, (4,), "int32")
STREAM = plain_stream(
    "s",
    TINY,
    PROGRAM.data,
    inputs=[PLACE],
    outputs=[PlacedTensor("b", 0, (4,), "int32")],
    layers=LAYERS,
)


def artifact(*, accelerated: bool = True, weights: tuple[StoredWeights, ...] = ()) -> Artifact:
    tensors = [Tensor("x", (4,), "int32", Input()), Tensor("y", (4,), "int32", Output())]
    provenance = Provenance("net.onnx", "d", options={"calibration": "given"})
    step = plain_step("s", ["x"], ["y"], "accelerator" if accelerated else "cpu")
    made = plain_artifact(
        tensors,
        [step],
        ["x"],
        ["y"],
        streams={"s": STREAM} if accelerated else {},
        provenance=provenance,
    )
    return Artifact(with_fields(made.manifest, weights=weights), made.code, made.constants)


def profile(cycles: tuple[int | None, int | None], seconds: float = 2.0) -> Profile:
    """A step of the CPU and a launch of two layers."""
    layers = tuple(
        LayerProfile(layer, own, {}, 5, 6, 7, 16, weights)
        for layer, own, weights in zip(LAYERS, cycles, (40, 0), strict=True)
    )
    total = None if None in cycles else sum(cast(Any, cycles))
    result = Result("cycle", total, None, WORK, EventTable.of(()), seconds)
    launch = StreamRun(STREAM, PROGRAM, 0, result, layers)
    return Profile(
        (
            StepProfile("pack", ("transpose", "pad"), "cpu", 3, 0.5, reason="no template"),
            StepProfile("s", ("conv2d", "dense"), "accelerator", 1000, 0.1, launch),
        ),
        4.0,
    )


def report(
    cycles: tuple[int | None, int | None] = (100, 25), *, accelerated: bool = True, **changes: Any
) -> RunReport:
    run = Run({"y": np.array([1, 4, 2, 3], np.float32)}, profile(cycles), {})
    network = Network(artifact(accelerated=accelerated))
    platform = Platform("cycle", DEFAULT_MEMORY, 1)
    plain = RunReport(network, platform, run, None, None, None, "fast", 1)
    return replace(plain, **changes)


def without_hiding() -> Run:
    return Run({}, profile((150, 30)), {})


PACK = ReportRow("pack", ("transpose", "pad"), "cpu", 3, None, None, None, 0.5, "no template")


def test_rows() -> None:
    # 800 / (100 x 16) and 200 / (25 x 16).
    assert report(without_hiding=without_hiding()).rows == (
        PACK,
        ReportRow("conv", ("conv2d", "relu"), "accelerator", 800, 100, 0.5, 150, None),
        ReportRow("dense", ("dense",), "accelerator", 200, 25, 0.5, 30, None),
    )
    assert [row.cycles_without_hiding for row in report().rows] == [None, None, None]
    assert report().layers.rows == (
        ("pack", "transpose+pad", "cpu", 3, None, None, 0.5, "no template"),
        ("conv", "conv2d+relu", "accelerator", 800, 100, 0.5, None, None),
        ("dense", "dense", "accelerator", 200, 25, 0.5, None, None),
    )


def test_sums() -> None:
    found = report()
    # Products of the accelerator alone.
    assert found.utilization == pytest.approx(1000 / (125 * TINY.macs))
    assert found.simulated_seconds == 2.0
    assert found.cycles_per_second == 62.5
    assert found.milliseconds is None
    assert report(clock=Clock(50.0, "as given")).milliseconds == pytest.approx(125 / 50 / 1000)


def test_an_engine_without_cycles() -> None:
    found = report((None, None), clock=Clock(50.0, "as given"))
    assert (found.utilization, found.cycles_per_second, found.milliseconds) == (None, None, None)
    assert [row.utilization for row in found.rows] == [None, None, None]


def test_a_network_without_an_accelerator() -> None:
    found = report(accelerated=False)
    assert found.utilization is None
    said = found.as_json()
    assert (said["engine"], said["config"]) == (None, None)


def test_json() -> None:
    said = report().as_json()
    assert list(said) == [
        *("model", "engine", "config", "cycles", "layers", "round_trips", "outputs"),
        *("calibration", "check", "compare", "wall_seconds", "simulated_cycles_per_second"),
    ]
    assert (said["model"], said["engine"], said["config"]) == ("net.onnx", "cycle", "tiny")
    assert (said["cycles"], said["calibration"]) == (125, "given")
    assert (said["wall_seconds"], said["simulated_cycles_per_second"]) == (4.0, 62.5)
    assert cast(Any, said["layers"])[1] == {
        "name": "conv",
        "op": "conv2d+relu",
        "device": "accelerator",
        "macs": 800,
        "cycles": 100,
        "utilization": 0.5,
        "reason": None,
    }
    assert cast(Any, said["outputs"])[0]["top5"] == [1, 3, 2, 0]
    timed = report(clock=Clock(50.0, "as given"), sqnr={"y": 30.0}).as_json()
    assert timed["clock"] == {"mhz": 50.0, "source": "as given"}
    assert timed["milliseconds"] == pytest.approx(0.0025)
    assert "sqnr" in timed


def test_formats_of_weights() -> None:
    stored = (
        StoredWeights("conv", "int4", 64, 40, 32, results=("conv",), memory="codes"),
        StoredWeights("dense", "int4", 64, 44, results=("dense",), memory="int8: no codes"),
    )
    found = report(network=Network(artifact(weights=stored)))
    assert found.formats == {"conv": "int4/32", "dense": "int4, int8 in memory"}
    assert report().formats == {}
    said = found.as_json()
    assert said["weight_bytes"] == 84
    rows = [(row.get("weights"), row.get("weight_traffic")) for row in cast(Any, said["layers"])]
    assert rows == [(None, None), ("int4/32", 40), ("int4", 0)]


def test_the_layer_whose_cycles_are_explained() -> None:
    class Named:
        def __init__(self, name: str) -> None:
            self.name = name

    reasons = cast(Any, (Named("conv"), Named("dense")))
    assert report(reasons=reasons, asked="dense").why is reasons[1]
    assert report(reasons=reasons).why is None
