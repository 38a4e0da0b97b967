"""A small network, and its compiled artifact."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.driver import build
from tandem.compiler.graph import Function
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.runtime.artifact import Artifact, Provenance
from tests.support.compiler.graph.graphs import graph

NETWORK = """
func @net(x: float32[1, 2, 6, 6], s: int32[2]):
  a = conv2d(x, float32[4, 2, 1, 1](0.5, -1.0, 2.0, 0.25, 1.0, 1.0, -0.5, 3.0))
  b = relu(a)
  c = max_pool(b, kernel=[2, 2], strides=[2, 2])
  d = add(c, c)
  e = reduce_sum(d, axes=[2, 3], keepdims=False)
  f = dense(e, float32[2, 4](1.0, 0.0, -1.0, 2.0, 0.5, 0.5, 0.5, 0.5))
  t = add(s, int32[2](1, 2))
  r = (f, t, s)
  return r
"""


@cache
def network() -> Function:
    """A network of a convolution, a pool and a dense layer, and of a sum of integers."""
    return graph(NETWORK)


@cache
def compiled() -> Artifact:
    """The artifact of `network` for this machine's CPU."""
    return build(
        network(), [cpu(CpuTarget.host(threads=1))], Provenance("net", options={"seed": 3})
    )


def image(seed: int = 0) -> dict[str, NDArray[Any]]:
    """Random inputs of `network`."""
    generator = np.random.default_rng(seed)
    return {
        "x": generator.standard_normal((1, 2, 6, 6), np.float32),
        "s": generator.integers(-9, 9, 2, np.int32),
    }
