"""Random nodes of ONNX Runtime's operators on packed weights."""

from __future__ import annotations

import numpy as np

from tests.support.compiler.frontends.random_nodes import Array, Random, RandomNode
from tests.support.compiler.frontends.runtime_nodes import (
    flag,
    node,
    number,
    one_of,
    shape,
)


def packed(codes: Array, bits: int) -> Array:
    """Codes along the last axis as bytes, the first in the low bits; the last byte is filled up."""
    count = 8 // bits
    missing = -codes.shape[-1] % count
    padded = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, missing)])
    parts = padded.reshape(*codes.shape[:-1], -1, count).astype(np.uint32)
    return (parts << (bits * np.arange(count))).sum(-1).astype(np.uint8)


def product(random: Random, bits: int | None = None) -> RandomNode:
    """`MatMulNBits` of any shape, one row among them, with every kind of zero points."""
    bits = one_of(random, 2, 4, 8) if bits is None else bits
    size = one_of(random, 16, 32, 64)
    depth, columns = number(random, 1, 150), number(random, 1, 40)
    blocks = -(-depth // size)
    rows = (1,) if flag(random) else shape(random, number(random, 1, 2))
    data = random.standard_normal((*rows, depth)).astype(np.float32)
    codes = random.integers(0, 1 << bits, (columns, blocks * size))
    scales = random.uniform(0.01, 0.2, columns * blocks).astype(np.float32)
    points = random.integers(0, 1 << bits, (columns, blocks))
    zeros: list[Array | None] = [None, packed(points, bits).reshape(-1)]
    if bits == 4:  # ONNX Runtime takes floats with these alone
        zeros.append(points.astype(np.float32).reshape(-1))
    operands = [
        data,
        packed(codes, bits).reshape(columns, blocks, -1),
        scales,
        zeros[number(random, 0, len(zeros) - 1)],
    ]
    if flag(random):
        operands += [None, random.standard_normal(columns).astype(np.float32)]
    attributes = {"K": depth, "N": columns, "bits": bits, "block_size": size}
    return node("MatMulNBits", *operands, **attributes)


def gathered(random: Random) -> RandomNode:
    """`GatherBlockQuantized` of rows of a table of bytes."""
    bits, size = one_of(random, 4, 8), one_of(random, 16, 32)
    rows, blocks = number(random, 1, 9), number(random, 1, 4)
    table = packed(random.integers(0, 1 << bits, (rows, blocks * size)), bits)
    indices = random.integers(-rows, rows, shape(random, number(random, 1, 2))).astype(np.int64)
    scales = random.uniform(0.01, 0.2, (rows, blocks)).astype(np.float32)
    zeros = packed(random.integers(0, 1 << bits, (rows, blocks)), bits) if flag(random) else None
    attributes = {"bits": bits, "block_size": size, "quantize_axis": 1, "gather_axis": 0}
    return node("GatherBlockQuantized", table, indices, scales, zeros, **attributes)
