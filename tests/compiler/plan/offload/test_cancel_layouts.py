"""Layouts that undo each other go."""

from __future__ import annotations

import pytest

from compiler.graph.passes import EliminateDead, transform
from compiler.graph.printer import text
from compiler.plan.offload import CancelLayouts
from tests.support.compiler.graph.graphs import graph, inputs, keeps_meaning

PACKED = "int8[1, 2, 3, 3, 1, 4]"


def cancelled(program: str) -> str:
    found = transform(graph(program), (CancelLayouts(), EliminateDead()))
    return text(found).split(":\n", 1)[1]


def test_out_of_blocks_and_in_again() -> None:
    assert (
        cancelled(
            f"func @f(p: {PACKED}) -> {PACKED}:\n"
            "  x = unpack_data(p, shape=[1, 7, 3, 3])\n"
            "  q = pack_data(x, batch=1, block=4)\n"
            "  r = relu(q)\n"
            "  return r\n"
        )
        == "  r = relu(p)\n  return r\n"
    )


def test_other_blocks_stay() -> None:
    found = cancelled(
        f"func @f(p: {PACKED}) -> int8[1, 1, 3, 3, 1, 8]:\n"
        "  x = unpack_data(p, shape=[1, 7, 3, 3])\n"
        "  q = pack_data(x, batch=1, block=8)\n"
        "  return q\n"
    )
    assert "unpack_data" in found
    assert "pack_data(x" in found


def test_padding_of_weights_stays_zero() -> None:
    """That of an image in blocks may be anything."""
    found = cancelled(
        "func @f(p: int8[1, 2, 3, 3, 4, 4]) -> int8[1, 2, 3, 3, 4, 4]:\n"
        "  x = unpack_data(p, shape=[4, 7, 3, 3])\n"
        "  q = pack_weight(x, lanes=4, block=4)\n"
        "  return q\n"
    )
    assert "pack_weight(x" in found


def test_shapes_there_and_back() -> None:
    function = graph(
        "func @f(a: float32[2, 3, 1, 1]) -> float32[2, 3, 1, 1]:\n"
        "  b = flatten(a)\n"
        "  c = reshape(b, shape=[2, 3, 1, 1])\n"
        "  d = relu(c)\n"
        "  return d\n"
    )
    found = transform(function, (CancelLayouts(), EliminateDead()))
    assert text(found).endswith("  d = relu(a)\n  return d\n")
    keeps_meaning(CancelLayouts(), function, inputs(function))


@pytest.mark.parametrize("last", ["relu(b)", "transpose(b, perm=[1, 0])"])
def test_what_moves_elements_stays(last: str) -> None:
    found = cancelled(
        "func @f(a: float32[2, 2]) -> float32[2, 2]:\n"
        "  b = transpose(a)\n"
        f"  c = {last}\n"
        "  return c\n"
    )
    assert found.count(" = ") == 2


HEADS = """
func @f(p: int8[1, 2, 1, 6, 1, 4]) -> int8[1, 2, 1, 6, 1, 4]:
  x = unpack_data(p, shape=[1, {channels}, 1, 6])
  tokens = reshape(x, shape=[{channels}, 6])
  rows = transpose(tokens, perm=[1, 0])
  heads = reshape(rows, shape=[1, 6, {heads}, {own}])
  split = transpose(heads, perm=[0, 2, {order}])
  image = reshape(split, shape=[1, {channels}, 1, 6])
  q = pack_data(image, batch=1, block=4)
  r = relu(q)
  return r
"""


@pytest.mark.parametrize(
    ("channels", "heads", "order", "stays"),
    [
        (8, 2, "3, 1", False),  # Attention's heads, as columns.
        (6, 2, "3, 1", False),  # Heads that share a block lie as they did.
        (8, 2, "1, 3", True),  # Heads as rows are another image.
        (8, 4, "1, 3", True),
    ],
)
def test_heads_are_the_image_of_all_tokens(
    channels: int, heads: int, order: str, stays: bool
) -> None:
    text_of = HEADS.format(channels=channels, heads=heads, own=channels // heads, order=order)
    assert ("transpose" in cancelled(text_of)) == stays
    function = graph(text_of)
    if channels == 8:
        keeps_meaning(CancelLayouts(), function, inputs(function))
