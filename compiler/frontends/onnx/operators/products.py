"""Matrix products."""

from __future__ import annotations

from typing import Final

from tandem.compiler.frontends.onnx.converter import Converter, direct
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.operators.products import Gemm, Product
from tandem.compiler.graph.operators.shapes import Transpose
from tandem.compiler.operators.determinant import LARGEST

_TRANSPOSED: Final = Transpose((1, 0))


def _gemm(node: Node) -> Value:
    return gemm(node, node.input(0), node.input(1), node.optional(2), gemm_attributes(node))


def gemm_attributes(node: Node) -> Gemm:
    """The attributes of `Gemm`; `beta` is 1 if the operator has none."""
    beta = node.real("beta") if node.has("beta") else 1.0
    transposed = bool(node.integer("transA")), bool(node.integer("transB"))
    return Gemm(node.real("alpha"), beta, *transposed)


def gemm(node: Node, a: Value, b: Value, c: Value | None, to: Gemm) -> Value:
    """alpha * a @ b + beta * c; a dense layer if it is one."""
    columns = b.shape[:1] if to.trans_b else b.shape[1:]
    weights = b.rank == 2 and (to.trans_b or b.known is not None) and a.dtype.is_float
    fixed = all(isinstance(each, int) for each in (*b.shape, *a.shape[1:]))
    plain = (to.alpha, to.trans_a) == (1.0, False)
    if (
        weights
        and fixed
        and plain
        and (c is None or (to.beta == 1.0 and c.shape in (columns, (1, *columns))))
    ):
        # A dense layer: weights have a row for each output.
        weight = b if to.trans_b else node.call("transpose", b, to=_TRANSPOSED)
        bias = None if c is None else node.reshape(c, columns)
        return node.call("dense", a, weight, bias, to=Product())
    return node.call("gemm", a, b, c, to=to)


def _matmul(node: Node) -> Value:
    return product(node, node.input(0), node.input(1))


def product(node: Node, a: Value, b: Value) -> Value:
    """The product of matrices, a dense layer if it is one."""
    if (a.rank, b.rank) == (2, 2) and b.known is not None and a.dtype.is_float:
        return node.call("dense", a, node.call("transpose", b, to=_TRANSPOSED), to=Product())
    to = Product() if a.dtype.is_float else Product(a.dtype)
    return node.call("matmul", a, b, to=to)


CONVERTERS: tuple[Converter, ...] = (
    Converter("Gemm", (1, 6, 7, 9, 11, 13), _gemm),
    Converter("Det", (11, 22), direct("determinant"), f"up to {LARGEST} rows"),
    Converter("MatMul", (1, 9, 13), _matmul),
)
