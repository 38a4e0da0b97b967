"""Quantisation at the ends of its range, against ONNX's reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tandem.compiler.driver.compile_onnx import prepare_network
from tandem.compiler.frontends.onnx import import_model
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.machines.defaults import compile_options
from tandem.runtime.artifact import Provenance
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tests.support.compiler.frontends.onnx_models import model

make = helper.make_node


@pytest.mark.parametrize(
    "data",
    [np.zeros((2, 3)), np.full((2, 3), 4.0), np.full((2, 3), -4.0), np.array([[-1, 0, 3]])],
)
def test_scales_that_are_measured(data: NDArray[Any]) -> None:
    """Of zeros, for which the standard divides by 0, too."""
    x = data.astype(np.float32)
    given = model(
        [make("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])],
        {"x": list(x.shape)},
        ["y", "s", "z"],
    )
    found = evaluate(import_model(given).function, [x], NativeRunner(reassociate=False))
    wanted: Any = ReferenceEvaluator(given).run(None, {"x": x})
    assert isinstance(found, tuple)
    for ours, theirs in zip(found, wanted, strict=True):
        assert isinstance(ours, np.ndarray)
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16])
def test_infinity_saturates(dtype: Any) -> None:
    """As the standard says: saturate((x / y_scale) + y_zero_point)."""
    limits = np.iinfo(dtype)
    x = np.array([-np.inf, -1e30, -1, 1, 1e30, np.inf], np.float32)
    zero = np.array(3, dtype)
    given = model(
        [make("QuantizeLinear", ["x", "s", "z"], ["y"])],
        {"x": [6]},
        ["y"],
        {"s": np.array(0.5, np.float32), "z": zero},
        opset=21,
    )
    assert given.graph.output[0].type.tensor_type.elem_type != TensorProto.FLOAT
    prepared = prepare_network(given, Provenance("q"), compile_options())
    artifact = prepared.build([cpu(CpuTarget.host(threads=1))])
    (found,) = Executor(artifact, [CpuDevice(1)]).run({"x": x}).outputs.values()
    whole = [limits.min, limits.min, max(1, limits.min), 5, limits.max, limits.max]
    np.testing.assert_array_equal(found, np.array(whole, dtype))
