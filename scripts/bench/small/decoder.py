"""A small Llama that makes one token, with the keys and values of those before it as inputs."""

from __future__ import annotations

from onnx import ModelProto

from tandem.compiler.models.llama import llama_of
from tandem.compiler.models.transformer import Sizes, TokenPorts


def decoder() -> ModelProto:
    """The 64th token: `ids` int64[1, 1] and caches [1, 2, 63, 32] to `logits` [1, 1, 1000]."""
    sizes = Sizes(128, 4, 352, 2, tokens=1, vocabulary=1000, past=63, key_heads=2)
    return llama_of("decoder", TokenPorts(sizes), seed=0)
