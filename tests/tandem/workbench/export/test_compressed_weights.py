"""Compressed weights in files of artifacts and in C libraries, on emulated processors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.processors import PROCESSORS
from tandem.hw.weight_formats import BINARY, INT4, MXFP4, TERNARY, WeightFormat
from tandem.runtime.artifact import from_bytes, to_bytes
from tandem.workbench.export import export_library
from tests.support.compiler.machines.cpu.compressed import Weights, compiled, run
from tests.support.compiler.operators.operators import numbers, same
from tests.support.workbench.cross import CROSS

LAYER = """  d = dense(x, w)
  y = requantise(d, int32[](3), int64[](7), shift=9, low=-128, high=127)
  return y
"""


def layer(form: WeightFormat, rows: int, shape: tuple[int, int]) -> Weights:
    return Weights.draw(form, shape, 32, seed=rows)


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
