"""Whole networks of float16: their products are by warps, and what they give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.driver.build import build
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.gpu.backend import GpuBackend
from tandem.compiler.machines.gpu.codegen.ptx import PROCESSORS
from tandem.compiler.machines.gpu.interpreter import Order, run_program
from tandem.compiler.machines.gpu.launch import GpuProgram
from tandem.compiler.machines.gpu.machine import GpuMachine, nvidia_gpu
from tandem.compiler.machines.gpu.schedules.why_alone import WhyAlone
from tandem.compiler.machines.gpu.target import gpu
from tandem.runtime.artifact import Provenance
from tandem.runtime.artifact.ptx import PtxCode
from tests.support.compiler.machines.gpu.half_networks import (
    Run,
    by_kernels,
    convolution,
    imported,
    run_kernels,
    two_layers,
)
from tests.support.compiler.machines.gpu.kernels_on_host import run_on_host
from tests.support.compiler.machines.gpu.on_opencl import on_opencl

Array = NDArray[Any]
HALF, SINGLE = np.float16, np.float32


def noise(shape: Sequence[int]) -> Array:
    return np.random.default_rng(5).standard_normal(shape).astype(HALF)


def sums(left: Array, right: Array) -> Array:
    """The product of matrices of float16, added in float32 in the order of its terms."""
    found = np.zeros((len(left), right.shape[1]), SINGLE)
    for k in range(len(right)):
        found += left[:, k : k + 1].astype(SINGLE) * right[k].astype(SINGLE)
    return found


def by_hand(x: Array, weights: dict[str, Array]) -> Array:
    """`two_layers`, each operator rounded to float16 once."""
    added = (sums(x, weights["w"].T) + weights["b"].astype(SINGLE)).astype(HALF)
    product = sums(np.maximum(added, HALF(0)), weights["v"]).astype(HALF)
    return (product.astype(SINGLE) + x.astype(SINGLE)).astype(HALF)


def interpreted(program: GpuProgram, arrays: Sequence[Array]) -> Sequence[Array]:
    return run_program(program, arrays, Order.BACKWARDS)


def on_host(program: GpuProgram, arrays: Sequence[Array]) -> Sequence[Array]:
    return run_on_host(program, arrays)[0]


@pytest.mark.parametrize("processor", PROCESSORS)
def test_products_are_by_warps(tmp_path: Path, processor: str) -> None:
    """Those that the artifact has, whose tiles are the back end's choice."""
    two_layers(tmp_path / "net.onnx")
    target = gpu(nvidia_gpu(processor))
    backend = GpuBackend(target)
    target = replace(target, make_backend=lambda _: backend)
    artifact = build(imported(tmp_path / "net.onnx"), [target], Provenance("test"))
    found = [each for planned in backend.planned.values() for each in planned.products]
    assert [each.why for each in found] == [None, None]
    assert all(each.tile.warps for each in found)
    by_name = {step.operators: artifact.code[step.code] for step in artifact.manifest.steps}
    for operators, code in by_name.items():
        assert isinstance(code, PtxCode)
        multiplies = not {*operators}.isdisjoint({"dense", "matmul"})
        assert ("mma.sync.aligned.m16n8k16" in code.source) == multiplies
        # No float32 is loaded for products but a bias.
        if multiplies:
            assert {each.dtype for each in code.inputs if len(each.shape) > 1} == {"float16"}


@pytest.mark.parametrize(
    "run", [on_host, on_opencl, pytest.param(interpreted, marks=pytest.mark.exhaustive)]
)
def test_results(tmp_path: Path, run: Run) -> None:
    weights = two_layers(tmp_path / "net.onnx")
    machine = nvidia_gpu()
    network = by_kernels(imported(tmp_path / "net.onnx"), machine)
    x = noise((32, 32))
    wanted = by_hand(x, weights).view(np.uint16)
    found = run_kernels(network, machine, [x], run)
    np.testing.assert_array_equal(found.view(np.uint16), wanted)


def test_convolutions(tmp_path: Path) -> None:
    """Windows of an image with zeros around it."""
    convolution(tmp_path / "net.onnx")
    machine = nvidia_gpu()
    function = imported(tmp_path / "net.onnx")
    network = by_kernels(function, machine)
    x = noise((1, 32, 6, 6))
    wanted = evaluate(function, [x], NativeRunner(reassociate=False))
    assert isinstance(wanted, np.ndarray)
    found = run_kernels(network, machine, [x], on_opencl)
    step = 2.0**-10 * np.abs(wanted.astype(SINGLE)).max()
    np.testing.assert_allclose(found.astype(SINGLE), wanted.astype(SINGLE), rtol=0, atol=step)


def planned(path: Path, machine: GpuMachine) -> list[WhyAlone | None]:
    """Why threads multiply alone, of a network's products in order."""
    target = gpu(machine)
    backend = GpuBackend(target)
    build(imported(path), [replace(target, make_backend=lambda _: backend)], Provenance("test"))
    return [each.why for one in backend.planned.values() for each in one.products]


def test_what_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    two_layers(path)
    assert planned(path, GpuMachine()) == [WhyAlone.MACHINE] * 2
    two_layers(path, 24)
    assert planned(path, nvidia_gpu()) == [WhyAlone.SMALL] * 2
