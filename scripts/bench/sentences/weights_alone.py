"""The loss of formats of weights alone: embeddings in NumPy with weights that were rounded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.quantise.compressed.calibrated import Gram
from tandem.compiler.quantise.compressed.rounding import coded_weights
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.compiler.quantise.weights import quantised_weights
from tandem.hw.weight_formats import WeightFormat
from tandem.scripts.bench.sentences.bert import Array, Bert, product_names

Tokens = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Rounding:
    """A way to round the weights of all products.

    Attributes
    ----------
    form
        None for int8.
    """

    form: WeightFormat | None
    group: int = 32
    calibrated: bool = False

    @property
    def weights(self) -> str:
        """The format, and its groups."""
        if self.form is None:
            return "int8"
        groups = f" in groups of {self.group}" if self.form.scaled else ""
        return f"{self.form.name}{groups}"

    def __str__(self) -> str:
        if self.form is None:
            return self.weights
        return f"{self.weights}, {'calibrated' if self.calibrated else 'nearest'}"

    @property
    def bits(self) -> float:
        """Bits of a weight with its share of the scale of its group."""
        return 8.0 if self.form is None else self.form.bits_per_weight(self.group)

    def rounded(self, weights: Array, gram: Gram | None) -> Array:
        """The weights [outputs, inputs], rounded; real numbers."""
        if self.form is None:
            found = quantised_weights(weights, np.zeros(len(weights)), 1.0, QuantiseOptions())
            return found.real.astype(np.float32)
        taken = gram if self.calibrated else None
        return coded_weights(weights, self.form, self.group, gram=taken).real.astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class SentenceTest:
    """Sentences, and what float32 makes of them.

    Attributes
    ----------
    tokens
        Of each sentence.
    wanted
        The embeddings in float32; [sentences, features].
    """

    bert: Bert
    tokens: Tokens
    wanted: Array

    @classmethod
    def of(cls, bert: Bert, tokens: Tokens) -> SentenceTest:
        """A test whose embeddings are computed."""
        return cls(bert, tokens, np.stack([bert.embedding(each) for each in tokens]))

    def cosines(self, rounding: Rounding, grams: Mapping[str, Gram]) -> NDArray[np.float64]:
        """The cosine of each sentence's embedding to that in float32; [sentences]."""
        tensors = dict(self.bert.tensors)
        for name in product_names():
            key = f"{name}.weight"
            tensors[key] = rounding.rounded(tensors[key], grams.get(name))
        rounded = Bert(tensors)
        return self.cosines_of(np.stack([rounded.embedding(each) for each in self.tokens]))

    def cosines_of(self, found: Array) -> NDArray[np.float64]:
        """The cosine of each embedding, of length 1, to that in float32; [sentences]."""
        total: NDArray[np.float64] = (found.astype(np.float64) * self.wanted).sum(1)
        return total


def grams(bert: Bert, tokens: Tokens) -> Iterator[tuple[str, Gram]]:
    """The products of the columns of each layer's data over sentences, by the layer's name."""
    data: dict[str, list[Array]] = {name: [] for name in product_names()}
    for words in tokens:
        bert.embedding(words, lambda name, given: data[name].append(given))
    for name, parts in data.items():
        yield name, Gram.of(np.concatenate(parts))
