"""Random nodes of what ONNX Runtime's optimiser leaves: fused layers, GELU, normalisations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from tests.support.compiler.frontends.random_nodes import Array, Random, RandomNode
from tests.support.compiler.frontends.runtime_nodes import (
    byte,
    flag,
    integers,
    node,
    number,
    one_of,
    scale,
    shape,
    weights,
)


def floats(random: Random, *extents: int) -> Array:
    """Normal numbers in float32."""
    return random.standard_normal(extents).astype(np.float32)


_ACTIVATIONS: Mapping[str, int] = MappingProxyType(
    {"Relu": 0, "Tanh": 0, "Sigmoid": 0, "LeakyRelu": 1, "HardSigmoid": 2, "Clip": 2}
)
"""Those of ONNX Runtime's convolution, with the numbers of their parameters."""


def _conv(random: Random) -> RandomNode:
    rank, groups = number(random, 1, 3), number(random, 1, 2)
    image, kernel = shape(random, rank, 4, 7), shape(random, rank, most=3)
    bias = floats(random, 3 * groups) if flag(random) else None
    operands = [floats(random, 2, 2 * groups, *image), floats(random, 3 * groups, 2, *kernel), bias]
    attributes: dict[str, Any] = {"group": groups}
    if flag(random):
        # As large as the image.
        attributes["auto_pad"] = "SAME_UPPER"
        added = floats(random, 2, 3 * groups, *image) if flag(random) and rank == 2 else None
        operands.append(added)
    else:
        attributes["strides"] = shape(random, rank, most=2)
        attributes["pads"] = shape(random, 2 * rank, 0, 1)
    name = one_of(random, None, *_ACTIVATIONS)
    if name is not None:
        attributes["activation"] = name
        params = sorted(random.uniform(0.1, 0.9, _ACTIVATIONS[name]).tolist())
        attributes["activation_params"] = params or None
    return node("FusedConv", *operands, **attributes)


def _gemm(random: Random) -> RandomNode:
    m, n, k = shape(random, 3, most=9)
    trans_a, trans_b = flag(random), flag(random)
    bias = one_of(random, (n,), (1, n), (m, n), (m, 1), (1,), None)
    name = one_of(
        random,
        *("Relu", "Tanh", "Sigmoid", "Softplus", "Softsign"),
        *("LeakyRelu", "Elu", "ThresholdedRelu", "HardSigmoid", "Celu", "Selu"),
    )
    attributes = {}
    if name not in ("Relu", "Tanh", "Sigmoid", "Softplus", "Softsign"):
        attributes["activation_alpha"] = float(random.uniform(0.1, 0.9))
    if name == "HardSigmoid":
        attributes["activation_beta"] = float(random.uniform(0.1, 0.9))
    if name == "Selu":
        attributes["activation_gamma"] = float(random.uniform(0.1, 0.9))
    return node(
        "FusedGemm",
        floats(random, *((k, m) if trans_a else (m, k))),
        floats(random, *((n, k) if trans_b else (k, n))),
        None if bias is None else floats(random, *bias),
        activation=name,
        transA=trans_a,
        transB=trans_b,
        alpha=one_of(random, None, 0.5),
        beta=one_of(random, None, 0.3),
        **attributes,
    )


def _matmul(random: Random) -> RandomNode:
    m, n, k, *batch = shape(random, number(random, 3, 5), most=5)
    operands: list[Array] = []
    flags: dict[str, int] = {}
    for name, rows, columns in (("A", m, k), ("B", k, n)):
        swapped, moved = flag(random), flag(random)
        extents = [*batch, *((columns, rows) if swapped else (rows, columns))]
        if moved and batch:
            # The rows come first, then the batch.
            extents = [extents[-2], *batch, extents[-1]]
        operands.append(floats(random, *extents))
        flags |= {f"trans{name}": swapped, f"transBatch{name}": moved if batch else 0}
    alpha = one_of(random, None, 0.25)
    return node("FusedMatMul", *operands, alpha=alpha, **flags)


def _matmul_transposed(random: Random) -> RandomNode:
    drawn = _matmul(random)
    while any(drawn.attributes[f"transBatch{name}"] for name in "AB"):
        drawn = _matmul(random)
    kept = {name: it for name, it in drawn.attributes.items() if "Batch" not in name}
    return replace(drawn, operator="TransposeMatMul", attributes=kept)


def _tokens(random: Random) -> tuple[int, ...]:
    return shape(random, number(random, 1, 3), most=7)


def _gelu(random: Random) -> RandomNode:
    return node("Gelu", floats(random, *_tokens(random)) * 3)


def _quick_gelu(random: Random) -> RandomNode:
    alpha = one_of(random, None, 0.8)
    return node("QuickGelu", floats(random, *_tokens(random)) * 3, alpha=alpha)


def _bias_gelu(random: Random) -> RandomNode:
    extents = _tokens(random)
    return node("BiasGelu", floats(random, *extents) * 3, floats(random, extents[-1]))


