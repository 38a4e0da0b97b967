"""Random ONNX models: float32 as ONNX's reference computes it, int8 on every preset as the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from compiler.driver.compile_onnx import CompileOptions, PreparedNetwork, prepare_network
from compiler.quantise.options import Mode
from hw.config_files import load_config, preset_names
from hw.memory_model import parse_memory
from runtime.artifact import Provenance, from_bytes, to_bytes
from runtime.devices import AcceleratorDevice, CpuDevice
from runtime.executor import Executor
from scripts.run.comparison import boundaries, compare, defined_elements
from sim.engines import make_engine
from tests.support.offloaded import HOST, targets
from tests.support.random_models import RandomModel

onnxruntime = pytest.importorskip("onnxruntime", reason="what results are compared with")

Arrays = Mapping[str, NDArray[Any]]
MODES = (Mode.MULTIPLIER, Mode.MULTIPLIER, Mode.MULTIPLIER, Mode.POW2)


def prepared(model: ModelProto, mode: Mode | None, seed: int) -> PreparedNetwork:
    return prepare_network(model, Provenance("random"), CompileOptions(quantise=mode, seed=seed))


def close(found: Arrays, wanted: list[NDArray[Any]], who: str) -> None:
    """Assert equal shapes, and values that differ by rounding alone."""
    for (name, ours), theirs in zip(found.items(), wanted, strict=True):
        assert ours.shape == theirs.shape, f"{name}: {ours.shape}, {theirs.shape} by {who}"
        tolerance = 1e-5 * max(1.0, float(np.abs(theirs).max(initial=0)))
        np.testing.assert_allclose(ours, theirs, 1e-4, tolerance, err_msg=f"{name} by {who}")


def check_real(random: RandomModel) -> None:
    """Compare float32 with ONNX Runtime and, where it has no errors, ONNX's reference."""
    model, data = random.model, random.data(0)
    artifact = prepared(model, None, random.seed).build([HOST])
    found = Executor(artifact, [CpuDevice(1)]).run(data).outputs
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # It warns of shapes of `ceil_mode`, which ONNX infers wrongly.
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    close(found, session.run(None, data), "ONNX Runtime")
    if random.in_reference:
        reference: Any = ReferenceEvaluator(model).run(None, dict(data))
        close(found, reference, "ONNX's reference")


def check_quantised(random: RandomModel, preset: str, engine: str) -> int:
    """Compare what the accelerator and the CPU give at every boundary, and return the number of
    multiply-accumulates on the accelerator."""
    mode = MODES[random.seed % len(MODES)]
    network = prepared(random.model, mode, random.seed)
    config, data = load_config(preset), random.data(1)
    machines = targets(config, threads=1 + random.seed % 2)
    artifact = from_bytes(to_bytes(network.build(machines)))
    host = Executor(network.build(machines, fallback=True), [CpuDevice(1)])
    names = boundaries(artifact)
    machine = make_engine(engine, config, parse_memory("fast"))
    try:
        executor = Executor(artifact, [AcceleratorDevice(machine), CpuDevice(1)])
        run, reference = (each.run(data, watch=names) for each in (executor, host))
    finally:
        machine.close()
    compared = compare(run, reference, defined_elements(artifact))
    assert compared.equal, compared.first
    return sum(each.macs for each in run.profile.steps if each.device == "accelerator")


def check(seeds: range) -> None:
    """All models, on one preset after the other. A failing test shows the seed: the last line that
    it printed."""
    shares, presets = [], preset_names()
    for seed in seeds:
        random = RandomModel.of(seed)
        preset = presets[seed % len(presets)]
        engine = "functional" if seed // len(presets) % 3 else "cycle"
        print(f"seed {seed}: {preset}, {engine}")
        check_real(random)
        shares.append(check_quantised(random, preset, engine))
    assert sum(each > 0 for each in shares) > len(shares) / 4


def test_a_few() -> None:
    check(range(4))


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(1000, 2000, 50))
def test_many(first: int) -> None:
    check(range(first, first + 50))
