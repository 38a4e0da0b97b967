"""Small networks of float16 as ONNX models, and networks of a GPU run kernel by kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

from tandem.compiler.driver.build import Backends, offloading_passes
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import Atom, Call, Function, Var
from tandem.compiler.graph.passes import transform
from tandem.compiler.machines.gpu.backend import gpu_kernel_program
from tandem.compiler.machines.gpu.launch import GpuProgram
from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.machines.gpu.target import gpu
from tandem.workbench.models import ModelOptions, import_model

Array: TypeAlias = NDArray[Any]
Run: TypeAlias = Callable[[GpuProgram, Sequence[Array]], Sequence[Array]]
"""Runs a kernel's program on arrays."""


def two_layers(path: Path, side: int = 32) -> dict[str, Array]:
    """Write a network with two products, a bias, a ReLU and a residual; returns its weights."""
    generator = np.random.default_rng(3)
    weights = {
        name: (generator.standard_normal(shape) / 4).astype(np.float16)
        for name, shape in (("w", (side, side)), ("b", (side,)), ("v", (side, side)))
    }
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["sums"], transB=1),
        helper.make_node("Relu", ["sums"], ["active"]),
        helper.make_node("MatMul", ["active", "v"], ["product"]),
        helper.make_node("Add", ["product", "x"], ["y"]),
    ]
    write(path, nodes, weights, (side, side), (side, side))
    return weights


def convolution(path: Path, channels: int = 32, side: int = 6) -> dict[str, Array]:
    """Write a convolution with a border; returns its weights."""
    shape = channels, channels, 3, 3
    weights = {"w": (np.random.default_rng(4).standard_normal(shape) / 8).astype(np.float16)}
    image = 1, channels, side, side
    write(path, [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4)], weights, image, image)
    return weights


def write(
    path: Path,
    nodes: Sequence[NodeProto],
    weights: dict[str, Array],
    given: Sequence[int],
    result: Sequence[int],
) -> None:
    """Write a model of float16 from `x` to `y`."""
    graph = helper.make_graph(
        nodes,
        "halves",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT16, given)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT16, result)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())


def imported(path: Path) -> Function:
    """The graph of a model, in real numbers."""
    return import_model(str(path), ModelOptions(quantise=None), None).prepared(None).function


def by_kernels(function: Function, machine: GpuMachine) -> Function:
    """A network of calls of a GPU's kernels."""
    target, backends = gpu(machine), Backends()
    passes = *offloading_passes(function, (target,), backends), *backends.of(target).passes()
    return transform(function, passes)


def run_kernels(
    network: Function, machine: GpuMachine, given: Sequence[Array], run: Run
) -> NDArray[Any]:
    """The result of such a network, kernel by kernel."""
    names = [each.name for each in network.params]
    known: dict[str, Array] = dict(zip(names, given, strict=True))

    def array(atom: Atom) -> Array:
        return atom.array if isinstance(atom, Constant) else known[atom.name]

    for let in network.body.lets:
        assert isinstance(let.value, Call)
        kernel = let.value.callee
        assert isinstance(kernel, Function)
        program = gpu_kernel_program(kernel, machine)
        params = [each.name for each in kernel.params]
        arrays = {name: array(arg) for name, arg in zip(params, let.value.args, strict=True)}
        (known[let.name],) = run(program, [arrays[each.name] for each in program.inputs])
    assert isinstance(network.body.result, Var)
    return known[network.body.result.name]
