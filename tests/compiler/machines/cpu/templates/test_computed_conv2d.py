"""Convolutions whose weights are no constants, against the evaluator."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.driver import build
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.nodes import Function
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.runtime.artifact import Provenance
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tests.support.compiler.graph.graphs import graph

CASES = {
    "plain": ("float32[2, 3, 7, 6]", "float32[20, 3, 3, 3]", "padding=[1, 1, 1, 1]"),
    "strides": (
        "float32[1, 8, 9, 9]",
        "float32[16, 8, 3, 2]",
        "strides=[2, 2], padding=[1, 0, 0, 1]",
    ),
    "few pixels": ("float32[4, 5, 4, 4]", "float32[7, 5, 3, 3]", ""),
    "gradient of weights": ("float32[6, 8, 6, 6]", "float32[16, 8, 4, 4]", ""),
    "dilation": ("float32[2, 4, 9, 9]", "float32[8, 4, 3, 3]", "dilation=[2, 2]"),
    "one by one": ("float32[2, 17, 5, 5]", "float32[33, 17, 1, 1]", "strides=[2, 2]"),
    "float64": ("float64[2, 3, 5, 5]", "float64[9, 3, 3, 3]", ""),
}


def convolution(data: str, weight: str, attributes: str) -> Function:
    extra = f", {attributes}" if attributes else ""
    return graph(f"""
func @f(x: {data}, w: {weight}):
  y = conv2d(x, w{extra})
  z = relu(y)
  return z
""")


@pytest.mark.parametrize("case", CASES)
def test_results_are_the_evaluators(case: str) -> None:
    function = convolution(*CASES[case])
    random = np.random.default_rng(0)
    given = {}
    for param in function.params:
        shape, dtype = param.type.static_shape("x"), param.type.dtype.numpy  # type: ignore[union-attr]
        given[param.name] = random.standard_normal(shape).astype(dtype)
    artifact = build(function, [cpu(CpuTarget.host())], Provenance("f"))
    found = Executor(artifact, [CpuDevice()]).run(given).outputs
    wanted = evaluate(function, [*given.values()])
    (result,) = found.values()
    np.testing.assert_allclose(result, wanted, rtol=2e-5, atol=2e-5)
