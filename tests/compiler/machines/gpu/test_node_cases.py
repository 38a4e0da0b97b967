"""ONNX's node tests by OpenCL: what the CPU computes, the GPU computes."""

from __future__ import annotations

import pytest

from tests.compiler.frontends.onnx.test_node_cases import failures
from tests.support.compiler.frontends.onnx_nodes import chosen_cases
from tests.support.compiler.machines.gpu.node_cases import run_on, shard_of
from tests.support.compiler.machines.gpu.on_opencl import opencl_device

FEW = 7
"""One operator of so many."""
SHARDS = 24
"""Shares of all tests, so that several processes run them."""


def test_some() -> None:
    """In one process, as ONNX takes seconds to make the tests."""
    device = opencl_device()
    assert failures([run_on(each, device) for each in chosen_cases(1)[::FEW]]) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", range(SHARDS))
def test_all(number: int) -> None:
    """What is refused is refused when the model is imported, for every device."""
    device = opencl_device()
    assert failures([run_on(each, device) for each in shard_of(number, SHARDS)]) == []
