"""Llama as an ONNX model, with random weights.

Touvron et al., LLaMA, 2023 (arXiv 2302.13971): normalisation by the root of the mean square, rotary
positions, SiLU; keys and values are shared by groups of heads, as in Llama 2 (arXiv 2307.09288) and
3. The sizes are those of SmolLM-135M, a network of this architecture whose last layer has the
embedding's weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from onnx import ModelProto

from tandem.compiler.models.transformer import Sizes, TokenPorts, TransformerBuilder

SMALL = Sizes(576, 9, 1536, 30, tokens=128, vocabulary=49_152, key_heads=3)
TINY = Sizes(32, 4, 48, 2, tokens=12, vocabulary=60, key_heads=2)
LONGEST = 2048
"""The number of positions of the published networks."""
_ROTARY_BASE = 10_000.0
_EPSILON = 1e-5


def llama(seed: int = 0) -> ModelProto:
    """A Llama of 135 M parameters on 128 tokens: `ids` int64[1, 128] to `logits`
    [1, 128, 49152]."""
    return llama_of("llama", TokenPorts(SMALL), seed)


def llama_tiny(seed: int = 0) -> ModelProto:
    """A small one on 12 tokens of a vocabulary of 60, with 32 features."""
    return llama_of("llama-tiny", TokenPorts(TINY), seed)


def llama_decode(seed: int = 0) -> ModelProto:
    """The 128th token of `llama`: `ids` int64[1, 1] and, of the tokens before it,
    `layerN.key.past` and `layerN.value.past` [1, 3, 127, 64], to `logits` [1, 1, 49152] and this
    token's `layerN.key` and `layerN.value` [1, 3, 1, 64]."""
    return llama_of("llama-decode", TokenPorts(replace(SMALL, tokens=1, past=127)), seed)


def llama_decode_tiny(seed: int = 0) -> ModelProto:
    """The 12th token of `llama_tiny`."""
    return llama_of("llama-decode-tiny", TokenPorts(replace(TINY, tokens=1, past=11)), seed)


@dataclass
class _Llama(TransformerBuilder):
    """A builder of layers of Llama."""

    def norm(self, name: str, x: str, features: int) -> str:
        """Add a normalisation of tokens by the root of their mean square."""
        two, epsilon = self.constant("two", 2), self.constant("epsilon", _EPSILON)
        square = self.node("Pow", [x, two], f"{name}.square")
        mean = self.node("ReduceMean", [square, self.integers("last", -1)], f"{name}.mean")
        mean = self.node("Add", [mean, epsilon], f"{name}.variance")
        root = self.node("Sqrt", [mean], f"{name}.root")
        x = self.node("Div", [x, root], f"{name}.normal")
        scale = self.weight(f"{name}.scale", self.random.uniform(0.8, 1.2, features))
        return self.node("Mul", [scale, x], name)

    def rotated(self, name: str, x: str, ports: TokenPorts, longest: int) -> str:
        """Add the rotation of queries or keys [1, heads, tokens, head] by their positions."""
        half = ports.sizes.head // 2
        angles = np.arange(longest)[:, None] * (_ROTARY_BASE ** (-np.arange(half) / half))
        twice = np.concatenate([angles, angles], -1)
        cosine = ports.at_positions(self, "rotary.cos", np.cos(twice))
        sine = ports.at_positions(self, "rotary.sin", np.sin(twice))
        halves = [f"{name}.first", f"{name}.second"]
        for part, begin in zip(halves, (0, half), strict=True):
            bounds = [
                self.integers(f"rotary.{key}", number)
                for key, number in ((f"{begin}", begin), (f"{begin + half}", begin + half))
            ]
            self.node("Slice", [x, *bounds, self.integers("last", -1)], part)
        negative = self.node("Neg", [halves[1]], f"{name}.negative")
        other = self.node("Concat", [negative, halves[0]], f"{name}.other", axis=-1)
        first = self.node("Mul", [x, cosine], f"{name}.cos")
        second = self.node("Mul", [other, sine], f"{name}.sin")
        return self.node("Add", [first, second], name)

    def repeated(self, name: str, x: str, sizes: Sizes) -> str:
        """Add what gives each head of queries its head of keys or values."""
        groups = sizes.heads // sizes.shared_heads
        tokens = sizes.past + sizes.tokens
        apart = self.node("Unsqueeze", [x, self.integers("group", 2)], f"{name}.apart")
        shape = (1, sizes.shared_heads, groups, tokens, sizes.head)
        wide = self.integers("groups.shape", *shape)
        x = self.node("Expand", [apart, wide], f"{name}.groups")
        heads = self.integers("heads.shape", 1, sizes.heads, tokens, sizes.head)
        return self.node("Reshape", [x, heads], name)

    def gated(self, name: str, x: str, sizes: Sizes) -> str:
        """Add the perceptron: what SiLU makes of one layer scales the other."""
        features, hidden = sizes.features, sizes.hidden
        gate = self.linear(f"{name}.gate", x, features, hidden, bias=False)
        sigmoid = self.node("Sigmoid", [gate], f"{name}.sigmoid")
        gate = self.node("Mul", [gate, sigmoid], f"{name}.silu")
        up = self.linear(f"{name}.up", x, features, hidden, bias=False)
        inner = self.node("Mul", [gate, up], f"{name}.inner")
        return self.linear(name, inner, hidden, features, sizes.branch_scale, bias=False)


def llama_of(name: str, ports: TokenPorts, seed: int, longest: int = LONGEST) -> ModelProto:
    """A Llama of other sizes: those of `ports`, whose inputs and outputs it has; `longest` is the
    number of positions."""
    network = _Llama(np.random.default_rng(seed))
    sizes = ports.sizes
    features = sizes.features
    # Of variance 1, as what all layers together add to it: the stream neither vanishes nor grows.
    table = network.weight("words", network.normal((sizes.vocabulary, features), 1))
    x = network.node("Gather", [table, ports.ids], "tokens")
    mask = ports.mask(network)
    for layer in range(sizes.layers):
        stem = f"layer{layer}"
        inner = network.norm(f"{stem}.norm1", x, features)
        query, key, value = (
            network.split(
                f"{stem}.{part}" + (".rows" if part != "value" else ""),
                network.linear(
                    f"{stem}.{part}.tokens", inner, features, heads * sizes.head, bias=False
                ),
                heads,
                sizes.head,
            )
            for part, heads in (
                ("query", sizes.heads),
                ("key", sizes.shared_heads),
                ("value", sizes.shared_heads),
            )
        )
        query = network.rotated(f"{stem}.query", query, ports, longest)
        key = ports.joined(network, network.rotated(f"{stem}.key", key, ports, longest))
        value = ports.joined(network, value)
        if sizes.shared_heads < sizes.heads:
            key = network.repeated(f"{stem}.keys", key, sizes)
            value = network.repeated(f"{stem}.values", value, sizes)
        seen = network.attend(f"{stem}.attention", [query, key, value], sizes, mask)
        scale = sizes.branch_scale
        seen = network.linear(f"{stem}.output", seen, features, features, scale, bias=False)
        x = network.node("Add", [x, seen], f"{stem}.middle")
        inner = network.norm(f"{stem}.norm2", x, features)
        x = network.node("Add", [x, network.gated(f"{stem}.perceptron", inner, sizes)], stem)
    x = network.norm("norm", x, features)
    head = network.node("Transpose", [table], "head", perm=[1, 0])
    network.node("MatMul", [x, head], "logits")
    return ports.model(network, name)
