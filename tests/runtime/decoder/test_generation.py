"""What a decoder can make: lengths of prompts and texts, at both sides of each limit."""

from __future__ import annotations

import re

import pytest

from tandem.runtime.decoder.errors import ContextError, DecoderError
from tandem.runtime.decoder.generation import check_length


@pytest.mark.parametrize(
    ("context", "prompt", "count"), [(8, 1, 1), (8, 8, 1), (8, 1, 8), (8, 5, 4), (1, 1, 1)]
)
def test_lengths_that_fit(context: int, prompt: int, count: int) -> None:
    # The last token is never fed: a text has one more than the context reads.
    check_length("net", context, prompt, count)


@pytest.mark.parametrize(
    ("prompt", "count", "message"),
    [
        (0, 1, "net: a text begins with at least one token"),
        (1, 0, "net: 0 tokens to make; at least 1 is"),
        (9, 1, "net: the prompt has 9 tokens, and the context 8"),
        (
            8,
            2,
            "net: 2 tokens behind a prompt of 8 are more than its context of 8 allows: at most 1",
        ),
        (
            1,
            9,
            "net: 9 tokens behind a prompt of 1 are more than its context of 8 allows: at most 8",
        ),
    ],
)
def test_lengths_that_do_not(prompt: int, count: int, message: str) -> None:
    kind = ContextError if "context" in message else DecoderError
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        check_length("net", 8, prompt, count)
