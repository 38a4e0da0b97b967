"""Compressed weights in files of artifacts and in C libraries, on emulated processors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse_function
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.processors import PROCESSORS
from tandem.hw.weight_formats import BINARY, INT4, MXFP4, TERNARY, WeightFormat
from tandem.runtime.artifact import from_bytes, to_bytes
from tandem.workbench.export import export_library
from tests.support.compiler.machines.cpu.compressed import (
    Weights,
    compiled,
    compiled_with_codes,
    constant_types,
    run,
)
from tests.support.compiler.operators.operators import numbers, same
from tests.support.compiler.quantise.quantised_reference import reference
from tests.support.workbench.cross import CROSS

REQUANTISED = """  y = requantise(d, int32[](3), int64[](7), shift=9, low=-128, high=127)
  return y
"""
LAYER = f"  d = dense(x, w)\n{REQUANTISED}"
CONVOLUTION = "  d = conv2d(x, w, padding=[1, 1, 1, 1], strides=[2, 1])\n"


def layer(form: WeightFormat, rows: int, shape: tuple[int, int]) -> Weights:
    return Weights.draw(form, shape, 32, seed=rows)


@pytest.mark.every(2)
@pytest.mark.parametrize("processor", ["cortex-a55", "cortex-a72", "rv64gc", "wasm32"])
@pytest.mark.parametrize("form", [INT4, TERNARY], ids=lambda form: form.name)
def test_other_processors(form: WeightFormat, processor: str, tmp_path: Path) -> None:
    check(form, 1, processor, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("form", [INT4, MXFP4, TERNARY, BINARY], ids=lambda form: form.name)
@pytest.mark.parametrize("rows", [1, 3])
def test_all_processors(rows: int, form: WeightFormat, processor: str, tmp_path: Path) -> None:
    check(form, rows, processor, tmp_path)


@pytest.mark.every(2)
@pytest.mark.parametrize("processor", ["cortex-a55", "cortex-a72", "rv64gc", "wasm32"])
def test_convolutions_on_other_processors(processor: str, tmp_path: Path) -> None:
    check_convolution(INT4, processor, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("form", [INT4, MXFP4, TERNARY, BINARY], ids=lambda form: form.name)
def test_convolutions_on_all_processors(form: WeightFormat, processor: str, tmp_path: Path) -> None:
    check_convolution(form, processor, tmp_path)


def check_convolution(form: WeightFormat, processor: str, folder: Path) -> None:
    """Compare a convolution on a processor with NumPy's of the widened weights."""
    CROSS[processor].require()
    weights = Weights.windows(form, (36, 40, 3, 3), 8 if form.bits == 4 else 32)
    text = CONVOLUTION + REQUANTISED
    params = "x: int8[1, 40, 5, 3]"
    given = {"x": numbers(3, (1, 40, 5, 3), "int8")}
    plain = parse_function(f"func @f({params}, w: int8[36, 40, 3, 3]):\n{text}", OPERATORS)
    wanted = {"y": reference(plain, [given["x"], weights.values])["y"]}
    there = compiled_with_codes(weights.graph(params, text), PROCESSORS[processor])
    assert "int8" not in constant_types(there), "codes are packed into bytes"
    export_library(there, folder / "library", given, wanted, "convolution")
    assert CROSS[processor].check(folder / "library") == "as expected\n"


def check(form: WeightFormat, rows: int, processor: str, folder: Path) -> None:
    """Compare a layer on a processor with this one, in every bit."""
    CROSS[processor].require()
    weights = layer(form, rows, (70, 147))
    function = weights.graph(f"x: int8[{rows}, 147]", LAYER)
    given = {"x": numbers(rows, (rows, 147), "int8")}
    wanted = run(compiled(function, CpuTarget.host(1)), given)
    sums = given["x"].astype(np.int64) @ weights.values.T.astype(np.int64)
    same(wanted["y"], np.clip((sums * 3 + 7) >> 9, -128, 127).astype(np.int8))
    there = compiled(function, PROCESSORS[processor])
    export_library(there, folder / "library", given, wanted, "layer")
    assert CROSS[processor].check(folder / "library") == "as expected\n"


def test_files_have_packed_codes() -> None:
    weights = layer(INT4, 1, (512, 1024))
    artifact = compiled(weights.graph("x: int8[1, 1024]", LAYER), CpuTarget.host(1))
    stored = to_bytes(artifact)
    code = sum(len(each.to_bytes()) for each in artifact.code.values())
    codes = weights.values.size * weights.form.bits_per_weight(32) / 8
    assert len(stored) - code < 1.05 * codes + 16 * 1024
    given = {"x": numbers(1, (1, 1024), "int8")}
    same(run(from_bytes(stored), given)["y"], run(artifact, given)["y"])
