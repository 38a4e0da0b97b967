"""A limit of memory on programs: the same numbers to the bit, in less memory."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.driver import build
from tandem.compiler.errors import BuildError, GraphError
from tandem.compiler.graph.gradients import Adam, Sgd, training_step
from tandem.compiler.graph.nodes import Function
from tandem.compiler.graph.passes import Fuse, LimitMemory, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.recompute import MemoryLimitError
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.runtime.artifact import Artifact, Provenance
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tests.support.compiler.graph.graphs import graph

LAYERS = 6


def network(layers: int = LAYERS) -> Function:
    """Dense layers with a residual connection, and a loss."""
    lets, last = [], "x"
    for at in range(layers):
        lets += [
            f"  h{at} = dense({last}, w{at})",
            f"  a{at} = tanh(h{at})",
            f"  r{at} = add(a{at}, {last})",
        ]
        last = f"r{at}"
    weights = ", ".join(f"w{at}: float32[16, 16]" for at in range(layers))
    return graph(
        f"func @f(x: float32[64, 16], {weights}) -> float32[]:\n"
        + "\n".join(lets)
        + f"\n  s = multiply({last}, {last})\n"
        "  l = reduce_mean(s, keepdims=False)\n  return l\n"
    )


def compiled(function: Function, limit: int | None) -> Artifact:
    return build(function, [cpu(CpuTarget.host())], Provenance("f"), arena_limit=limit)


def outputs(artifact: Artifact, seed: int = 0) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    given = {
        tensor.name: random.standard_normal(tensor.shape).astype(tensor.dtype)
        for tensor in Executor(artifact, [CpuDevice(1)]).inputs
    }
    for name in given:
        if name.endswith("square"):
            given[name] = np.abs(given[name])
        if name == "step":
            given[name] = np.array(3, np.int64)
    return dict(Executor(artifact, [CpuDevice(1)]).run(given).outputs)


@pytest.mark.parametrize("clip", [None, 0.5])
def test_steps_are_equal_to_the_bit_in_less_memory(clip: float | None) -> None:
    names = [f"w{at}" for at in range(LAYERS)]
    step = training_step(network(), names, Adam(), clip)
    whole = compiled(step, None)
    wanted = outputs(whole)
    with pytest.raises(MemoryLimitError) as caught:
        compiled(step, 0)
    least = caught.value.least
    assert least < 0.8 * whole.manifest.arena_bytes
    for limit in (whole.manifest.arena_bytes, (whole.manifest.arena_bytes + least) // 2, least):
        found = compiled(step, limit)
        assert found.manifest.arena_bytes <= limit
        for name, array in outputs(found).items():
            np.testing.assert_array_equal(array, wanted[name])
    assert len(found.manifest.steps) > len(whole.manifest.steps)


KERNELS = """
kernel @k(p0: float32[64]) -> float32[64]:
  e = exp(p0)
  return e

kernel @sum(p0: float32[64], p1: float32[64]) -> float32[64]:
  s = add(p0, p1)
  return s

func @f(x: float32[64]) -> float32[64]:
  a = @k(x)
  b = @k(a)
  c = @k(b)
  d = @sum(c, a)
  return d
"""


def test_the_text_of_a_second_call() -> None:
    function = graph(KERNELS)
    assert LimitMemory(3 * 256).apply(function) == function
    limited = LimitMemory(2 * 256).apply(function)
    assert text(limited).split("\n\n")[-1] == (
        "func @f(x: float32[64]) -> float32[64]:\n"
        "  a = @k(x)\n"
        "  b = @k(a)\n"
        "  c = @k(b)\n"
        "  a_1 = @k(x)\n"
        "  d = @sum(c, a_1)\n"
        "  return d\n"
    )
    with pytest.raises(MemoryLimitError, match=r"do not fit in 511 bytes: .* they take 512"):
        LimitMemory(511).apply(function)


def test_branches_are_refused() -> None:
    function = transform(
        graph("""
func @f(x: float32[8], c: bool[]) -> float32[8]:
  y = if c:
    a = exp(x)
    yield a
  else:
    yield x
  return y
"""),
        [Fuse()],
    )
    with pytest.raises(GraphError, match="function f: y is a branch"):
        LimitMemory(1000).apply(function)


def test_plain_sgd_runs_in_a_limit_too() -> None:
    names = [f"w{at}" for at in range(LAYERS)]
    step = training_step(network(), names, Sgd())
    whole = compiled(step, None)
    limit = whole.manifest.arena_bytes * 3 // 4
    wanted = outputs(whole)
    for name, array in outputs(compiled(step, limit)).items():
        np.testing.assert_array_equal(array, wanted[name])


def test_limits_are_for_the_host_alone() -> None:
    function = network()
    target = cpu(CpuTarget.host())
    with pytest.raises(BuildError, match="for the host alone"):
        build(function, [target, target], Provenance("f"), arena_limit=1000)
