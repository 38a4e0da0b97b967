"""Operators evaluated on arrays, by the interpreter, the CPU, and ONNX's reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import helper
from onnx.reference import ReferenceEvaluator
from onnx.shape_inference import infer_shapes

from tandem.compiler.ir.dtypes import dtype_of
from tandem.compiler.ir.interpreter import run
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.compiler.machines.cpu.schedules.generic import cpu_schedule
from tandem.compiler.machines.cpu.schedules.simd import Simd
from tandem.compiler.te import Tensor, placeholder
from tandem.compiler.te.build import program_of

Array = NDArray[Any]

OPSET = 24
"""The ONNX opset of the reference operators."""


def given_as(name: str, array: Array) -> Tensor:
    """A placeholder for an array."""
    return placeholder(array.shape, dtype_of(array.dtype.name), name)


def numbers(seed: int, shape: Sequence[int], dtype: str = "float32") -> Array:
    """Random values: floats around 0, integers over the range of 8 bits, bools."""
    generator = np.random.default_rng([seed, *shape])
    kind = np.dtype(dtype).kind
    if kind == "f":
        return generator.standard_normal(shape).astype(dtype)
    if kind == "b":
        return generator.integers(0, 2, shape).astype(bool)
    low, high = (-128, 128) if kind == "i" else (0, 256)
    return generator.integers(low, high, shape).astype(dtype)


def evaluate(output: Tensor, arrays: Mapping[str, Array]) -> Array:
    """The tensor's value, from arrays for its placeholders by name, unscheduled.

    Asserts that scheduled CPU code and the interpreter give the same values.
    """
    inputs = [given_as(name, array) for name, array in arrays.items()]
    values = [array.copy(order="C") for array in arrays.values()]
    (result,) = run(program_of([output], inputs), values)
    target = CpuTarget.host(threads=1)
    schedule = cpu_schedule(output, simd=Simd.of(target), inputs=inputs, reassociate=True)
    (native,) = compile_function(schedule.program, target)(*values)
    same(native, result)
    return result


def onnx(operator: str, *arrays: Array | None, **attributes: Any) -> Array:
    """The first output of an ONNX operator by its reference evaluator; None omits an input."""
    names = ["" if array is None else f"x{number}" for number, array in enumerate(arrays)]
    node = helper.make_node(operator, names, ["y"], **attributes)
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in zip(names, arrays, strict=True)
        if array is not None
    ]
    graph = helper.make_graph([node], "graph", inputs, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    evaluator = ReferenceEvaluator(infer_shapes(model))
    feeds = {name: array for name, array in zip(names, arrays, strict=True) if name}
    outputs = evaluator.run(["y"], feeds)
    assert isinstance(outputs, list)
    return np.asarray(outputs[0])


def same(actual: Array, expected: Array, tolerance: float = 1e-5) -> None:
    """Assert equality in shape and type; floats within a relative `tolerance` of the larger ones,
    all else exactly.
    """
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    if actual.dtype.kind != "f":
        np.testing.assert_array_equal(actual, expected)
        return
    if expected.dtype == np.float64 and tolerance == 1e-5:
        tolerance = 1e-12
    finite = np.abs(expected[np.isfinite(expected)])
    largest = float(finite.max()) if finite.size else 0.0
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * min(largest, 1.0))


def interpreted(output: Tensor, arrays: Mapping[str, Array]) -> Array:
    """The tensor's value by the interpreter alone, which takes no time to compile."""
    inputs = [given_as(name, array) for name, array in arrays.items()]
    values = [array.copy(order="C") for array in arrays.values()]
    (result,) = run(program_of([output], inputs), values)
    return result
