"""Back ends that several artifacts share: kernels compiled once, as if compiled for each."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.build import build
from compiler.build.backends import Backends
from compiler.codegen import CpuTarget
from compiler.errors import CodegenError
from compiler.graph import Function
from compiler.targets.cpu.target import cpu
from compiler.targets.target import Target
from runtime.artifact import Artifact, KernelCall, Provenance, to_bytes
from tests.support.artifacts import network
from tests.support.graphs import graph

HOST = cpu(CpuTarget.host(threads=1))
DENSE = graph("""
func @f(x: float32[1, 2], w: float32[2, 2]):
  a = dense(x, w)
  b = dense(a, float32[2, 2](1.0, 2.0, 3.0, 4.0))
  return b
""")


def built(
    backends: Backends, told: list[str], function: Function | None = None, target: Any = HOST
) -> Artifact:
    given = network() if function is None else function
    return build(given, [target], Provenance("net"), backends=backends, report=told.append)


def compiled(told: list[str]) -> list[str]:
    return [each for each in told if each.startswith("compiling ")]


def test_one_for_each_target() -> None:
    backends = Backends()
    again = cpu(CpuTarget.host(threads=1))
    assert backends.of(HOST) is backends.of(again)
    assert backends.of(cpu(CpuTarget.host(threads=2))) is not backends.of(HOST)


def test_a_second_artifact_is_the_same_and_compiles_nothing() -> None:
    backends = Backends()
    told: list[str] = []
    first = built(backends, told)
    assert "compiling conv2d_relu" in told
    told.clear()
    assert to_bytes(built(backends, told)) == to_bytes(first)
    assert not compiled(told)
    assert to_bytes(built(Backends(), told)) == to_bytes(first)
    assert compiled(told)


def test_a_kernel_is_compiled_once_for_each_target_and_way_to_hold_weights() -> None:
    backends = Backends()
    told: list[str] = []
    built(backends, told, DENSE)
    assert compiled(told) == ["compiling dense"] * 2
    built(backends, told, DENSE)
    assert compiled(told) == ["compiling dense"] * 2
    built(backends, told, DENSE, cpu(CpuTarget.host(threads=2)))
    assert compiled(told) == ["compiling dense"] * 4


def test_a_constant_as_weight_is_not_the_same_constant_as_data() -> None:
    function = graph("""
func @f(x: float32[2, 2]):
  a = dense(x, float32[2, 2](1.0, 2.0, 3.0, 4.0))
  b = dense(float32[2, 2](1.0, 2.0, 3.0, 4.0), a)
  return b
""")
    weights, data = built(Backends(), [], function).manifest.steps
    assert isinstance(weights, KernelCall)
    assert isinstance(data, KernelCall)
    assert (weights.function, data.function) == ("dense", "dense_unpacked")


def test_what_cannot_be_compiled_is_not_known_afterwards() -> None:
    machine = HOST.machine
    wrong: Target[CpuTarget] = cpu(CpuTarget("no-such-triple", machine.cpu, machine.features))
    backends = Backends()
    for _ in range(2):
        with pytest.raises(CodegenError):
            built(backends, [], target=wrong)