def _fast_gelu(random: Random) -> RandomNode:
    extents = _tokens(random)
    bias = floats(random, extents[-1]) if flag(random) else None
    return node("FastGelu", floats(random, *extents) * 3, bias)


def _layer_norm(random: Random) -> RandomNode:
    extents = _tokens(random)
    rank = len(extents)
    axis = number(random, -rank, rank - 1)
    own = extents[axis % rank :]
    bias = floats(random, *own) if flag(random) else None
    drawn = node(
        "LayerNormalization",
        *(floats(random, *extents), floats(random, *own), bias),
        axis=axis,
        epsilon=one_of(random, None, 1e-3),
    )
    return replace(drawn, domain="", opset=16, outputs=number(random, 1, 3))


def _root_mean_square(random: Random) -> RandomNode:
    drawn = _layer_norm(random)
    return replace(
        drawn,
        operator="SimplifiedLayerNormalization",
        operands=drawn.operands[:2],
        outputs=number(random, 1, 2),
    )


def _skip(operator: str) -> Callable[[Random], RandomNode]:
    def draw(random: Random) -> RandomNode:
        batch, tokens, features = shape(random, 3, most=7)
        whole = (batch, tokens, features)
        other = one_of(random, whole, whole[1:], (1, *whole[1:]))
        beta = [floats(random, features) if flag(random) else None]
        return replace(
            node(
                operator,
                *(floats(random, *whole), floats(random, *other), floats(random, features)),
                *(beta if operator == "SkipLayerNormalization" else []),
                floats(random, features) if flag(random) else None,
                epsilon=one_of(random, None, 1e-3),
            ),
            outputs=one_of(random, 1, 4),
            used=(0, 3),
        )

    return draw


def _embed(random: Random) -> RandomNode:
    batch, tokens, features = shape(random, 3, most=7)
    words, segments = number(random, 3, 20), flag(random)
    own = one_of(random, (batch, tokens), (1, tokens), None)
    places = None if own is None else random.integers(0, tokens, own).astype(np.int32)
    mask = random.integers(0, 2, (batch, tokens)).astype(np.int32) if flag(random) else None
    drawn = node(
        "EmbedLayerNormalization",
        random.integers(0, words, (batch, tokens)).astype(np.int32),
        random.integers(0, 2, (batch, tokens)).astype(np.int32) if segments else None,
        floats(random, words, features),
        floats(random, tokens + flag(random), features),
        floats(random, 2, features) if segments else None,
        *(floats(random, features), floats(random, features), mask, places),
        epsilon=one_of(random, None, 1e-3),
        mask_index_type=one_of(random, None, 1),
    )
    return replace(drawn, outputs=number(random, 2, 3))


def _dynamic(random: Random) -> RandomNode:
    m, n, k, *batch = shape(random, number(random, 3, 4), most=7)
    dtype, columns = byte(random), (n,) if flag(random) else ()
    zeros = one_of(random, None, integers(random, dtype, *columns))
    return node(
        "DynamicQuantizeMatMul",
        floats(random, *batch, m, k),
        *(weights(random, np.uint8, dtype, k, n), scale(random, *columns)),
        zeros,
        floats(random, n) if flag(random) else None,
    )


def _integers(random: Random) -> RandomNode:
    m, n, k, *batch = shape(random, number(random, 3, 4), most=7)
    a, b, columns = byte(random), byte(random), (n,) if flag(random) else ()
    b = np.int8 if a == np.int8 else b
    return node(
        "MatMulIntegerToFloat",
        *(integers(random, a, *batch, m, k), weights(random, a, b, k, n)),
        *(scale(random), scale(random, *columns)),
        one_of(random, None, integers(random, a)),
        one_of(random, None, integers(random, b, *columns)),
        floats(random, n) if flag(random) else None,
    )


FUSED: Mapping[str, Callable[[Random], RandomNode]] = MappingProxyType(
    {
        "BiasGelu": _bias_gelu,
        "FastGelu": _fast_gelu,
        "FusedConv": _conv,
        "FusedGemm": _gemm,
        "FusedMatMul": _matmul,
        "Gelu": _gelu,
        "QuickGelu": _quick_gelu,
        "TransposeMatMul": _matmul_transposed,
    }
)
NORMALISATIONS: Mapping[str, Callable[[Random], RandomNode]] = MappingProxyType(
    {
        "EmbedLayerNormalization": _embed,
        "LayerNormalization": _layer_norm,
        "SimplifiedLayerNormalization": _root_mean_square,
        "SkipLayerNormalization": _skip("SkipLayerNormalization"),
        "SkipSimplifiedLayerNormalization": _skip("SkipSimplifiedLayerNormalization"),
    }
)
DYNAMIC: Mapping[str, Callable[[Random], RandomNode]] = MappingProxyType(
    {"DynamicQuantizeMatMul": _dynamic, "MatMulIntegerToFloat": _integers}
)
