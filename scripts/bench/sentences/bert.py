"""A sentence encoder of BERT's architecture in NumPy: the reference, with weights of any kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Observe = Callable[[str, Array], None]
"""Is told the name of a layer and its data, [tokens, features]."""
LAYERS = 6
HEADS = 12
PRODUCTS = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
"""The products of tokens and weights of a layer."""
EPSILON = 1e-12


def product_names() -> list[str]:
    """The names of all products of tokens and weights."""
    return [f"encoder.layer.{layer}.{name}" for layer in range(LAYERS) for name in PRODUCTS]


@dataclass(frozen=True, slots=True, eq=False)
class Bert:
    """An encoder of sentences: embeddings, six layers, the mean of the tokens.

    Attributes
    ----------
    tensors
        By the names of the safetensors file.
    """

    tensors: Mapping[str, Array]

    def embedding(self, tokens: Sequence[int], observe: Observe | None = None) -> Array:
        """The embedding of a sentence, of length 1; [features]."""
        data = self._embedded(tokens)
        for layer in range(LAYERS):
            data = self._layer(f"encoder.layer.{layer}", data, observe)
        mean = data.mean(0)
        unit: Array = mean / np.linalg.norm(mean)
        return unit

    def _embedded(self, tokens: Sequence[int]) -> Array:
        words, places, kinds = (
            self.tensors[f"embeddings.{name}_embeddings.weight"]
            for name in ("word", "position", "token_type")
        )
        return self._normalised(
            "embeddings.LayerNorm", words[list(tokens)] + places[: len(tokens)] + kinds[0]
        )

    def _layer(self, name: str, data: Array, observe: Observe | None) -> Array:
        def product(part: str, given: Array) -> Array:
            whole = f"{name}.{part}"
            if observe is not None:
                observe(whole, given)
            return given @ self.tensors[f"{whole}.weight"].T + self.tensors[f"{whole}.bias"]

        def heads(part: str) -> Array:
            found = product(f"attention.self.{part}", data).reshape(len(data), HEADS, -1)
            return found.transpose(1, 0, 2)

        query, key, value = heads("query"), heads("key"), heads("value")
        scores = query @ key.transpose(0, 2, 1) / np.float32(sqrt(query.shape[-1]))
        context = _softmax(scores) @ value
        mixed = context.transpose(1, 0, 2).reshape(data.shape)
        attended = product("attention.output.dense", mixed) + data
        data = self._normalised(f"{name}.attention.output.LayerNorm", attended)
        inner = _gelu(product("intermediate.dense", data))
        return self._normalised(f"{name}.output.LayerNorm", product("output.dense", inner) + data)

    def _normalised(self, name: str, data: Array) -> Array:
        centred = data - data.mean(-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(-1, keepdims=True) + np.float32(EPSILON))
        return centred / spread * self.tensors[f"{name}.weight"] + self.tensors[f"{name}.bias"]


def _softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    unit: Array = powers / powers.sum(-1, keepdims=True)
    return unit


def _gelu(data: Array) -> Array:
    return (0.5 * data * (1 + _erf(data / np.float32(sqrt(2))))).astype(np.float32)


def _erf(data: Array) -> Array:
    """The error function, to 1.2e-7 (Numerical Recipes' rational Chebyshev fit of erfc)."""
    size = np.abs(data.astype(np.float64))
    near = 1 / (1 + size / 2)
    terms = (
        *(-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807),
        *(-1.13520398, 1.48851587, -0.82215223, 0.17087277),
    )
    power = np.zeros_like(size)
    for term in reversed(terms):
        power = power * near + term
    found: Array = (np.sign(data) * (1 - near * np.exp(-(size**2) + power))).astype(np.float32)
    return found
