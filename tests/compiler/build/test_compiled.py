"""Kernels that several artifacts have: compiled once, and the same as if compiled for each."""

from __future__ import annotations

import pytest

from compiler.build import build
from compiler.build.compiled import CompiledKernels
from compiler.codegen import CpuTarget
from compiler.errors import CodegenError
from compiler.graph import Call, Function
from compiler.graph.native import NativeRunner
from compiler.graph.passes import cpu_passes, transform
from runtime.artifact import Artifact, Provenance, to_bytes
from tests.support.artifacts import network

HOST = CpuTarget.host(threads=1)


def kernels() -> list[Function]:
    function = transform(network(), cpu_passes(NativeRunner(reassociate=False)))
    calls = (let.value for let in function.body.lets)
    return [
        each.callee
        for each in calls
        if isinstance(each, Call) and isinstance(each.callee, Function)
    ]


def test_a_kernel_is_compiled_once_for_each_target_and_way_to_hold_weights() -> None:
    told: list[str] = []
    known = CompiledKernels()
    kernel = next(each for each in kernels() if each.name == "conv2d_relu")

    def of(target: CpuTarget, *, pack: bool) -> object:
        return known.of(kernel, target, pack=pack, tell=told.append)

    first = of(HOST, pack=False)
    assert of(HOST, pack=False) is first
    assert told == ["compiling conv2d_relu"]
    assert of(HOST, pack=True) is not first
    assert of(CpuTarget.host(threads=2), pack=False) is not first
    assert told == ["compiling conv2d_relu"] * 3


def test_other_kernels_have_other_code() -> None:
    known = CompiledKernels()
    made = [known.of(each, HOST, pack=False, tell=lambda _: None) for each in kernels()]
    assert len({each.code.symbol for each in made}) == len(made) > 2


def test_what_cannot_be_compiled_is_not_known_afterwards() -> None:
    known = CompiledKernels()
    wrong = CpuTarget("no-such-triple", HOST.cpu, HOST.features)
    for _ in range(2):
        with pytest.raises(CodegenError):
            known.of(kernels()[0], wrong, pack=False, tell=lambda _: None)


def test_a_second_artifact_is_the_same_and_compiles_nothing() -> None:
    known = CompiledKernels()
    told: list[str] = []

    def built(compiled: CompiledKernels) -> Artifact:
        return build(network(), HOST, Provenance("net"), compiled=compiled, report=told.append)

    first = built(known)
    assert any(each.startswith("compiling ") for each in told)
    told.clear()
    assert to_bytes(built(known)) == to_bytes(first)
    assert not any(each.startswith("compiling ") for each in told)
    assert to_bytes(built(CompiledKernels())) == to_bytes(first)
