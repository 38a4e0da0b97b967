"""MLPerf Tiny's networks on Cortex-M: their sizes, and that they run."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import tandem
from tandem.scripts.bench import microcontrollers
from tandem.scripts.bench.mlperf_tiny import MLPERF_TINY
from tests.support.workbench.cross import CROSS

SIZES = {
    "resnet8": (77_706, 12_501_632),
    "mobilenet-v1-0.25": (210_850, 7_489_664),
    "ds-cnn": (22_604, 2_656_768),
    "autoencoder": (265_864, 264_192),
}
"""Weights and products, counted from the paper's shapes, batch normalisation folded."""


@pytest.mark.every(2)
@pytest.mark.parametrize("name", MLPERF_TINY)
def test_the_networks(name: str) -> None:
    model = MLPERF_TINY[name]()
    onnx.checker.check_model(model, full_check=True)
    compiled = tandem.compile(model, tandem.Cpu(), quantize=None)
    inputs = compiled.noise()
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (wanted,) = session.run(["output"], inputs)
    found = tandem.Session(compiled).run(inputs)["output"]
    bound = 1e-4 * float(np.abs(wanted).max())
    np.testing.assert_allclose(found, wanted, rtol=0, atol=bound)
    weights = sum(int(np.prod(each.dims)) for each in model.graph.initializer)
    products = sum(step.macs for step in compiled.network.artifact.manifest.steps)
    assert (weights, products) == SIZES[name]


def test_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(microcontrollers, "MLPERF_TINY", {"ds-cnn": MLPERF_TINY["ds-cnn"]})
    found = [*microcontrollers.measure()]
    assert [each.unit for each in found] == ["KB"] * 6
    assert all(each.met for each in found)
    assert [each.value for each in found if "RAM" in each.name] == [16.0, 16.0]


@pytest.mark.exhaustive
@pytest.mark.parametrize("processor", microcontrollers.PROCESSORS)
@pytest.mark.parametrize("name", MLPERF_TINY)
def test_they_run_there(tmp_path: Path, name: str, processor: str) -> None:
    CROSS[processor].require()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = tandem.compile(MLPERF_TINY[name](), tandem.Cpu(processor), quantize="multiplier")
        compiled.export(tmp_path / "library", name="network")
    assert CROSS[processor].check(tmp_path / "library") == "as expected\n"
