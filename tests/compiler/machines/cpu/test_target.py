"""The target of a CPU: its templates, and which layers read compressed weights as they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.compiler.graph import Call, TensorType
from tandem.compiler.graph.passes import InferTypes
from tandem.compiler.machines.cpu.backend import KernelBackend
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.small_loops import SerialSmallLoops
from tandem.compiler.machines.cpu.target import TEMPLATES, cpu
from tandem.compiler.tune.best_known import BestKnown
from tests.support.compiler.graph.graphs import graph

HOST = CpuTarget.host(threads=1)
PLAIN = replace(HOST, features=())
"""A processor without dot products: codes are read where one pixel shares a weight."""


def call(operator: str, shapes: str) -> tuple[Call, TensorType]:
    """The call of an operator on `x` and `w`, and the type of its result."""
    function = InferTypes().apply(graph(f"func @main({shapes}):\n  y = {operator}\n  return y\n"))
    found = function.body.lets[-1].value
    assert isinstance(found, Call)
    assert isinstance(function.result, TensorType)
    return found, function.result


def test_what_it_is_made_of() -> None:
    tuned = BestKnown(())
    found = cpu(HOST, tuned)
    assert (found.name, found.machine, found.templates, found.tuned) == ("", HOST, TEMPLATES, tuned)
    assert found.passes[-1] == SerialSmallLoops(HOST.register_bits)
    assert found.make_backend is KernelBackend
    assert cpu(HOST).tuned is None


@pytest.mark.parametrize(
    ("size", "stride", "groups", "reads"),
    [(1, 1, 1, True), (2, 1, 1, False), (2, 2, 1, True), (1, 1, 2, False)],
)
def test_convolutions_whose_weights_one_pixel_uses(
    size: int, stride: int, groups: int, reads: bool
) -> None:
    shapes = f"x: float32[1, 4, {size}, {size}], w: float32[4, {4 // groups}, 1, 1]"
    given = call(f"conv2d(x, w, strides=[{stride}, {stride}], groups={groups})", shapes)
    assert cpu(PLAIN).takes_compressed(*given) is reads


def test_dense_layers() -> None:
    given = call("dense(x, w)", "x: float32[64, 9], w: float32[5, 9]")
    assert cpu(PLAIN).takes_compressed(*given) is True
    given = call("matmul(x, w)", "x: float32[64, 9], w: float32[9, 5]")
    assert cpu(PLAIN).takes_compressed(*given) is False
