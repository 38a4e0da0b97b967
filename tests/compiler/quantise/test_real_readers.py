"""Who reads a value, and whether all that does computes in real numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse_function
from tandem.compiler.graph.syntax import REFERENCE
from tandem.compiler.graph.types import Type
from tandem.compiler.quantise.points import int8_values
from tandem.compiler.quantise.real_readers import Readers, is_computed_in_real

CONSTANTS = {
    "$W": Constant(np.ones((6, 4, 1, 1), np.float32)),
    "$V": Constant(np.ones((2, 6, 1, 1), np.float32)),
    "$B": Constant(np.ones((6, 1, 1), np.float32)),
    "$P": Constant(np.ones((3,), np.float32)),
}
"""Weights, more weights, a bias of channels, and numbers along the last axis."""


def readers(text: str) -> tuple[Readers, Mapping[str, Type]]:
    """The readers of the values of a function, in which names stand for constants."""
    for name, constant in CONSTANTS.items():
        text = text.replace(name, f"{constant.type} @ {REFERENCE}{constant.digest}")
    head = "func @f(x: float32[1, 4, 3, 3], r: float32[1, 6, 3, 3]):\n"
    known = {each.digest: each for each in CONSTANTS.values()}
    function = parse_function(head + text, OPERATORS, known)
    types = infer(function)
    return Readers.of(function, frozenset(int8_values(function, types))), types


@pytest.mark.parametrize(
    ("lines", "real"),
    [
        ("  z = tanh(y)\n  return z\n", True),
        ("  z = relu(y)\n  w = conv2d(z, $V)\n  return w\n", False),
        ("  t = tanh(r)\n  a = add(y, t)\n  z = tanh(a)\n  return z\n", True),
        ("  t = tanh(r)\n  a = add(t, y)\n  z = tanh(a)\n  return a\n", False),
        ("  a = add(y, y)\n  z = tanh(a)\n  return z\n", False),
        ("  a = add(y, r)\n  z = tanh(a)\n  return z\n", False),
        ("  z = tanh(y)\n  w = (z, y)\n  return w\n", False),
    ],
)
def test_all_that_reads_computes_in_real_numbers(lines: str, real: bool) -> None:
    found, _ = readers("  y = conv2d(x, $W)\n" + lines)
    assert found.compute_in_real("y") == real


def test_chains_end_with_biases_of_channels() -> None:
    found, types = readers(
        "  y = conv2d(x, $W)\n  b = add(y, $B)\n  c = add($B, b)\n  p = add(c, $P)\n  return p\n"
    )
    (chain,) = found.chains(types)
    assert [let.name for let in chain] == ["y", "b", "c"]


def test_a_chain_ends_where_something_else_reads() -> None:
    found, types = readers(
        "  y = conv2d(x, $W)\n  b = add(y, $B)\n  c = multiply(y, b)\n  return c\n"
    )
    (chain,) = found.chains(types)
    assert [let.name for let in chain] == ["y"]


def test_moved_real_numbers_are_real() -> None:
    found, _ = readers("  t = tanh(r)\n  m = transpose(t, perm=[0, 1, 3, 2])\n  return m\n")
    assert is_computed_in_real("m", found.lets)
    assert not is_computed_in_real("r", found.lets)
