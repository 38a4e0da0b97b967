"""Contexts of decoders, and the parts of texts that they are calibrated with."""

from __future__ import annotations

import re
from typing import Any, cast

import numpy as np
import pytest

from tandem.runtime.decoder import ContextError, DecoderError
from tandem.runtime.decoder.ports import CachePort, DecoderPorts
from tandem.workbench.decoders.compiling import (
    DEFAULT_CONTEXT,
    DecoderOptions,
    _parts,
    _texts,
    compile_decoder,
    context_of,
)
from tandem.workbench.decoders.sources import DecoderSource
from tests.support.compiler.graph.graphs import graph

PORTS = DecoderPorts("ids", "positions", "mask", "logits", (CachePort("k", "k_new"),))


def source(longest: int | None) -> DecoderSource:
    return DecoderSource("net", None, 0, PORTS, longest, None, cast(Any, None))


def test_contexts() -> None:
    assert [context_of(source(longest), None) for longest in (None, 64, 128, 129)] == [
        *(DEFAULT_CONTEXT, 64, 128, 128)
    ]
    assert context_of(source(None), 2) == 2
    assert context_of(source(None), 5000) == 5000
    assert context_of(source(64), 64) == 64
    with pytest.raises(ContextError, match=r"^net: a context of 1 tokens; 2 or more are allowed$"):
        context_of(source(None), 1)
    message = "^net: a context of 65 tokens; it has positions for 64$"
    with pytest.raises(ContextError, match=message):
        context_of(source(64), 65)


def test_a_call_of_prefill_takes_a_token() -> None:
    with pytest.raises(DecoderError, match=r"^prefill takes 0 tokens; 1 or more are allowed$"):
        compile_decoder(source(None), DecoderOptions(chunk=0), cast(Any, None))


@pytest.mark.parametrize(
    ("length", "starts"),
    [(5, [0]), (1, [0]), (6, [0, 1]), (7, [0, 1, 2]), (8, [0, 1, 2, 3]), (14, [0, 3, 6, 9])],
)
def test_parts_of_a_text(length: int, starts: list[int]) -> None:
    tokens = np.arange(length)
    found = [part.tolist() for part in _parts(tokens, 5)]
    assert found == [[*range(start, min(start + 5, length))] for start in starts]


class Words:
    """A network with scores of five words, or of 256."""

    outputs = ("other", "logits")

    def __init__(self, words: int) -> None:
        self.function = graph(
            f"func @f(x: float32[1, 2], y: float32[1, 2, {words}]):\n"
            "  a = relu(x)\n  b = relu(y)\n  r = (a, b)\n  return r\n"
        )


def texts(words: int, text: bytes | list[int] | None, seed: int = 0) -> list[list[int]]:
    options = DecoderOptions(text=text, seed=seed)
    return [it.tolist() for it in _texts(source(None), options, cast(Any, Words(words)), 4)]


def test_texts_to_calibrate_with() -> None:
    assert texts(5, [0, 4, 1]) == [[0, 4, 1]]
    assert texts(5, [0, 1, 2, 3, 4]) == [[0, 1, 2, 3], [1, 2, 3, 4]]
    assert texts(256, b"a\xff") == [[97, 255]]
    drawn = texts(5, None)
    assert [len(text) for text in drawn] == [4, 4]
    assert all(0 <= token < 5 for text in drawn for token in text)
    assert drawn == texts(5, None)
    assert drawn != texts(5, None, seed=1)


@pytest.mark.parametrize(
    ("words", "text", "message"),
    [
        (5, b"a", "net: its 5 tokens are no bytes: a text to calibrate with is numbers of tokens"),
        (5, [], "net: the text to calibrate with is empty, or has tokens other than 0 to 4"),
        (5, [0, 5], "net: the text to calibrate with is empty, or has tokens other than 0 to 4"),
        (5, [-1, 4], "net: the text to calibrate with is empty, or has tokens other than 0 to 4"),
        (256, b"", "net: the text to calibrate with is empty, or has tokens other than 0 to 255"),
    ],
)
def test_texts_that_are_none(words: int, text: bytes | list[int], message: str) -> None:
    with pytest.raises(DecoderError, match=f"^{re.escape(message)}$"):
        texts(words, text)
