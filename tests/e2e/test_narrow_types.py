"""Models with integers of 2 and 4 bits and float4e2m1: on the CPU and the accelerator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto as T
from onnx import helper, numpy_helper

import tandem
from tandem.runtime.element_types import dtype_of, limits_of

COLUMNS, DEPTH, BLOCK = 12, 70, 32
NAMES: dict[int, str] = {T.INT4: "int4", T.UINT4: "uint4", T.INT2: "int2", T.UINT2: "uint2"}


def codes(kind: int, random: np.random.Generator) -> NDArray[Any]:
    if kind not in NAMES:
        return random.standard_normal((DEPTH, COLUMNS)).astype(dtype_of("float4_e2m1fn"))
    dtype = dtype_of(NAMES[kind])
    low, high = limits_of(dtype) or (0, 0)
    return random.integers(low, high + 1, (DEPTH, COLUMNS)).astype(dtype)


def model(path: Path, kind: int) -> tuple[str, NDArray[np.float32]]:
    """A product with weights in blocks along the depth, which block 3 does not fill; and these."""
    random = np.random.default_rng(kind)
    weights = codes(kind, random)
    scales = random.uniform(0.05, 0.3, (-(-DEPTH // BLOCK), COLUMNS)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("DequantizeLinear", ["w", "s"], ["r"], axis=0, block_size=BLOCK),
            helper.make_node("MatMul", ["x", "r"], ["y"]),
        ],
        "graph",
        [helper.make_tensor_value_info("x", T.FLOAT, [4, DEPTH])],
        [helper.make_tensor_value_info("y", T.FLOAT, [4, COLUMNS])],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(scales, "s")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)
    onnx.checker.check_model(made)
    # The file holds the packed elements: two or four in a byte.
    bits = 2 if kind in (T.INT2, T.UINT2) else 4
    assert len(made.graph.initializer[0].raw_data) == -(-weights.size * bits // 8)
    onnx.save(made, path)
    return str(path), weights.astype(np.float32) * np.repeat(scales, BLOCK, 0)[:DEPTH]


@pytest.mark.parametrize("kind", [*NAMES, T.FLOAT4E2M1])
def test_weights_in_blocks(kind: int, tmp_path: Path) -> None:
    path, weights = model(tmp_path / "model.onnx", kind)
    x = np.random.default_rng(1).standard_normal((4, DEPTH)).astype(np.float32)
    real = tandem.compile(path, tandem.Cpu(), quantize="none")
    found = tandem.Session(real).run({"x": x}).outputs["y"]
    np.testing.assert_allclose(found, x @ weights, 1e-4, 1e-4)
    array = tandem.compile(path, "tiny", calibrate=[{"x": x}])
    on_array = tandem.Session(array, engine="functional").run({"x": x})
    assert np.nansum(on_array.layers["macs"]) == 4 * DEPTH * COLUMNS
    error = on_array.outputs["y"] - x @ weights
    assert np.mean(error**2) < 1e-3 * np.mean((x @ weights) ** 2)  # 30 dB of int8


@pytest.mark.parametrize("kind", [*NAMES])
def test_inputs_and_results(kind: int, tmp_path: Path) -> None:
    """In an artifact's file and out of it, and in C's header as bytes."""
    path = tmp_path / "model.onnx"
    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["x"], ["y"], to=T.FLOAT),
            helper.make_node("Transpose", ["x"], ["z"], perm=[1, 0]),
        ],
        "graph",
        [helper.make_tensor_value_info("x", kind, [3, 5])],
        [
            helper.make_tensor_value_info("y", T.FLOAT, [3, 5]),
            helper.make_tensor_value_info("z", kind, [5, 3]),
        ],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)
    onnx.save(made, path)
    artifact = tandem.compile(str(path), tandem.Cpu(), quantize="none")
    artifact.save(tmp_path / "model.tandem")
    x = codes(kind, np.random.default_rng(0))[:3, :5].copy()
    run = tandem.Session(tandem.Artifact.load(tmp_path / "model.tandem")).run({"x": x})
    assert run.outputs["z"].dtype == x.dtype
    np.testing.assert_array_equal(run.outputs["y"], x.astype(np.float32))
    np.testing.assert_array_equal(run.outputs["z"].astype(int), x.T.astype(int))
    artifact.export(tmp_path / "c", {"x": x})
    sign = "u" if NAMES[kind][0] == "u" else ""
    assert (
        f" {sign}int8_t *x; /* {NAMES[kind]}[3, 5] */" in (tmp_path / "c" / "model.h").read_text()
    )
