"""Decoders: networks that make text token by token, with the keys and values of earlier tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from numpy.typing import NDArray
from onnx import ModelProto

from tandem.compiler.models.gpt2 import LONGEST, LONGEST_TINY, SMALL, TINY, gpt2_of
from tandem.compiler.models.llama import LONGEST as LLAMA_LONGEST
from tandem.compiler.models.llama import SMALL as LLAMA_SMALL
from tandem.compiler.models.llama import TINY as LLAMA_TINY
from tandem.compiler.models.llama import llama_of
from tandem.compiler.models.tinylm import CONTEXT as TINYLM_LONGEST
from tandem.compiler.models.tinylm import SIZES as TINYLM
from tandem.compiler.models.tinylm import tinylm_of, trained_weights
from tandem.compiler.models.transformer import CachedTokenPorts, Sizes

BYTES: Final = 256
"""The vocabulary of a decoder whose tokens are bytes."""
_BYTES_TINY = Sizes(32, 2, 64, 2, tokens=1, vocabulary=BYTES)


@dataclass(frozen=True, slots=True)
class DecoderModel:
    """A decoder as ONNX models of any number of tokens.

    Attributes
    ----------
    sizes
        Those of the network; `tokens` and `past` are those of each model.
    context
        The most tokens of a text, with those that are made.
    make
        A function from inputs and outputs and the seed of random weights to the model.
    """

    name: str
    sizes: Sizes
    context: int
    make: Callable[[CachedTokenPorts, int], ModelProto]

    def model(self, tokens: int, past: int, seed: int = 0) -> ModelProto:
        """The model for some tokens behind up to `past` earlier ones; all have equal weights. Its
        inputs and outputs are those of `CachedTokenPorts`."""
        return self.make(CachedTokenPorts(replace(self.sizes, tokens=tokens, past=past)), seed)


def gpt2_decoder(
    name: str,
    sizes: Sizes,
    context: int,
    weights: Mapping[str, NDArray[Any]] = MappingProxyType({}),
) -> DecoderModel:
    """A decoder of GPT-2's architecture; `weights` as of `gpt2_of`."""
    return DecoderModel(
        name,
        sizes,
        context,
        lambda ports, seed: gpt2_of(name, ports, context, seed, weights),
    )


def llama_decoder(name: str, sizes: Sizes, context: int) -> DecoderModel:
    """A decoder of Llama's architecture, with random weights."""
    return DecoderModel(
        name, sizes, context, lambda ports, seed: llama_of(name, ports, seed, context)
    )


DECODERS: Final[Mapping[str, DecoderModel]] = MappingProxyType(
    {
        model.name: model
        for model in (
            gpt2_decoder("gpt2", SMALL, LONGEST),
            gpt2_decoder("gpt2-tiny", TINY, LONGEST_TINY),
            llama_decoder("llama", LLAMA_SMALL, LLAMA_LONGEST),
            llama_decoder("llama-tiny", LLAMA_TINY, 16),
            gpt2_decoder("bytes-tiny", _BYTES_TINY, 48),
            DecoderModel(
                *("tinylm", TINYLM, TINYLM_LONGEST),
                lambda ports, seed: tinylm_of(trained_weights(), ports, seed),
            ),
        )
    }
)
"""The built-in decoders, by name."""
