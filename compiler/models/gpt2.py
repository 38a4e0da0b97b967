"""GPT-2 as an ONNX model, with random weights.

Radford et al., Language models are unsupervised multitask learners, 2019: the small model, whose
last layer has the embedding's weights. One that decodes has the keys and values of earlier tokens
as inputs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from onnx import ModelProto, TensorProto, helper

from tandem.compiler.models.network import Shape
from tandem.compiler.models.transformer import (
    IR_VERSION,
    OPSET,
    Cache,
    Sizes,
    TransformerBuilder,
    causal_mask,
)

_SMALL = Sizes(768, 12, 3072, 12, tokens=128, vocabulary=50_257)
_TINY = Sizes(32, 2, 64, 2, tokens=12, vocabulary=60)
_LONGEST, _LONGEST_TINY = 1024, 16


def gpt2(seed: int = 0) -> ModelProto:
    """GPT-2 small on 128 tokens: `ids` int64[1, 128] to `logits` [1, 128, 50257]."""
    return _gpt2("gpt2", _SMALL, _LONGEST, seed)


def gpt2_tiny(seed: int = 0) -> ModelProto:
    """A small one on 12 tokens of a vocabulary of 60, with 32 features."""
    return _gpt2("gpt2-tiny", _TINY, _LONGEST_TINY, seed)


def gpt2_decode(seed: int = 0) -> ModelProto:
    """The 128th token of `gpt2`: `ids` int64[1, 1] and, of the tokens before it, `layerN.key.past`
    and `layerN.value.past` [1, 12, 127, 64], to `logits` [1, 1, 50257] and this token's
    `layerN.key` and `layerN.value` [1, 12, 1, 64]."""
    return _gpt2("gpt2-decode", replace(_SMALL, tokens=1, past=127), _LONGEST, seed)


def gpt2_decode_tiny(seed: int = 0) -> ModelProto:
    """The 12th token of `gpt2_tiny`."""
    return _gpt2("gpt2-decode-tiny", replace(_TINY, tokens=1, past=11), _LONGEST_TINY, seed)


def _gpt2(name: str, sizes: Sizes, longest: int, seed: int) -> ModelProto:
    network = TransformerBuilder(np.random.default_rng(seed))
    features, tokens, past = sizes.features, sizes.tokens, sizes.past
    table = network.weight("words", network.normal((sizes.vocabulary, features), features))
    places = network.weight("positions", network.normal((longest, features), features, 0.5))
    x = network.node("Gather", [table, "ids"], "embedded")
    order = network.weight("order", np.arange(past, past + tokens)[None])
    x = network.node("Add", [x, network.node("Gather", [places, order], "placed")], "tokens")
    mask = network.constant("mask", causal_mask(tokens, past)) if tokens > 1 else None
    cache = Cache(sizes)
    for layer in range(sizes.layers):
        stem = f"layer{layer}"
        inner = network.layer_norm(f"{stem}.norm1", x, features)
        joined = network.linear(f"{stem}.joined", inner, features, 3 * features)
        parts = [f"{stem}.{part}.tokens" for part in ("query", "key", "value")]
        thirds = network.integers("thirds", features, features, features)
        network.nodes.append(helper.make_node("Split", [joined, thirds], parts, axis=-1))
        query, key, value = (
            network.split(f"{stem}.{part}", tokens, sizes.heads, sizes.head)
            for part, tokens in zip(("query", "key", "value"), parts, strict=True)
        )
        operands = [query, cache.joined(network, key), cache.joined(network, value)]
        seen = network.attend(f"{stem}.attention", operands, sizes, mask)
        seen = network.linear(f"{stem}.output", seen, features, features, sizes.branch_scale)
        x = network.node("Add", [x, seen], f"{stem}.middle")
        inner = network.layer_norm(f"{stem}.norm2", x, features)
        inner = network.perceptron(f"{stem}.perceptron", inner, sizes)
        x = network.node("Add", [x, inner], stem)
    x = network.layer_norm("norm", x, features)
    head = network.node("Transpose", [table], "head", perm=[1, 0])
    network.node("MatMul", [x, head], "logits")
    inputs: dict[str, tuple[int, Shape]] = {"ids": (TensorProto.INT64, (1, tokens))}
    outputs: dict[str, Shape] = {"logits": (1, tokens, sizes.vocabulary)}
    return network.model(name, inputs | cache.inputs, outputs | cache.outputs, OPSET, IR_VERSION)
