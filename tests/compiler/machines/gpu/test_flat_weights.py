"""Weights of convolutions as matrices: which, what kernels make of them, and vectors of loads."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest

from tandem.compiler.graph import Body, Call, Constant, Function, Let, Param, TensorType, Var
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.products import Conv2d
from tandem.compiler.graph.passes import Fuse, InferTypes, transform
from tandem.compiler.graph.visit import functions
from tandem.compiler.ir.dtypes import FLOAT32, INT8, INT32, DType
from tandem.compiler.machines.gpu.backend import gpu_kernel_program
from tandem.compiler.machines.gpu.codegen.ptx import ptx_text
from tandem.compiler.machines.gpu.flat_weights import FlatWeights
from tandem.compiler.machines.gpu.machine import nvidia_gpu
from tests.support.compiler.graph.graphs import graph, same_values
from tests.support.compiler.machines.gpu.kernels_on_host import run_on_host
from tests.support.compiler.machines.gpu.on_opencl import on_opencl


def convolution(shape: Sequence[int], dtype: DType = INT8) -> Function:
    """A convolution with constant weights, of bytes by default."""
    weight = np.random.default_rng(0).integers(-128, 128, shape).astype(dtype.numpy)
    sums = INT32 if dtype == INT8 else dtype
    call = Call(OPERATORS["conv2d"], (Var("x"), Constant(weight)), Conv2d(out_dtype=sums))
    image = Param("x", TensorType((1, shape[1], 8, 8), dtype))
    return Function("f", (image,), Body((Let("y", call),), Var("y")))


def image(function: Function) -> np.ndarray:
    type_ = function.params[0].type
    assert isinstance(type_, TensorType)
    shape = type_.static_shape("x")
    return np.random.default_rng(1).integers(-128, 128, shape).astype(np.int8)


def kernel(function: Function) -> Function:
    """The one kernel of a function."""
    made = transform(function, (FlatWeights(), Fuse(layers_widen=True), InferTypes()))
    (found, _) = functions(made)
    return found


def test_weights_are_matrices() -> None:
    before = convolution((4, 6, 3, 3))
    after = transform(before, (FlatWeights(),))
    same_values(evaluate(before, [image(before)]), evaluate(after, [image(before)]))
    assert {str(each.type) for each in kernel(before).params} == {"int8[1, 6, 8, 8]", "int8[4, 54]"}


@pytest.mark.parametrize(
    "function",
    [
        convolution((4, 6, 1, 1)),
        convolution((4, 3, 3, 3)),
        convolution((4, 6, 3, 3), dtype=FLOAT32),
        graph(
            "func @f(x: float32[1, 3, 8, 8], w: float32[4, 3, 3, 3]):\n"
            "  y = conv2d(x, w)\n  return y"
        ),
    ],
    ids=["no window", "odd", "float32", "no constant"],
)
def test_others_stay(function: Function) -> None:
    assert transform(function, (FlatWeights(),)) == function


def test_vectors_of_loads() -> None:
    """A block of 256 threads loads 32 rows of 64 terms: eight bytes at once."""
    function = convolution((32, 32, 2, 2))
    made = kernel(function)
    program = gpu_kernel_program(made, nvidia_gpu())
    text = ptx_text(program)
    assert re.findall(r"ld\.global\S*\.v\d\S*", text) == ["ld.global.nc.v2.b32"]
    assert "mma.sync" in text
    weight = function.body.lets[0].value
    assert isinstance(weight, Call)
    constant = weight.args[1]
    assert isinstance(constant, Constant)
    arrays = {4: image(function), 2: constant.array.reshape(32, -1)}
    given = [arrays[len(each.shape)] for each in program.inputs]
    wanted = evaluate(function, [image(function)])
    assert isinstance(wanted, np.ndarray)
    np.testing.assert_array_equal(on_opencl(program, given)[0], wanted)
    np.testing.assert_array_equal(run_on_host(program, given)[0][0], wanted)
