"""What transformers have in common, as ONNX operators that exporters write, with random weights.

Tensors of tokens are [1, tokens, features]; weights keep the variance of what they multiply, and
the last layer of a residual branch is scaled down with the depth, as GPT-2's initialisation does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto

from tandem.compiler.models.network import NetworkBuilder, Shape

OPSET = 20
"""The opset in which GELU is an operator."""
IR_VERSION = 9


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of a transformer.

    Attributes
    ----------
    features
        Of a token, between layers; `heads` divide it.
    key_heads
        Heads of keys and values, which divide `heads`: each serves as many heads of queries.
    hidden
        Features in the middle of a perceptron.
    tokens
        Tokens of an input.
    past
        Tokens whose keys and values are inputs, in front of these.
    vocabulary
        Words, or classes.
    """

    features: int
    heads: int
    hidden: int
    layers: int
    tokens: int
    vocabulary: int
    past: int = 0
    key_heads: int | None = None

    @property
    def head(self) -> int:
        """Features of a head."""
        return self.features // self.heads

    @property
    def shared_heads(self) -> int:
        """Heads of keys and values."""
        return self.heads if self.key_heads is None else self.key_heads

    @property
    def branch_scale(self) -> float:
        """The scale of the last weights of a residual branch."""
        return float(1 / np.sqrt(2 * self.layers))


@dataclass
class TransformerBuilder(NetworkBuilder):
    """A builder of transformers."""

    def constant(self, name: str, array: Any) -> str:
        """Add a float32 constant; returns its name."""
        return self.weight(name, np.asarray(array, np.float32))

    def linear(
        self,
        name: str,
        x: str,
        inputs: int,
        outputs: int,
        scale: float = 1.0,
        *,
        bias: bool = True,
    ) -> str:
        """Add a dense layer of tokens; returns the result's name."""
        weight = self.weight(f"{name}.weight", self.normal((inputs, outputs), inputs, scale))
        if not bias:
            return self.node("MatMul", [x, weight], name)
        summed = self.node("MatMul", [x, weight], f"{name}.sum")
        return self.node("Add", [summed, self.weight(f"{name}.bias", self.biases(outputs))], name)

    def layer_norm(self, name: str, x: str, features: int) -> str:
        """Add a normalisation of tokens; returns the result's name."""
        scale = self.weight(f"{name}.scale", self.random.uniform(0.8, 1.2, features))
        bias = self.weight(f"{name}.bias", self.biases(features))
        return self.node("LayerNormalization", [x, scale, bias], name, axis=-1)

    def split(self, name: str, x: str, heads: int, head: int) -> str:
        """Tokens as [1, heads, tokens, head]."""
        shape = self.integers(f"{name}.shape", 0, 0, heads, head)
        rows = self.node("Reshape", [x, shape], f"{name}.rows")
        return self.node("Transpose", [rows], name, perm=[0, 2, 1, 3])

    def attend(
        self, name: str, operands: Sequence[str], sizes: Sizes, mask: str | None = None
    ) -> str:
        """Add scaled products of queries and keys, softmax, and the products with values.

        Parameters
        ----------
        operands
            Queries, keys and values, [1, heads, tokens, head].
        mask
            What is added to the scores, broadcast to [1, heads, tokens, tokens]; None for nothing.

        Returns
        -------
        str
            The name of the result, [1, tokens, features].
        """
        queries, keys, values = operands
        columns = self.node("Transpose", [keys], f"{name}.columns", perm=[0, 1, 3, 2])
        scores = self.node("MatMul", [queries, columns], f"{name}.products")
        factor = self.constant("attention.scale", sizes.head**-0.5)
        scores = self.node("Mul", [scores, factor], f"{name}.scores")
        if mask is not None:
            scores = self.node("Add", [scores, mask], f"{name}.masked")
        weights = self.node("Softmax", [scores], f"{name}.weights", axis=-1)
        seen = self.node("MatMul", [weights, values], f"{name}.seen")
        rows = self.node("Transpose", [seen], f"{name}.joined", perm=[0, 2, 1, 3])
        shape = self.integers("tokens.shape", 0, 0, sizes.features)
        return self.node("Reshape", [rows, shape], name)

    def perceptron(self, name: str, x: str, sizes: Sizes) -> str:
        """Add two dense layers with GELU between them; returns the result's name."""
        inner = self.linear(f"{name}.inner", x, sizes.features, sizes.hidden)
        active = self.node("Gelu", [inner], f"{name}.gelu")
        return self.linear(name, active, sizes.hidden, sizes.features, sizes.branch_scale)


