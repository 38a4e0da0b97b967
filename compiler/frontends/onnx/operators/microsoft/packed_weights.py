"""ONNX Runtime's operators on weights of 2, 4 and 8 bits, packed into bytes, with scales of blocks.

Elements lie in a byte from its low bits up. A block of `block_size` elements along an axis has a
scale, and a zero point or the middle of the range. Products are those of the real numbers that the
integers stand for, in float32: what ONNX Runtime computes with an `accuracy_level` of 0 or 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.definitions import Kind, define
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.microsoft.domain import own_converter
from tandem.compiler.frontends.onnx.values import Array, Value
from tandem.compiler.graph.operators.compressed import DequantiseBlocks
from tandem.compiler.graph.operators.parts import Gather
from tandem.compiler.graph.operators.products import Product
from tandem.compiler.graph.operators.shapes import Transpose
from tandem.compiler.ir.dtypes import (
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    INT4,
    INT32,
    INT64,
    UINT2,
    UINT4,
    UINT8,
    DType,
)

_CODES: Final[Mapping[int, DType]] = MappingProxyType({2: UINT2, 4: UINT4, 8: UINT8})
"""The types of elements by their bits."""


def unpacked(packed: Array, bits: int) -> Array:
    """The elements of bytes along the last axis, those of the low bits first."""
    assert packed.dtype == np.uint8, "bytes"
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes = (packed[..., np.newaxis] >> shifts) & np.uint8((1 << bits) - 1)
    return codes.reshape(*packed.shape[:-1], -1).astype(_CODES[bits].numpy)


def _product(node: Node) -> Value:
    """The result of `MatMulNBits`: A times the transpose of B, and a bias."""
    packed = node.needed(node.known(1), "B is missing")
    columns, depth = node.integer("N"), node.integer("K")
    size, bits = node.integer("block_size"), _bits(node)
    if node.integer("weight_prepacked"):
        node.unsupported("weights that ONNX Runtime has packed for a processor")
    if node.optional(4) is not None:
        node.unsupported("g_idx: blocks in another order")
    if min(columns, depth, size) < 1 or size * bits % 8:
        node.refuse(f"N {columns}, K {depth}, blocks of {size}")
    blocks = -(-depth // size)
    if packed.size != columns * blocks * size * bits // 8:
        node.refuse(f"B has {packed.size:,} bytes, for {columns} x {blocks} blocks of {size}")
    codes = unpacked(packed.reshape(columns, -1), bits)[:, :depth]
    # Inputs come first: what is known is turned over here, and stays compressed in the graph.
    turned = Transpose((1, 0))
    scale = _shaped(node, node.input(2), (columns, blocks))
    numbers = [node.constant(codes.T), node.call("transpose", scale, to=turned)]
    zero = node.optional(3)
    if zero is not None and zero.dtype.is_integer:
        points = node.needed(node.known(3), "zero points are missing")
        if points.size != columns * -(-blocks * bits // 8):
            node.refuse(f"{points.size:,} bytes of zero points, for {columns} x {blocks} blocks")
        numbers.append(node.constant(unpacked(points.reshape(columns, -1), bits)[:, :blocks].T))
    elif zero is not None:
        numbers.append(node.call("transpose", _shaped(node, zero, (columns, blocks)), to=turned))
    to = DequantiseBlocks(0, size, 0 if len(numbers) > 2 else 1 << (bits - 1))
    weights = node.call("dequantise_blocks", *numbers, to=to)
    found = node.call("matmul", node.input(0), weights, to=Product())
    bias = node.optional(5)
    return found if bias is None else node.call("add", found, bias)


def _gathered(node: Node) -> Value:
    """The result of `GatherBlockQuantized`: real numbers of the rows that are gathered."""
    bits, size = _bits(node), node.integer("block_size")
    data, scale, zero = node.input(0), node.input(2), node.optional(3)
    middle = 0
    if data.dtype == UINT8:
        middle = 1 << (bits - 1)
        data = node.constant(unpacked(node.needed(node.known(0), "data is missing"), bits))
        if zero is not None:
            points = unpacked(node.needed(node.known(3), "zero points are missing"), bits)
            zero = node.constant(points[..., : scale.shape[-1]])
    (along,) = node.axes([node.integer("quantize_axis")], data)
    (axis,) = node.axes([node.integer("gather_axis")], data)
    along, axis = along % data.rank, axis % data.rank
    shape = node.static_shape(data, "data")
    blocks = -(-shape[along] // max(size, 1))
    wanted = (*shape[:along], blocks, *shape[along + 1 :])
    if size < 1 or axis == along or scale.shape != wanted:
        node.refuse(
            f"axis {axis} of {data.type} in blocks of {size} along {along}: scales {scale.type}"
        )
    if zero is not None and zero.shape != wanted:
        node.refuse(f"scales {scale.type} and zero points {zero.type}")
    if zero is None:
        zero = node.constant(np.array(middle, np.int32))
    rows = node.input(1)

    def taken(value: Value) -> Value:
        return node.call("gather", value, rows, to=Gather(axis)) if value.rank else value

    return _real(
        node, taken(data), taken(scale), taken(zero), along + (rows.rank - 1) * (axis < along), size
    )


def _bits(node: Node) -> int:
    bits = node.integer("bits")
    if bits not in _CODES:
        known = ", ".join(map(str, _CODES))
        node.unsupported(f"weights of {bits} bits: {known} are possible")
    return bits


def _shaped(node: Node, value: Value, shape: tuple[int, ...]) -> Value:
    """A value with a number for each block, in its shape."""
    if value.type.size != int(np.prod(shape)):
        node.refuse(f"{value.type} for {shape[0]} x {shape[1]} blocks")
    return node.reshape(value, shape)


def _real(node: Node, codes: Value, scale: Value, zero: Value, axis: int, size: int) -> Value:
    """The real numbers of codes, by the scales and zero points of blocks along an axis."""
    number = node.constant(np.arange(node.extent(axis, codes)) // size)

    def spread(value: Value) -> Value:
        return node.call("gather", value, number, to=Gather(axis)) if value.rank else value

    kind = INT32 if zero.dtype.is_integer else scale.dtype
    centred = node.call("subtract", node.cast(codes, kind), node.cast(spread(zero), kind))
    return node.call("multiply", node.cast(centred, scale.dtype), spread(scale))


_FLOATS: Final = (FLOAT32, FLOAT16, BFLOAT16)
CONVERTERS: tuple[Converter, ...] = (
    own_converter(
        "MatMulNBits",
        _product,
        define(
            "A: T1, B: T2, scales: T1, zero_points: T3?, g_idx: T4?, bias: T1?",
            "Y: T1",
            {"T1": _FLOATS, "T2": (UINT8,), "T3": (UINT8, *_FLOATS), "T4": (INT32,)},
            K=Kind.INT,
            N=Kind.INT,
            bits=4,
            block_size=Kind.INT,
            accuracy_level=0,
            weight_prepacked=0,
        ),
        "weights of 2, 4 and 8 bits that are known; computed in float32",
    ),
    own_converter(
        "GatherBlockQuantized",
        _gathered,
        define(
            "data: T1, indices: Tind, scales: T2, zero_points: T1?",
            "output: T2",
            {"T1": (INT4, UINT4, UINT8), "T2": _FLOATS, "Tind": (INT32, INT64)},
            bits=4,
            block_size=128,
            gather_axis=0,
            quantize_axis=1,
        ),
        "bytes have to be known",
    ),
)
