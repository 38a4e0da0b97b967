"""Kernels become stages of the names that their values have."""

from __future__ import annotations

import pytest

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.expressions import tensors
from tandem.compiler.ir import FLOAT32
from tandem.compiler.te import placeholder
from tandem.compiler.te.build import stages
from tests.support.compiler.graph.graphs import graph

KERNEL = """
kernel @k(p0: float32[1, 2, 4, 4], p1: float32[2, 2, 3, 3]):
  conv2d = conv2d(p0, p1, padding=[1, 1, 1, 1])
  add = add(conv2d, float32[](1.0))
  split = split(add, sizes=[1, 1], axis=1)
  part = split[0]
  relu = relu(part)
  both = (relu, p0, relu)
  return both
"""


def test_stages() -> None:
    inputs = [placeholder((1, 2, 4, 4), FLOAT32, "p0"), placeholder((2, 2, 3, 3), FLOAT32, "p1")]
    outputs = tensors(graph(KERNEL), inputs)
    # An output is computed, and once: what is given, or given twice, is copied.
    assert [each.name for each in outputs] == ["relu", "copy_2", "copy_3"]
    assert [each.name for each in stages(outputs)] == [
        *("p0", "conv2d_pad", "p1", "conv2d", "constant_1", "add", "split_0", "relu"),
        *("copy_2", "copy_3"),
    ]
    assert outputs[0].shape == (1, 1, 4, 4)


def test_refusals() -> None:
    x = placeholder((2,), FLOAT32, "x")
    for body, message in (
        ("a = @g(x)", "function f: a calls the function g"),
        ("a = if bool[](True):\n    yield x\n  else:\n    yield x", "function f: a is decided"),
        (
            "a = add(x, float32[2](1.0, 2.0))",
            r"function f holds a constant float32\[2\]: one element only",
        ),
    ):
        program = f"func @g(x: float32[2]):\n  return x\nfunc @f(x: float32[2]):\n  {body}\n"
        with pytest.raises(GraphError, match=message):
            tensors(graph(f"{program}  return a\n"), [x])
