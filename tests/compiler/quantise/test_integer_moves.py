"""Operators on quantised integers move into real numbers, and every element stays."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.printer import text
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.quantise.integer_moves import IntegerMoves
from tests.support.compiler.graph.graphs import graph

SCALE = "float32[](0.037), {zero}"
PROGRAM = """
func @f(x: float32[2, 4, 6, 6]) -> {result}:
  q = quantise(x, {scale}{to})
  p = {move}
  return p
"""
MOVES = {
    "max_pool(q, kernel=[2, 2], strides=[2, 2])": "[2, 4, 3, 3]",
    "max_pool(q, kernel=[3, 3], padding=[1, 1, 1, 1])": "[2, 4, 6, 6]",
    "reshape(q, shape=[2, 144])": "[2, 144]",
    "transpose(q, perm=[0, 2, 3, 1])": "[2, 6, 6, 4]",
    "flatten(q)": "[2, 144]",
    "slice(q, starts=[1], ends=[3], axes=[1])": "[2, 2, 6, 6]",
}
TYPES = {"int8": ("int8[](-9)", ""), "uint8": ("uint8[](130)", ", to=uint8")}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("move", MOVES)
def test_every_element_stays(move: str, dtype: str) -> None:
    zero, to = TYPES[dtype]
    program = PROGRAM.format(
        result=dtype + MOVES[move], scale=SCALE.format(zero=zero), to=to, move=move
    )
    function = graph(program)
    found = IntegerMoves().apply(function)
    lines = text(found)
    assert f"p_moved = {move.replace('(q', '(p_real', 1)}" in lines
    assert "p = quantise(p_moved, " in lines
    # All 256 integers occur.
    numbers = (np.arange(288) % 256 - 128).reshape(2, 4, 6, 6)
    data = (numbers * np.float32(0.037)).astype(np.float32)
    run = NativeRunner(1)
    wanted, given = (evaluate(each, [data], run) for each in (function, found))
    np.testing.assert_array_equal(given, wanted)


def test_one_behind_the_other() -> None:
    program = (
        "func @f(x: float32[1, 2, 4, 4]) -> int8[1, 8]:\n"
        "  q = quantise(x, float32[](0.5), int8[](0))\n"
        "  p = max_pool(q, kernel=[2, 2], strides=[2, 2])\n"
        "  r = flatten(p)\n"
        "  return r\n"
    )
    lines = text(IntegerMoves().apply(graph(program)))
    assert lines.count("dequantise(") == 2
    assert "r_moved = flatten(r_real)" in lines


@pytest.mark.parametrize(
    "body",
    [
        # A scale for each channel, and integers of an unknown scale.
        "q = quantise(x, float32[4](1.0, 2.0, 3.0, 4.0), int8[4](0, 0, 0, 0))\n  p = flatten(q)",
        "q = cast(x, to=int8)\n  p = flatten(q)",
    ],
)
def test_others_stay(body: str) -> None:
    function = graph(f"func @f(x: float32[2, 4, 6, 6]) -> int8[2, 144]:\n  {body}\n  return p\n")
    assert text(IntegerMoves().apply(function)) == text(function)
