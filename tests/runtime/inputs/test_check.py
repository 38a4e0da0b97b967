"""Inputs that fit, and those that do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.driver import build
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.runtime.artifact import Artifact, Input, Provenance, Tensor
from tandem.runtime.devices import CpuDevice
from tandem.runtime.errors import InputError
from tandem.runtime.executor import Executor
from tandem.runtime.inputs.check import check_finite, check_inputs, rounded_inputs
from tests.support.compiler.graph.graphs import graph

SCALE = "float32[](0.5), int8[](0)"
ROUNDED = f"""
func @net(a: float32[2, 3], b: float32[2, 3], c: float32[2, 3], d: int8[2, 3]):
  a_low = negative(a)
  a_sums = reduce_sum(a_low, axes=[0], keepdims=True)
  a_small = quantise(a_sums, {SCALE})
  b_small = quantise(b, {SCALE})
  sums = add(b_small, d)
  c_high = relu(c)
  r = (a_small, sums, c_high)
  return r
"""
"""Of a after it went through real numbers, of b at once, of c never, of d before."""


def rounded(scales: str = "given") -> Artifact:
    """The network, whose scales are the model's own."""
    source = Provenance("net", options={"scales": scales})
    return build(graph(ROUNDED), [cpu(CpuTarget.host(threads=1))], source)


def given() -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {name: np.ones((2, 3), np.float32) for name in "abc"}
    return arrays | {"d": np.ones((2, 3), np.int8)}


def test_which_inputs_become_integers() -> None:
    assert rounded_inputs(rounded().manifest) == {"a": True, "b": False}
    assert rounded_inputs(rounded("measured").manifest) == {"a": True, "b": True}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_integers_stand_for_finite_numbers(value: float) -> None:
    executor = Executor(rounded(), [CpuDevice(1)])
    for name in "ab" if np.isnan(value) else "a":
        arrays = given()
        arrays[name][1, 1:] = value
        message = rf"^input {name} of net is {value} at \[1, 1\]: the network is quantised, and "
        with pytest.raises(InputError, match=message):
            executor.run(arrays)
    arrays = given()
    arrays["c"][0, 0] = value
    if np.isinf(value):
        # ONNX: saturate((x / scale) + zero_point), and then b_small + d.
        arrays["b"][1, 2], arrays["d"][1, 2] = value, 0
    found = executor.run(arrays).outputs
    np.testing.assert_equal(found["c_high"][0, 0], np.maximum(np.float32(value), 0))
    if np.isinf(value):
        assert found["sums"][1, 2] == (127 if value > 0 else -128)


def test_the_first_place() -> None:
    array = np.zeros((2, 3, 4), np.float32)
    array[0, 2, 3], array[1, 0, 0] = np.inf, np.nan
    with pytest.raises(InputError, match=r"x of net is inf at \[0, 2, 3\]"):
        check_finite("net", {"x": True}, {"x": array})
    with pytest.raises(InputError, match=r"x of net is nan at \[1, 0, 0\]"):
        check_finite("net", {"x": False}, {"x": array})
    check_finite("net", {}, {"x": array})
    check_finite("net", {"x": True}, {"x": np.full((2, 2), np.finfo(np.float32).max)})
    check_finite("net", {"x": True}, {"x": np.empty((0, 2), np.float32)})


def test_names_shapes_and_types() -> None:
    tensor = Tensor("x", (2,), "float32", Input())
    check_inputs("net", [tensor], {"x": np.zeros(2, np.float32)})
    with pytest.raises(InputError, match=r"^net has no input y; it takes x float32\[2\]$"):
        check_inputs("net", [tensor], {"x": np.zeros(2, np.float32), "y": np.zeros(2)})
    with pytest.raises(InputError, match=r"^input x of net is missing; it takes x float32\[2\]$"):
        check_inputs("net", [tensor], {})
    with pytest.raises(InputError, match=r"^input x of net is float32\[2\], not float64\[2\]$"):
        check_inputs("net", [tensor], {"x": np.zeros(2)})
    with pytest.raises(InputError, match=r"^net has no input y; it takes nothing$"):
        check_inputs("net", [], {"y": np.zeros(2)})
