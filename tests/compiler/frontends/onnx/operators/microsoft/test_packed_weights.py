"""Packed weights: what ONNX Runtime computes, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnxruntime", reason="what results are compared with")

from tandem.compiler.frontends.onnx.operators.microsoft.packed_weights import unpacked
from tests.support.compiler.frontends.packed_nodes import gathered, packed, product
from tests.support.compiler.frontends.runtime_nodes import node
from tests.support.compiler.frontends.runtime_runs import differences, drawn, refusal


def test_products() -> None:
    drawn(product, range(12))


def test_rows_of_a_table() -> None:
    drawn(gathered, range(12))


@pytest.mark.exhaustive
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_many_products(bits: int) -> None:
    drawn(lambda random: product(random, bits), range(200))


@pytest.mark.exhaustive
def test_products_without_avx512() -> None:
    for seed in range(200):
        differences(product(np.random.default_rng(seed)), without=("avx512f",))


@pytest.mark.exhaustive
def test_rows_of_many_tables() -> None:
    drawn(gathered, range(100))


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_elements_lie_from_the_low_bits_up(bits: int) -> None:
    codes = np.random.default_rng(bits).integers(0, 1 << bits, (3, 40))
    assert unpacked(packed(codes, bits), bits).astype(np.int64).tolist() == codes.tolist()
    (first,) = unpacked(np.array([[0b11100100]], np.uint8), 2)
    assert first.astype(int).tolist() == [0, 1, 2, 3]


def test_refusals() -> None:
    data, scales = np.zeros((2, 32), np.float32), np.ones(3, np.float32)
    weights = np.zeros((3, 1, 16), np.uint8)
    sizes = {"K": 32, "N": 3, "block_size": 32}
    like = np.zeros((2, 3), np.float32)

    def why(*operands: np.ndarray | None, **attributes: int) -> str:
        return refusal(node("MatMulNBits", *operands, **(sizes | attributes)), like)

    assert "weights of 3 bits: 2, 4, 8 are possible" in why(data, weights, scales, bits=3)
    assert "B has 48 bytes, for 3 x 1 blocks of 64" in why(data, weights, scales, block_size=64)
    assert "float32[3] for 3 x 2 blocks" in why(data, weights, scales, block_size=16)
    assert "packed for a processor" in why(data, weights, scales, weight_prepacked=1)
    order = np.zeros(32, np.int32)
    assert "g_idx" in why(data, weights, scales, None, order)
    points = np.zeros(1, np.uint8)
    assert "1 bytes of zero points, for 3 x 1 blocks" in why(data, weights, scales, points)
    table = node("GatherBlockQuantized", weights[0], np.zeros(2, np.int64), scales, quantize_axis=1)
    assert "in blocks of 128 along 1: scales float32[3]" in refusal(table, like)
