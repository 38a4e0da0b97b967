"""From graphs to artifacts that give what the graphs give."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from tandem.compiler.driver.build import Backends, build
from tandem.compiler.errors import BuildError, CodegenError, GraphError
from tandem.compiler.graph import Constant, Function
from tandem.compiler.graph.evaluate import NestedArray, evaluate
from tandem.compiler.graph.nodes import If
from tandem.compiler.graph.types import symbols_of
from tandem.compiler.graph.visit import all_lets
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.plan.target import Target
from tandem.runtime.artifact import Arena, Artifact, Provenance, to_bytes
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tandem.runtime.native import ObjectCode
from tests.support.compiler.graph.graphs import graph, graphs, inputs, same_values
from tests.support.runtime.artifacts import compiled, network

HOST = cpu(CpuTarget.host(threads=1))


def built(function: Function, **options: Any) -> Artifact:
    return build(function, [HOST], Provenance("test"), **options)


def agrees(function: Function, tolerance: float = 0.0, **options: Any) -> Artifact:
    """The artifact, which gives what the graph gives."""
    artifact = built(function, **options)
    given = inputs(function)
    wanted = evaluate(function, given, NativeRunner(reassociate=False))
    arrays = {
        param.name: np.asarray(array) for param, array in zip(function.params, given, strict=True)
    }
    run = Executor(artifact, [CpuDevice(1)]).run(arrays)
    flat = flattened(wanted)
    assert len(flat) == len(run.outputs)
    for one, other in zip(flat, run.outputs.values(), strict=True):
        same_values(one, other, tolerance)
    return artifact


def flattened(value: NestedArray) -> list[Any]:
    if not isinstance(value, tuple):
        return [value]
    return [array for each in value for array in flattened(each)]


def test_the_network_of_the_other_tests() -> None:
    agrees(network(), 1e-5)


def test_results_are_called_as_in_the_graph() -> None:
    """Whatever passes find to be the same, or constant."""
    function = graph(
        "func @f(x: float32[2, 3]) -> (float32[2, 3], (float32[2, 1], float32[2, 2]), float32[2], "
        "float32[2, 3], float32[]):\n"
        "  a = reshape(x, shape=[3, 2])\n"
        "  b = reshape(a, shape=[2, 3])\n"
        "  n = relu(b)\n"
        "  m = relu(b)\n"
        "  s = split(x, sizes=[1, 2], axis=1)\n"
        "  k = negative(float32[2](1, 2))\n"
        "  r = (m, s, k, n, float32[](4))\n"
        "  return r\n"
    )
    artifact = built(function)
    names = [each.name for each in artifact.manifest.results]
    assert names == ["m", "s.0", "s.1", "k", "n", "output_5"]
    agrees(function)


def test_the_same_graph_gives_the_same_bytes() -> None:
    artifact = compiled()
    again = build(network(), [HOST], artifact.manifest.provenance)
    assert to_bytes(again) == to_bytes(artifact)


@settings(max_examples=12, deadline=None)
@given(function=graphs(steps=4))
def test_random_graphs(function: Function) -> None:
    decided = any(isinstance(let.value, If) for let in all_lets(function.body))
    symbols = {name for each in function.params for name in symbols_of(each.type)}
    sizes = dict.fromkeys(sorted(symbols), 2)
    with suppress(BuildError) if decided else nullcontext():
        agrees(function, 1e-5, sizes=sizes)


def test_memory_is_shared() -> None:
    artifact = agrees(
        graph("""
func @f(x: float32[64]):
  a = softmax(x)
  b = softmax(a)
  c = softmax(b)
  d = softmax(c)
  return d
""")
    )
    places = [each.place for each in artifact.manifest.tensors]
    assert places.count(Arena(0)) == 2
    assert artifact.manifest.arena_bytes == 2 * 256


def test_layers_of_one_shape_share_code_and_equal_weights_a_place() -> None:
    weight = Constant(np.eye(4, dtype=np.float32))
    text = """
func @f(x: float32[1, 4]):
  a = dense(x, W)
  b = dense(a, V)
  c = dense(b, W)
  return c
"""
    numbers = ", ".join(map(str, weight.array.reshape(-1)))
    others = ", ".join(map(str, 2 * weight.array.reshape(-1)))
    text = text.replace("W", f"float32[4, 4]({numbers})").replace("V", f"float32[4, 4]({others})")
    artifact = agrees(graph(text))
    assert [*artifact.of_kind(ObjectCode)] == ["dense"]
    assert len(artifact.constants) == 2
    first, second, third = (each.inputs[1] for each in artifact.manifest.steps)
    assert first == third != second


def test_weights_that_are_given_when_it_runs() -> None:
    agrees(
        graph("""
func @f(x: float32[1, 3, 5, 5], w: float32[4, 3, 3, 3]):
  a = conv2d(x, w)
  b = relu(a)
  return b
"""),
        1e-5,
    )


def test_a_layer_with_known_weights_and_one_without() -> None:
    """The same kernel, and two programs."""
    artifact = agrees(
        graph("""
func @f(x: float32[1, 2], w: float32[2, 2]):
  a = dense(x, w)
  b = dense(a, float32[2, 2](1.0, 2.0, 3.0, 4.0))
  return b
