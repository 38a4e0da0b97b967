"""GPT-2 as an ONNX model, with random weights.

Radford et al., Language models are unsupervised multitask learners, 2019: the small model, whose
last layer has the embedding's weights. One that decodes has the keys and values of earlier tokens
as inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, helper

from tandem.compiler.models.transformer import Sizes, TokenPorts, TransformerBuilder

SMALL = Sizes(768, 12, 3072, 12, tokens=128, vocabulary=50_257)
TINY = Sizes(32, 2, 64, 2, tokens=12, vocabulary=60)
LONGEST, LONGEST_TINY = 1024, 16
"""The numbers of positions."""


def gpt2(seed: int = 0) -> ModelProto:
    """GPT-2 small on 128 tokens: `ids` int64[1, 128] to `logits` [1, 128, 50257]."""
    return gpt2_of("gpt2", TokenPorts(SMALL), LONGEST, seed)


def gpt2_tiny(seed: int = 0) -> ModelProto:
    """A small one on 12 tokens of a vocabulary of 60, with 32 features."""
    return gpt2_of("gpt2-tiny", TokenPorts(TINY), LONGEST_TINY, seed)


def gpt2_decode(seed: int = 0) -> ModelProto:
    """The 128th token of `gpt2`: `ids` int64[1, 1] and, of the tokens before it, `layerN.key.past`
    and `layerN.value.past` [1, 12, 127, 64], to `logits` [1, 1, 50257] and this token's
    `layerN.key` and `layerN.value` [1, 12, 1, 64]."""
    ports = TokenPorts(replace(SMALL, tokens=1, past=127))
    return gpt2_of("gpt2-decode", ports, LONGEST, seed)


def gpt2_decode_tiny(seed: int = 0) -> ModelProto:
    """The 12th token of `gpt2_tiny`."""
    ports = TokenPorts(replace(TINY, tokens=1, past=11))
    return gpt2_of("gpt2-decode-tiny", ports, LONGEST_TINY, seed)


def gpt2_of(
    name: str,
    ports: TokenPorts,
    longest: int,
    seed: int = 0,
    weights: Mapping[str, NDArray[Any]] = MappingProxyType({}),
) -> ModelProto:
    """A network of this architecture, of other sizes: those of `ports`, whose inputs and outputs
    it has.

    Parameters
    ----------
    longest
        The number of positions.
    weights
        Trained weights by name; those that are not there are random, with the seed.

    Raises
    ------
    ValueError
        A weight of another shape.
    """
    sizes = ports.sizes
    network = TransformerBuilder(np.random.default_rng(seed), trained=weights)
    features = sizes.features
    table = network.weight("words", network.normal((sizes.vocabulary, features), features))
    places = network.weight("positions", network.normal((longest, features), features, 0.5))
    x = network.node("Gather", [table, ports.ids], "embedded")
    placed = network.node("Gather", [places, ports.positions(network)], "placed")
    x = network.node("Add", [x, placed], "tokens")
    mask = ports.mask(network)
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
        operands = [query, ports.joined(network, key), ports.joined(network, value)]
        seen = network.attend(f"{stem}.attention", operands, sizes, mask)
        seen = network.linear(f"{stem}.output", seen, features, features, sizes.branch_scale)
        x = network.node("Add", [x, seen], f"{stem}.middle")
        inner = network.layer_norm(f"{stem}.norm2", x, features)
        inner = network.perceptron(f"{stem}.perceptron", inner, sizes)
        x = network.node("Add", [x, inner], stem)
    x = network.layer_norm("norm", x, features)
    head = network.node("Transpose", [table], "head", perm=[1, 0])
    network.node("MatMul", [x, head], "logits")
    return ports.model(network, name)
