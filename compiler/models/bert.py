"""BERT as an ONNX model, with random weights.

Devlin et al., BERT, NAACL'19: the base model, with its pooler.
"""

from __future__ import annotations

import numpy as np
from onnx import ModelProto, TensorProto

from tandem.compiler.models.network import Shape
from tandem.compiler.models.transformer import IR_VERSION, OPSET, Sizes, TransformerBuilder

_KINDS = 2
"""Kinds of tokens: of the first sentence and of the second."""


def bert(seed: int = 0) -> ModelProto:
    """BERT base on 128 tokens: `ids`, `mask` (1 for a token that is there) and `kinds`,
    int64[1, 128], to `hidden` [1, 128, 768] and `pooled` [1, 768]."""
    sizes = Sizes(768, 12, 3072, 12, tokens=128, vocabulary=30_522)
    return bert_of("bert", sizes, 512, seed)


def bert_tiny(seed: int = 0) -> ModelProto:
    """A small one on 12 tokens of a vocabulary of 60, with 32 features."""
    return bert_of("bert-tiny", Sizes(32, 2, 64, 2, tokens=12, vocabulary=60), 16, seed)


def bert_of(name: str, sizes: Sizes, longest: int, seed: int) -> ModelProto:
    """A BERT of other sizes, for at most `longest` tokens; inputs and outputs as of `bert`."""
    network = TransformerBuilder(np.random.default_rng(seed))
    features, tokens = sizes.features, sizes.tokens
    x = _embedded(network, sizes, longest)
    seen = network.node("Cast", ["mask"], "mask.float", to=TensorProto.FLOAT)
    hidden = network.node("Sub", [network.constant("one", 1), seen], "mask.hidden")
    hidden = network.node("Mul", [hidden, network.constant("hide", -1e4)], "mask.scores")
    axes = network.integers("mask.axes", 1, 2)
    hidden = network.node("Unsqueeze", [hidden, axes], "mask.rows")
    for layer in range(sizes.layers):
        stem = f"layer{layer}"
        operands = [
            network.split(
                f"{stem}.{part}.heads",
                network.linear(f"{stem}.{part}", x, features, features),
                sizes.heads,
                sizes.head,
            )
            for part in ("query", "key", "value")
        ]
        inner = network.attend(f"{stem}.attention", operands, sizes, hidden)
        inner = network.linear(f"{stem}.output", inner, features, features, sizes.branch_scale)
        x = network.node("Add", [x, inner], f"{stem}.sum1")
        x = network.layer_norm(f"{stem}.norm1", x, features)
        inner = network.perceptron(f"{stem}.perceptron", x, sizes)
        x = network.node("Add", [x, inner], f"{stem}.sum2")
        last = layer == sizes.layers - 1
        x = network.layer_norm("hidden" if last else f"{stem}.norm2", x, features)
    first = network.node("Gather", [x, network.weight("first", np.array(0))], "first_token", axis=1)
    pooled = network.dense("pooler", first, features, features)
    pooled = network.node("Tanh", [pooled], "pooled")
    inputs = {key: (TensorProto.INT64, (1, tokens)) for key in ("ids", "mask", "kinds")}
    outputs: dict[str, Shape] = {x: (1, tokens, features), pooled: (1, features)}
    return network.model(name, inputs, outputs, OPSET, IR_VERSION)


def _embedded(network: TransformerBuilder, sizes: Sizes, longest: int) -> str:
    """Words, their kinds and their positions, normalised."""
    tables = {
        part: network.weight(f"{part}.table", network.normal((rows, sizes.features), 1, scale))
        for part, rows, scale in (
            ("words", sizes.vocabulary, 1.0),
            ("kinds", _KINDS, 0.5),
            ("positions", longest, 0.5),
        )
    }
    x = network.node("Gather", [tables["words"], "ids"], "words")
    kinds = network.node("Gather", [tables["kinds"], "kinds"], "kinds.rows")
    x = network.node("Add", [x, kinds], "words.kinds")
    order = network.weight("order", np.arange(sizes.tokens)[None])
    places = network.node("Gather", [tables["positions"], order], "positions")
    x = network.node("Add", [x, places], "embedded")
    return network.layer_norm("embedded.norm", x, sizes.features)
