"""Built-in networks by OpenCL against this processor."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from tandem.compiler.machines.gpu.machine import GpuMachine
from tandem.compiler.models import BUILT_IN, built_in
from tandem.compiler.quantise.options import Mode
from tandem.workbench.devices import OpenCl
from tests.support.compiler.machines.gpu.network_comparison import (
    HALVES,
    ROUNDINGS,
    STEPS,
    compared,
)
from tests.support.compiler.machines.gpu.on_opencl import opencl_device
from tests.support.compiler.models.halves import in_float16

QUICK = ("digits", "dqn-tiny")
INTEGERS = ("digits", "resnet", "mobilenet", "dqn")
"""Beginnings of the names of networks of which nothing between integers is in float32."""


def named(names: tuple[str, ...]) -> list[object]:
    """The networks, of which few are quick."""
    return [
        pytest.param(name, marks=[] if name in QUICK else [pytest.mark.exhaustive])
        for name in names
    ]


@pytest.mark.parametrize("name", named(tuple(BUILT_IN)))
def test_in_float32(name: str) -> None:
    found = compared(name, None, OpenCl(), opencl_device())
    assert found.holds(ROUNDINGS)


@pytest.mark.parametrize("name", named(tuple(BUILT_IN)))
def test_in_int8(name: str) -> None:
    found = compared(name, Mode.MULTIPLIER, OpenCl(), opencl_device())
    assert found.holds(0.0 if name.startswith(INTEGERS) else STEPS)


@pytest.mark.parametrize("name", named(("digits", "dqn", "resnet18")))
def test_in_int8_by_warps(name: str) -> None:
    """Products of warps as NVIDIA's GPUs have them, and weights as these load them."""
    target = OpenCl(machine=GpuMachine(warp_products=True))
    assert compared(name, Mode.MULTIPLIER, target, opencl_device()).different == 0


@pytest.mark.parametrize("name", named(("dqn-tiny", "dqn", "vit-tiny", "bert-tiny")))
@pytest.mark.parametrize("warps", [True, False])
def test_in_float16(tmp_path: Path, name: str, *, warps: bool) -> None:
    """With products of warps as NVIDIA's GPUs have them, and without."""
    path = tmp_path / "half.onnx"
    onnx.save(in_float16(built_in(name, 0)), path)
    target = OpenCl(machine=GpuMachine(warp_products=warps))
    found = compared(str(path), None, target, opencl_device())
    assert found.half
    assert found.holds(HALVES)
