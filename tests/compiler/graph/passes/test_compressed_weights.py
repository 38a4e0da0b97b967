"""Which weights stay compressed, and which groups widen them."""

from __future__ import annotations

import pytest

from tandem.compiler.graph.opspec import OpPattern
from tandem.compiler.graph.passes.compressed_weights import (
    WIDENING,
    is_layer,
    is_widening,
    kept_compressed,
    widened_readers,
)
from tandem.compiler.graph.passes.grouping import Edge
from tests.support.compiler.graph.graphs import graph

HEAD = "func @f(x: int8[2, 4], c: uint2[4, 4], t: bool[]):\n  w = widen(c, table=[0, 1, -2, -1])\n"


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        (["y = dense(x, w)"], {"w"}),
        (["y = matmul(x, w)"], {"w"}),
        (["v = transpose(w)", "y = matmul(x, v)"], {"w"}),
        (
            ["u = reshape(w, shape=[2, 8])", "v = reshape(u, shape=[4, 4])", "y = dense(x, v)"],
            {"w"},
        ),
        # Something that computes between them.
        (["v = negative(w)", "y = dense(x, v)"], set()),
        (["y = relu(w)"], set()),
        (["v = transpose(w)", "y = relu(v)"], set()),
        (["y = max_pool(z, kernel=[1])"], set()),
        # In branches too.
        (
            [
                "y = if t:",
                "  a = dense(x, w)",
                "  yield a",
                "else:",
                "  b = dense(x, x0)",
                "  yield b",
            ],
            {"w"},
        ),
    ],
)
def test_what_layers_read(lines: list[str], kept: set[str]) -> None:
    head = HEAD.replace("t: bool[])", "t: bool[], z: int8[1, 1, 3], x0: int8[4, 4])")
    program = head + "".join(f"  {line}\n" for line in lines) + "  return y"
    assert kept_compressed(graph(program).body) == kept


def test_operators() -> None:
    assert {"dequantise_blocks", "widen"} == WIDENING
    function = graph(HEAD + "  y = dense(x, w)\n  z = relu(x)\n  p = (x, y)\n  return p")
    values = {let.name: let.value for let in function.body.lets}
    assert [name for name, value in values.items() if is_widening(value)] == ["w"]
    assert [name for name, value in values.items() if is_layer(value)] == ["y"]
    # A reduction of one operand is none.
    pool = graph("func @f(x: int8[1, 1, 4]):\n  y = max_pool(x, kernel=[2])\n  return y")
    assert not is_layer(pool.body.lets[0].value)


def test_groups_that_widen() -> None:
    function = graph("""
func @f(x: int8[2, 4]):
  w = widen(uint2[2, 4](0, 1, 2, 3, 3, 2, 1, 0), table=[0, 1, -2, -1])
  y = dense(x, w)
  z = dense(x, w)
  r = relu(y)
  return r
""")
    lets = function.body.lets
    users = [
        [Edge(1, OpPattern.OUT_FUSABLE), Edge(2, OpPattern.OUT_FUSABLE)],
        [Edge(3, OpPattern.ELEMENTWISE)],
        [],
        [],
    ]
    alone = [0, 3, 2, 3]
    assert widened_readers(lets, alone, users, [False] * 4) == {0: frozenset({2, 3})}
    assert widened_readers(lets, alone, users, [True, False, False, False]) == {}
    # In a group with others, read by something else, or by nothing.
    assert widened_readers(lets, [3, 3, 2, 3], users, [False] * 4) == {}
    with_relu = [[*users[0], Edge(3, OpPattern.ELEMENTWISE)], *users[1:]]
    assert widened_readers(lets, alone, with_relu, [False] * 4) == {}
    assert widened_readers(lets, alone, [[], *users[1:]], [False] * 4) == {}


def test_weights_that_are_computed() -> None:
    function = graph(HEAD + "  y = dense(x, w)\n  return y")
    users = [[Edge(1, OpPattern.OUT_FUSABLE)], []]
    assert widened_readers(function.body.lets, [0, 1], users, [False] * 2) == {}
