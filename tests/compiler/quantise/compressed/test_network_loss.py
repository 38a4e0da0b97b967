"""Losses of networks, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tandem.compiler.errors import QuantisationError
from tandem.compiler.graph.evaluate import Interpreter, NestedArray
from tandem.compiler.quantise.compressed.network_loss import NetworkLoss
from tests.support.compiler.graph.graphs import graph

REAL = """
func @f(x: float32[2], n: int8[2]):
  y = add(x, x)
  m = negative(n)
  inner = (m, x)
  z = (y, inner)
  return z
"""
SAMPLES: list[list[NestedArray]] = [
    [np.array(row, np.float32), np.array([1, 2], np.int8)] for row in ([3, 4], [1, 2])
]


def test_decibels() -> None:
    real = graph(REAL)
    loss = NetworkLoss.of(real, SAMPLES, Interpreter())
    assert len(loss.wanted) == 2
    assert loss.decibels(real) == math.inf
    # Results 6 8, 2 4 and 3 4, 1 2 of floats; the first ones are off by a tenth.
    other = graph(REAL.replace("add(x, x)", "multiply(x, float32[](2.2))"))
    signal = 36 + 64 + 4 + 16 + 9 + 16 + 1 + 4
    noise = 0.01 * (36 + 64 + 4 + 16)
    assert loss.decibels(other) == pytest.approx(10 * math.log10(signal / noise), abs=1e-4)
    # Integers do not count.
    negated = graph(REAL.replace("negative(n)", "add(n, n)"))
    assert loss.decibels(negated) == math.inf


def test_no_floats() -> None:
    whole = graph("func @f(n: int8[2]):\n  m = negative(n)\n  z = (m, n)\n  return z")
    with pytest.raises(QuantisationError, match="is that of results in floats, and the network h"):
        NetworkLoss.of(whole, [[np.array([1, 2], np.int8)]], Interpreter())
