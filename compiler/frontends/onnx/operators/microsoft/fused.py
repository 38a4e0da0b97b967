"""Layers that ONNX Runtime's optimiser joins with activations, sums and transpositions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.definitions import FLOATS, Kind, define
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.convolutions import AXES, convolve
from tandem.compiler.frontends.onnx.operators.microsoft.domain import own_converter
from tandem.compiler.frontends.onnx.operators.products import gemm, gemm_attributes, product
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.elementwise import Clip
from tandem.compiler.graph.operators.shapes import Transpose
from tandem.compiler.ir.dtypes import FLOAT16, FLOAT32, FLOAT64
from tandem.compiler.operators.activations import GeluForm

_ACTIVATIONS: Final[Mapping[str, tuple[str, int]]] = MappingProxyType(
    {
        "Celu": ("celu", 1),
        "Elu": ("elu", 1),
        "HardSigmoid": ("hard_sigmoid", 2),
        "LeakyRelu": ("leaky_relu", 1),
        "Relu": ("relu", 0),
        "Selu": ("selu", 2),
        "Sigmoid": ("sigmoid", 0),
        "Softplus": ("softplus", 0),
        "Softsign": ("softsign", 0),
        "Tanh": ("tanh", 0),
        "ThresholdedRelu": ("thresholded_relu", 1),
    }
)
"""The graph's operator of an activation, and the number of its parameters."""


def _activated(node: Node, data: Value, params: Sequence[float]) -> Value:
    """The activation that a node names, with parameters, of the data; the data if there is none."""
    name = node.text("activation", "")
    if not name:
        return data
    if name == "Clip":
        if len(params) != 2:
            node.refuse(f"activation Clip has {len(params)} parameters, of 2")
        return node.call("clip", data, to=Clip(*params))
    if name not in _ACTIVATIONS:
        node.unsupported(f"the activation {name}: {', '.join((*_ACTIVATIONS, 'Clip'))} are")
    operator, count = _ACTIVATIONS[name]
    if len(params) < count:
        node.refuse(f"activation {name} has {len(params)} parameters, of {count}")
    return node.call(operator, data, to=OPERATORS[operator].attributes(*params[:count]))


def _conv(node: Node) -> Value:
    found, added = convolve(node), node.optional(3)
    if added is not None:
        if added.shape != found.shape:
            node.refuse(f"what is added is {added.type}, to {found.type}")
        found = node.call("add", found, added)
    return _activated(node, found, node.reals("activation_params"))


def _gemm(node: Node) -> Value:
    found = gemm(node, node.input(0), node.input(1), node.optional(2), gemm_attributes(node))
    names = ("activation_alpha", "activation_beta", "activation_gamma")
    params = [node.real(each) for each in names if each in node.given()]
    return _activated(node, found, params)


def _matmul(node: Node) -> Value:
    """The product of matrices, transposed before if attributes say so, times `alpha`."""
    operands = (_transposed(node, node.input(at), "AB"[at]) for at in range(2))
    found = product(node, *operands)
    alpha = node.real("alpha")
    return found if alpha == 1 else node.call("multiply", found, node.number(alpha, found))


def _transposed(node: Node, data: Value, name: str) -> Value:
    """An operand, its first axis moved behind those of the batch, then its last two swapped."""
    order = list(range(data.rank))
    if node.integer(f"transBatch{name}", 0) and data.rank > 2:
        order = [*order[1:-1], 0, order[-1]]
    if node.integer(f"trans{name}") and data.rank > 1:
        order[-2:] = reversed(order[-2:])
    if order == sorted(order):
        return data
    return node.call("transpose", data, to=Transpose(tuple(order)))


def _gelu(node: Node) -> Value:
    return node.call("gelu", _with_bias(node), to=OPERATORS["gelu"].attributes())


def _fast_gelu(node: Node) -> Value:
    to = OPERATORS["gelu"].attributes(GeluForm.TANH)
    return node.call("gelu", _with_bias(node), to=to)


def _with_bias(node: Node) -> Value:
    """The first operand, plus the second one along the last axis if there is one."""
    data, bias = node.input(0), node.optional(1)
    if bias is None:
        return data
    if bias.shape != data.shape[-1:]:
        node.refuse(f"a bias {bias.type} of {data.type}")
    return node.call("add", data, bias)


def _quick_gelu(node: Node) -> Value:
    to = OPERATORS["swish"].attributes(node.real("alpha"))
    return node.call("swish", node.input(0), to=to)


_T: Final = MappingProxyType({"T": FLOATS})
_LAYER: Final = MappingProxyType({"T": (FLOAT32, FLOAT64, FLOAT16)})

CONVERTERS: tuple[Converter, ...] = (
    own_converter("BiasGelu", _gelu, definition=define("A: T, B: T", "C: T", _T)),
    own_converter("FastGelu", _fast_gelu, definition=define("X: T, bias: T?", "Y: T", _T)),
    own_converter("Gelu", _gelu, definition=define("X: T", "Y: T", _T)),
    own_converter("QuickGelu", _quick_gelu, definition=define("X: T", "Y: T", _T, alpha=1.702)),
    own_converter(
        "FusedConv",
        _conv,
        limits=AXES,
        definition=define(
            "X: T, W: T, B: T?, Z: T?",
            "Y: T",
            _LAYER,
            activation=Kind.STRING,
            activation_params=Kind.FLOATS,
            auto_pad="NOTSET",
            dilations=Kind.INTS,
            group=1,
            kernel_shape=Kind.INTS,
            pads=Kind.INTS,
            strides=Kind.INTS,
        ),
    ),
    own_converter(
        "FusedGemm",
        _gemm,
        definition=define(
            "A: T, B: T, C: T?",
            "Y: T",
            _LAYER,
            activation=Kind.STRING,
            activation_alpha=Kind.FLOAT,
            activation_beta=Kind.FLOAT,
            activation_gamma=Kind.FLOAT,
            alpha=1.0,
            beta=1.0,
            transA=0,
            transB=0,
        ),
    ),
    own_converter(
        "FusedMatMul",
        _matmul,
        definition=define(
            "A: T, B: T", "Y: T", _T, alpha=1.0, transA=0, transB=0, transBatchA=0, transBatchB=0
        ),
    ),
    own_converter(
        "TransposeMatMul",
        _matmul,
        definition=define("A: T, B: T", "Y: T", _T, alpha=1.0, transA=0, transB=0),
    ),
)
