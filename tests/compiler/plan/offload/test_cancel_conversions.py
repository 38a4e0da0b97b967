"""Conversions that undo each other go."""

from __future__ import annotations

import pytest

from tandem.compiler.graph.passes import EliminateDead, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.plan.offload import CancelConversions
from tests.support.compiler.graph.graphs import graph, inputs, keeps_meaning

B4 = "{0, 1/4, 2, 3, _, 1%4}"
PACKED = f"int8[1, 7, 3, 3]{B4}"


def cancelled(program: str) -> str:
    found = transform(graph(program), (CancelConversions(), EliminateDead()))
    return text(found).split(":\n", 1)[1]


def test_out_of_blocks_and_in_again() -> None:
    assert (
        cancelled(
            f"func @f(p: {PACKED}) -> int8[1, 7, 3, 3]:\n"
            f"  x = convert(p, shape=[1, 7, 3, 3], source={B4})\n"
            f"  q = convert(x, shape=[1, 7, 3, 3], target={B4})\n"
            f"  r = convert(q, shape=[1, 7, 3, 3], source={B4})\n"
            "  return r\n"
        )
        == f"  r = convert(p, shape=[1, 7, 3, 3], source={B4})\n  return r\n"
    )


def test_other_blocks_stay() -> None:
    found = cancelled(
        f"func @f(p: {PACKED}) -> int8[1, 7, 3, 3]{{0, 1/8, 2, 3, _, 1%8}}:\n"
        f"  x = convert(p, shape=[1, 7, 3, 3], source={B4})\n"
        "  q = convert(x, shape=[1, 7, 3, 3], target={0, 1/8, 2, 3, _, 1%8})\n"
        "  return q\n"
    )
    assert found.count("convert(") == 2


def test_padding_of_weights_stays_zero() -> None:
    """That of an image in blocks may be anything."""
    blocks = "{0/4, 1/4, 2, 3, 0%4, 1%4}"
    found = cancelled(
        f"func @f(p: int8[4, 7, 3, 3]{blocks}) -> int8[4, 7, 3, 3]{blocks[:-1]}=0}}:\n"
        f"  x = convert(p, shape=[4, 7, 3, 3], source={blocks})\n"
        f"  q = convert(x, shape=[4, 7, 3, 3], target={blocks[:-1]}=0}})\n"
        "  return q\n"
    )
    assert found.count("convert(") == 2


def test_without_padding_both_are_the_same() -> None:
    function = graph(
        f"func @f(p: int8[1, 8, 3, 3]{B4}) -> int8[1, 8, 3, 3]{B4[:-1]}=0}}:\n"
        f"  x = convert(p, shape=[1, 8, 3, 3], source={B4})\n"
        f"  q = convert(x, shape=[1, 8, 3, 3], target={B4[:-1]}=0}})\n"
        "  return q\n"
    )
    found = transform(function, (CancelConversions(), EliminateDead()))
    assert [text(found).count(name) for name in ("convert(", "view(p")] == [0, 1]
    keeps_meaning(CancelConversions(), function, inputs(function))


def test_rows_are_images_of_one_pixel() -> None:
    rows = "{0, 1/4, _, _, _, 1%4}"
    function = graph(
        f"func @f(p: int8[1, 8, 1, 1]{B4}) -> int8[1, 8]{rows}:\n"
        f"  x = convert(p, shape=[1, 8, 1, 1], source={B4})\n"
        "  f = flatten(x)\n"
        f"  q = convert(f, shape=[1, 8], target={rows})\n"
        "  return q\n"
    )
    found = transform(function, (CancelConversions(), EliminateDead()))
    assert text(found).endswith(f"  q = view(p, shape=[1, 8], layout={rows})\n  return q\n")
    keeps_meaning(CancelConversions(), function, inputs(function))


def test_shapes_there_and_back() -> None:
    function = graph(
        "func @f(a: float32[2, 3, 1, 1]) -> float32[2, 3, 1, 1]:\n"
        "  b = flatten(a)\n"
        "  c = reshape(b, shape=[2, 3, 1, 1])\n"
        "  d = relu(c)\n"
        "  return d\n"
    )
    found = transform(function, (CancelConversions(), EliminateDead()))
    assert text(found).endswith("  d = relu(a)\n  return d\n")
    keeps_meaning(CancelConversions(), function, inputs(function))


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
func @f(p: int8[1, {channels}, 1, 6]B4) -> int8[1, {channels}, 1, 6]B4:
  x = convert(p, shape=[1, {channels}, 1, 6], source=B4)
  tokens = reshape(x, shape=[{channels}, 6])
  rows = transpose(tokens, perm=[1, 0])
  heads = reshape(rows, shape=[1, 6, {heads}, {own}])
  split = transpose(heads, perm=[0, 2, {order}])
  image = reshape(split, shape=[1, {channels}, 1, 6])
  q = convert(image, shape=[1, {channels}, 1, 6], target=B4)
  return q
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
    text_of = text_of.replace("B4", B4)
    assert ("transpose" in cancelled(text_of)) == stays
    function = graph(text_of)
    if channels == 8:
        keeps_meaning(CancelConversions(), function, inputs(function))
