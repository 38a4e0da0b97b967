"""Built-in networks by OpenCL against this processor."""

from __future__ import annotations

import pytest

from tandem.compiler.models import BUILT_IN
from tandem.compiler.quantise.options import Mode
from tandem.workbench.devices import OpenCl
from tests.support.compiler.machines.gpu.network_comparison import ROUNDINGS, STEPS, compared
from tests.support.compiler.machines.gpu.on_opencl import opencl_device

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