"""),
        1e-5,
    )
    assert [*artifact.of_kind(ObjectCode)] == ["dense", "dense_packed"]


@pytest.mark.parametrize(
    "program",
    [
        "func @f(x: float32[2]):\n  return x\n",
        "func @f(x: float32[2]):\n  r = (x, x)\n  return r\n",
        "func @f(x: float32[2]):\n  return float32[2](1.0, 2.0)\n",
        "func @f(x: float32[2]):\n  a = relu(x)\n  r = (a, a, x)\n  return r\n",
        "func @f(x: float32[0, 3]):\n  a = relu(x)\n  return a\n",
        "func @f(x: float32[4]):\n  a = split(x, sizes=[1, 3])\n  b = a[1]\n"
        "  c = relu(b)\n  r = (c, a)\n  return r\n",
    ],
)
def test_results_of_any_kind(program: str) -> None:
    agrees(graph(program))


def test_a_batch_that_is_chosen() -> None:
    program = "func @f(x: float32[N, 3]):\n  a = softmax(x)\n  return a\n"
    artifact = agrees(graph(program), sizes={"N": 2})
    assert artifact.manifest.tensors[0].shape == (2, 3)
    with pytest.raises(GraphError, match="symbolic"):
        built(graph(program))
    with pytest.raises(GraphError, match="no symbol M"):
        built(graph(program), sizes={"M": 2})


def test_names_of_results() -> None:
    program = "func @f(x: float32[2]):\n  a = relu(x)\n  r = (a, x)\n  return r\n"
    artifact = built(graph(program), name="net", inputs=["in:0"], outputs=["first", "second"])
    assert artifact.manifest.name == "net"
    run = Executor(artifact, [CpuDevice(1)]).run({"in:0": np.array([-1, 1], np.float32)})
    assert run.outputs["first"].tolist() == [0, 1]
    assert [each.name for each in artifact.manifest.results] == ["first", "second"]
    with pytest.raises(BuildError, match="gives 2 tensors, and 1 are named: first"):
        built(graph(program), outputs=["first"])
    with pytest.raises(BuildError, match="takes 1 tensors, and 2 are named: x, y"):
        built(graph(program), inputs=["x", "y"])


def test_what_is_being_done() -> None:
    told: list[str] = []
    built(network(), report=told.append)
    assert told[0] == "simplifying"
    assert "compiling conv2d_relu" in told


def test_code_for_a_lesser_processor() -> None:
    lesser = cpu(HOST.machine.without("avx512f", "avx2", "avx"))
    artifact = build(network(), [lesser], Provenance("test"))
    assert all("avx2" not in each.features for each in artifact.of_kind(ObjectCode).values())
    given = inputs(network())
    run = Executor(artifact, [CpuDevice(1)]).run({"x": given[0], "s": given[1]})  # type: ignore[dict-item]
    wanted = flattened(evaluate(network(), given, NativeRunner(reassociate=False)))
    same_values(run.outputs["f"], wanted[0], 1e-5)


# Back ends that several artifacts share -----------------------------------------------------------

DENSE = graph("""
func @f(x: float32[1, 2], w: float32[2, 2]):
  a = dense(x, w)
  b = dense(a, float32[2, 2](1.0, 2.0, 3.0, 4.0))
  return b
""")


def built_with(
    backends: Backends, told: list[str], function: Function | None = None, target: Any = HOST
) -> Artifact:
    given = network() if function is None else function
    return build(given, [target], Provenance("net"), backends=backends, report=told.append)


def compiled_kernels(told: list[str]) -> list[str]:
    return [each for each in told if each.startswith("compiling ")]


def test_one_for_each_target() -> None:
    backends = Backends()
    again = cpu(CpuTarget.host(threads=1))
    assert backends.of(HOST) is backends.of(again)
    assert backends.of(cpu(CpuTarget.host(threads=2))) is not backends.of(HOST)


def test_a_second_artifact_is_the_same_and_compiles_nothing() -> None:
    backends = Backends()
    told: list[str] = []
    first = built_with(backends, told)
    assert "compiling conv2d_relu" in told
    told.clear()
    assert to_bytes(built_with(backends, told)) == to_bytes(first)
    assert not compiled_kernels(told)
    assert to_bytes(built_with(Backends(), told)) == to_bytes(first)
    assert compiled_kernels(told)


def test_a_kernel_is_compiled_once_for_each_target_and_way_to_hold_weights() -> None:
    backends = Backends()
    told: list[str] = []
    built_with(backends, told, DENSE)
    assert compiled_kernels(told) == ["compiling dense"] * 2
    built_with(backends, told, DENSE)
    assert compiled_kernels(told) == ["compiling dense"] * 2
    built_with(backends, told, DENSE, cpu(CpuTarget.host(threads=2)))
    assert compiled_kernels(told) == ["compiling dense"] * 4


def test_a_constant_as_weight_is_not_the_same_constant_as_data() -> None:
    function = graph("""
func @f(x: float32[2, 2]):
  a = dense(x, float32[2, 2](1.0, 2.0, 3.0, 4.0))
  b = dense(float32[2, 2](1.0, 2.0, 3.0, 4.0), a)
  return b
""")
    weights, data = built_with(Backends(), [], function).manifest.steps
    assert weights.on_host
    assert data.on_host
    assert (weights.code, data.code) == ("dense", "dense_unpacked")


def test_what_cannot_be_compiled_is_not_known_afterwards() -> None:
    machine = HOST.machine
    wrong: Target[CpuTarget] = cpu(CpuTarget("no-such-triple", machine.cpu, machine.features))
    backends = Backends()
    for _ in range(2):
        with pytest.raises(CodegenError):
            built_with(backends, [], target=wrong)
