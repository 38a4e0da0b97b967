"""Texts as tokens, for decoders whose tokens are bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tandem.runtime.decoder.errors import DecoderError

BYTES: Final = 256
"""The vocabulary of a decoder whose tokens are bytes."""


def tokens_of(name: str, vocabulary: int, text: str) -> tuple[int, ...]:
    """The bytes of a text in UTF-8.

    Raises
    ------
    DecoderError
        The tokens of the decoder `name` are no bytes.
    """
    if vocabulary != BYTES:
        raise DecoderError(
            f"{name}: its {vocabulary} tokens are no bytes, and it has no tokeniser: a prompt is "
            "numbers of tokens"
        )
    return tuple(text.encode("utf-8", "surrogateescape"))


def text_of(vocabulary: int, tokens: Iterable[int]) -> str | None:
    """The text of tokens that are bytes, with escapes for bytes that are no UTF-8; None if tokens
    are no bytes."""
    if vocabulary != BYTES:
        return None
    return bytes(tokens).decode("utf-8", "backslashreplace")