@dataclass
class TokenPorts:
    """The inputs and outputs of a network of tokens whose positions are constants, with the keys
    and values of earlier tokens if there are any.

    Attributes
    ----------
    ids
        The name of the input of tokens.
    inputs
        Keys and values of the tokens before, float32[1, heads, past, head]; none if there are no
        such tokens.
    outputs
        Those of this network's tokens, [1, heads, tokens, head]; none without inputs.
    """

    sizes: Sizes
    ids: str = "ids"
    inputs: dict[str, tuple[int, Shape]] = field(default_factory=dict)
    outputs: dict[str, Shape] = field(default_factory=dict)

    def positions(self, network: TransformerBuilder) -> str:
        """Add the positions of the tokens, int64[1, tokens]; returns their name."""
        past = self.sizes.past
        return network.weight("order", np.arange(past, past + self.sizes.tokens)[None])

    def mask(self, network: TransformerBuilder) -> str | None:
        """Add what hides later tokens, for `TransformerBuilder.attend`; None if nothing does."""
        tokens, past = self.sizes.tokens, self.sizes.past
        return network.constant("mask", causal_mask(tokens, past)) if tokens > 1 else None

    def at_positions(self, network: TransformerBuilder, name: str, table: NDArray[Any]) -> str:
        """Add those rows of a table [positions, features] that are at the tokens' positions, as
        [1, 1, tokens, features]; returns their name, which is `name`."""
        past = self.sizes.past
        return network.constant(name, table[None, None, past : past + self.sizes.tokens])

    def joined(self, network: TransformerBuilder, name: str) -> str:
        """Add the join of earlier tokens with a layer's keys or values; returns the result's name.

        Parameters
        ----------
        name
            The tensor of the keys or values, `layerN.key` or `layerN.value`.
        """
        if not self.sizes.past:
            return name
        past, present = self._cached(network, name)
        sizes = self.sizes
        shape = (1, sizes.shared_heads, sizes.past, sizes.head)
        self.inputs[past] = (TensorProto.FLOAT, shape)
        self.outputs[present] = (1, sizes.shared_heads, sizes.tokens, sizes.head)
        return network.node("Concat", [past, name], f"{name}.all", axis=2)

    def model(self, network: TransformerBuilder, name: str) -> ModelProto:
        """The network, whose result is `logits`, as a model."""
        tokens = self.sizes.tokens
        inputs = {self.ids: (TensorProto.INT64, (1, tokens)), **self.inputs}
        outputs = {"logits": (1, tokens, self.sizes.vocabulary), **self.outputs}
        return network.model(name, inputs, outputs, OPSET, IR_VERSION)

    def _cached(self, network: TransformerBuilder, name: str) -> tuple[str, str]:
        """The names of the input and of the output of a layer's keys or values."""
        return f"{name}.past", name


@dataclass
class CachedTokenPorts(TokenPorts):
    """The inputs and outputs of a network of tokens at any position, behind up to `sizes.past`
    earlier tokens, by the names that exporters write.

    `input_ids` and `position_ids` are int64[1, tokens]. `attention_mask`, int64[1, past + tokens],
    is 1 where there is a token. `past_key_values.N.key` and `.value` are its cache, of which
    `present.N.key` and `.value` are the rows of these tokens.
    """

    ids: str = "input_ids"
    _at_positions: set[str] = field(default_factory=set, repr=False)

    def positions(self, network: TransformerBuilder) -> str:
        self.inputs["position_ids"] = (TensorProto.INT64, (1, self.sizes.tokens))
        return "position_ids"

    def mask(self, network: TransformerBuilder) -> str | None:
        sizes = self.sizes
        shape = (1, sizes.past + sizes.tokens)
        self.inputs["attention_mask"] = (TensorProto.INT64, shape)
        seen = network.node("Cast", ["attention_mask"], "mask.seen", to=TensorProto.FLOAT)
        hidden = network.node("Sub", [seen, network.constant("one", 1)], "mask.hidden")
        hidden = network.node("Mul", [hidden, network.constant("mask.scale", -HIDDEN)], "mask.keys")
        hidden = network.node(
            "Unsqueeze", [hidden, network.integers("mask.axes", 1, 2)], "mask.all"
        )
        if sizes.tokens == 1:
            return hidden
        later = network.constant("mask.later", causal_mask(sizes.tokens, sizes.past))
        return network.node("Add", [hidden, later], "mask")

    def at_positions(self, network: TransformerBuilder, name: str, table: NDArray[Any]) -> str:
        if name not in self._at_positions:
            self._at_positions.add(name)
            rows = network.constant(f"{name}.table", table)
            rows = network.node("Gather", [rows, self.positions(network)], f"{name}.rows")
            network.node("Unsqueeze", [rows, network.integers("heads.axis", 1)], name)
        return name

    def _cached(self, network: TransformerBuilder, name: str) -> tuple[str, str]:
        stem, _, part = name.rpartition(".")
        port = f"{stem.removeprefix('layer')}.{part}"
        return f"past_key_values.{port}", network.node("Identity", [name], f"present.{port}")


HIDDEN = -1e4
"""What is added to the scores of hidden tokens, which softmax makes 0."""


def causal_mask(tokens: int, past: int = 0) -> NDArray[np.float32]:
    """[tokens, past + tokens]: 0 where a token sees another, and `HIDDEN` elsewhere."""
    return np.triu(np.full((tokens, past + tokens), HIDDEN, np.float32), 1 + past)
