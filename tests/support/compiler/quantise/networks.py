"""Small networks in tests, from texts whose parameters become constants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph import Atom, Call, Constant, Function, OpSpec, TensorType
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import substitute
from tests.support.compiler.graph.graphs import graph

Array = NDArray[Any]


def network(text: str, **given: Array) -> Function:
    """The function with constants for all parameters except x..: as given, or random with He's
    scale.
    """
    function = graph(text)
    generator = np.random.default_rng(0)
    constants: dict[str, Atom] = {}
    for param in function.params:
        if param.name.startswith("x"):
            continue
        assert isinstance(param.type, TensorType)
        shape = param.type.static_shape(param.name)
        terms = max(int(np.prod(shape[1:])), 1) if len(shape) > 1 else 4
        chance = generator.standard_normal(shape) * np.sqrt(2 / terms)
        if param.name == "variance":
            chance = np.abs(chance) + 0.5
        array = given.get(param.name, chance)
        constants[param.name] = Constant(np.asarray(array, param.type.dtype.numpy))
    params = tuple(each for each in function.params if each.name not in constants)
    made = replace(function, params=params, body=substitute(function.body, constants))
    verify(made)
    return made


def residual(size: int = 10, **given: Array) -> Function:
    """Two residual blocks, one with a convolution in its skip connection, and a classifier."""
    return network(
        f"""
func @main(x: float32[N, 3, {size}, {size}], w1: float32[8, 3, 3, 3], b1: float32[8],
    w2: float32[8, 8, 3, 3], b2: float32[8], w3: float32[16, 8, 3, 3], b3: float32[16],
    w4: float32[16, 16, 3, 3], w5: float32[16, 8, 1, 1], w6: float32[5, 16], b6: float32[5]):
  c1 = conv2d(x, w1, b1, padding=[1, 1, 1, 1])
  r1 = relu(c1)
  c2 = conv2d(r1, w2, b2, padding=[1, 1, 1, 1])
  a2 = add(c2, r1)
  r2 = relu(a2)
  p2 = max_pool(r2, kernel=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])
  c3 = conv2d(p2, w3, b3, strides=[2, 2], padding=[1, 1, 1, 1])
  r3 = relu(c3)
  c4 = conv2d(r3, w4, padding=[1, 1, 1, 1])
  c5 = conv2d(p2, w5, strides=[2, 2])
  a4 = add(c4, c5)
  r4 = relu(a4)
  g = global_average_pool(r4)
  f = flatten(g)
  y = dense(f, w6, b6)
  return y
""".replace(",\n    ", ", "),
        **given,
    )


def calls(function: Function, name: str) -> list[Call]:
    """All calls of an operator."""
    return [each for each in _calls(function) if each.callee.name == name]


def called(function: Function) -> list[str]:
    """The names of the called operators, in order."""
    return [each.callee.name for each in _calls(function)]


def _calls(function: Function) -> list[Call]:
    values = [let.value for let in function.body.lets]
    return [each for each in values if isinstance(each, Call) and isinstance(each.callee, OpSpec)]


def sqnr(wanted: Array, found: Array) -> float:
    """The signal-to-noise ratio of `found`, in decibels."""
    noise = float(np.mean((found.astype(np.float64) - wanted) ** 2))
    return float(10 * np.log10(np.mean(wanted.astype(np.float64) ** 2) / max(noise, 1e-300)))
