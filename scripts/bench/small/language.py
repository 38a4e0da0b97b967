"""A small BERT: two layers of 128 features, on 32 tokens (Turc et al., 2019, call it BERT-Tiny)."""

from __future__ import annotations

from onnx import ModelProto

from tandem.compiler.models.bert import bert_of
from tandem.compiler.models.transformer import Sizes


def language() -> ModelProto:
    """`ids`, `mask` and `kinds`, int64[1, 32], to `hidden` [1, 32, 128] and `pooled` [1, 128]."""
    sizes = Sizes(128, 2, 512, 2, tokens=32, vocabulary=1000)
    return bert_of("language", sizes, 64, seed=0)
