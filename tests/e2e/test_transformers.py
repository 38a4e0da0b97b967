"""Transformers on the accelerator: all products there, the rest on the CPU. Random ones are in
`test_random_blocks.py`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import pytest
from typer.testing import CliRunner

from tandem.hw.config_files import load_config
from tandem.scripts.cli import app
from tests.support.compiler.models.transformers import Transformer

BERT = Transformer(padding=3)
GPT = Transformer(causal=True, layers=2)
WHOLE_BLOCKS = Transformer(length=16, features=32, heads=2)
WHOLE = Transformer(vocabulary=1000, length=128, features=256, heads=4, hidden=1024, layers=2)
PASSABLE_SQNR = 20.0


def run(sizes: Transformer, folder: Path, *options: str) -> dict[str, Any]:
    """A run on random tokens, equal to the CPU's in every bit."""
    onnx.save(sizes.model(), folder / "network.onnx")
    path = str(folder / "network.onnx")
    result = CliRunner().invoke(app, ["run", path, *options, "--check", "--json"])
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    assert found["check"]["equal"] is True
    return found


@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param(BERT, id="bert", marks=pytest.mark.exhaustive),
        pytest.param(GPT, id="gpt", marks=pytest.mark.exhaustive),
        pytest.param(WHOLE_BLOCKS, id="whole"),
    ],
)
def test_small(sizes: Transformer, tmp_path: Path) -> None:
    found = run(sizes, tmp_path, "--config", "small8", "--compare", "rtl,cycle")
    for layer in found["layers"]:
        if layer["device"] == "cpu":
            assert not any(name in layer["op"] for name in ("matmul", "conv2d", "dense"))
    assert found["sqnr"]["logits"] >= PASSABLE_SQNR


@pytest.mark.parametrize(
    "scales_operands", [False, pytest.param(True, marks=pytest.mark.exhaustive)]
)
def test_keys_and_results_stay_in_the_layout_of_the_machine(
    scales_operands: bool, tmp_path: Path
) -> None:
    """Where heads and tokens fill blocks, only softmax and values pass through the CPU."""
    sizes = replace(WHOLE_BLOCKS, scales_operands=scales_operands)
    found = run(sizes, tmp_path, "--config", "small8", "--engine", "functional")
    names = [layer["op"] for layer in found["layers"]]
    products = [at for at, name in enumerate(names) if "matmul" in name]
    scores, seen = products
    # Queries, keys and values and the scores are one launch, and so is what follows softmax.
    assert all("conv2d" in name for name in names[scores - 3 : scores])
    assert "conv2d" in names[seen + 1]


@pytest.mark.exhaustive
def test_a_larger_one_fills_the_array(tmp_path: Path) -> None:
    found = run(WHOLE, tmp_path, "--config", "pynq-x")
    layers = [layer for layer in found["layers"] if layer["cycles"]]
    macs = sum(layer["macs"] for layer in layers)
    assert macs / (found["cycles"] * load_config("pynq-x").macs) > 0.95
    assert found["sqnr"]["logits"] >= PASSABLE_SQNR
