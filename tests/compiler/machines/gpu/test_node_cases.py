"""ONNX's node tests by OpenCL."""

from __future__ import annotations

import pytest

from tests.compiler.frontends.onnx.test_node_cases import failures
from tests.support.compiler.frontends.onnx_nodes import chosen_cases, node_cases
from tests.support.compiler.machines.gpu.node_cases import run_on
from tests.support.compiler.machines.gpu.on_opencl import opencl_device

FEW = 7
"""One operator of so many."""


def test_some() -> None:
    device = opencl_device()
    assert failures([run_on(each, device) for each in chosen_cases(1)[::FEW]]) == []


@pytest.mark.exhaustive
def test_all() -> None:
    device = opencl_device()
    assert failures([run_on(each, device) for each in node_cases()]) == []
