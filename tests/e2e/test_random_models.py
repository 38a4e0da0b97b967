"""Random ONNX models: float32 as ONNX's reference computes it, int8 on every preset as the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from tandem.compiler.driver.compile_onnx import PreparedNetwork, prepare_network
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.quantise.options import Mode
from tandem.hw.config_files import load_config, preset_names
from tandem.runtime.artifact import Provenance, from_bytes, to_bytes
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tests.support.compiler.models.random_models import RandomModel
from tests.support.compiler.plan.boundaries import check_boundaries
from tests.support.compiler.plan.offloaded import HOST

onnxruntime = pytest.importorskip("onnxruntime", reason="what results are compared with")

Arrays = Mapping[str, NDArray[Any]]
MODES = (Mode.MULTIPLIER, Mode.MULTIPLIER, Mode.POW2)
MANY = range(1000, 2300)
"""The seeds of the exhaustive test."""


def prepared(model: ModelProto, mode: Mode | None, seed: int) -> PreparedNetwork:
    return prepare_network(model, Provenance("random"), compile_options(quantise=mode, seed=seed))


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


@dataclass(frozen=True)
class Setting:
    """What a quantised model runs on, drawn independently: of two choices that are taken from one
    number, as `seed % 4` and `seed % 12`, some never meet."""

    preset: str
    mode: Mode
    engine: str
    threads: int
    poison: int | None

    @staticmethod
    def of(seed: int) -> Setting:
        """The setting of a seed."""
        rng = np.random.default_rng([seed, 2])
        return Setting(
            preset=str(rng.choice(preset_names())),
            mode=MODES[rng.integers(len(MODES))],
            engine=str(rng.choice(["functional", "functional", "cycle"])),
            threads=int(rng.integers(1, 3)),
            poison=seed if rng.random() < 0.5 else None,
        )


def check_quantised(random: RandomModel, setting: Setting) -> int:
    """Compare what the accelerator and the CPU give at every boundary, and return the number of
    multiply-accumulates on the accelerator."""
    network = prepared(random.model, setting.mode, random.seed)
    run = check_boundaries(
        lambda machines, **how: from_bytes(to_bytes(network.build(machines, **how))),
        load_config(setting.preset),
        random.data(1),
        engine=setting.engine,
        threads=setting.threads,
        poison=setting.poison,
    )
    return sum(each.macs for each in run.profile.steps if each.device == "accelerator")


def check(seeds: range) -> None:
    """All models, each on what its seed says. A failing test shows the seed: the last line that it
    printed."""
    shares = []
    for seed in seeds:
        random, setting = RandomModel.of(seed), Setting.of(seed)
        print(f"seed {seed}: {setting}")
        check_real(random)
        shares.append(check_quantised(random, setting))
    assert sum(each > 0 for each in shares) > len(shares) / 4


def test_a_few() -> None:
    check(range(4))


def test_all_meet() -> None:
    """Every preset meets every mode, engine and number of threads in the exhaustive test."""
    drawn = {(it.preset, it.mode, it.engine, it.threads) for it in map(Setting.of, MANY)}
    assert len(drawn) == len(preset_names()) * len({*MODES}) * 2 * 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", MANY[::25])
def test_many(first: int) -> None:
    check(range(first, first + 25))
