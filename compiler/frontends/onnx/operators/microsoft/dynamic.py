"""ONNX Runtime's products of integers whose scales are known only when the network runs.

They become what `quantize_dynamic` writes in the standard's operators: `DynamicQuantizeLinear`,
`MatMulInteger`, `Cast`, `Mul` by both scales, `Add`.
"""

from __future__ import annotations

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.definitions import BYTES, define
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.microsoft.domain import own_converter
from tandem.compiler.frontends.onnx.operators.quantised import dynamic, integer_product
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.ir.dtypes import FLOAT16, FLOAT32


def _scaled(node: Node, sums: Value, scale: Value, bias: Value | None) -> Value:
    """Sums of products of integers as real numbers."""
    found = node.call("multiply", node.cast(sums, scale.dtype), scale)
    return found if bias is None else node.call("add", found, bias)


def _dynamic_product(node: Node) -> Value:
    data, scale, zero = dynamic(node)
    sums = integer_product(node, data, node.input(1), zero, node.optional(3))
    return _scaled(node, sums, node.call("multiply", scale, node.input(2)), node.optional(4))


def _product(node: Node) -> Value:
    a, b = node.input(0), node.input(1)
    sums = integer_product(node, a, b, node.optional(4), node.optional(5))
    scale = node.call("multiply", node.input(2), node.input(3))
    return _scaled(node, sums, scale, node.optional(6))


CONVERTERS: tuple[Converter, ...] = (
    own_converter(
        "DynamicQuantizeMatMul",
        _dynamic_product,
        definition=define(
            "A: float32, B: T2, b_scale: float32, b_zero_point: T2?, bias: float32?",
            "Y: float32",
            {"T2": BYTES},
        ),
    ),
    own_converter(
        "MatMulIntegerToFloat",
        _product,
        definition=define(
            "A: T1, B: T2, a_scale: T3, b_scale: T3, a_zero_point: T1?, b_zero_point: T2?, "
            "bias: T3?",
            "Y: T3",
            {"T1": BYTES, "T2": BYTES, "T3": (FLOAT32, FLOAT16)},
        ),
    ),
)
