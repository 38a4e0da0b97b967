"""Texts as bytes, and bytes as texts."""

from __future__ import annotations

import pytest

from tandem.runtime.decoder.errors import DecoderError
from tandem.runtime.decoder.tokens import text_of, tokens_of


def test_bytes_of_texts() -> None:
    assert tokens_of("net", 256, "aé") == (97, 0xC3, 0xA9)
    assert text_of(256, [97, 0xC3, 0xA9]) == "aé"
    # What a shell passes that is no UTF-8 stays the byte that it was.
    assert tokens_of("net", 256, "a\udcff") == (97, 0xFF)
    assert text_of(256, [97, 0xC3]) == "a\\xc3"


@pytest.mark.parametrize("vocabulary", [255, 257])
def test_tokens_that_are_no_bytes(vocabulary: int) -> None:
    assert text_of(vocabulary, [97]) is None
    with pytest.raises(DecoderError, match=f"net: its {vocabulary} tokens are no bytes"):
        tokens_of("net", vocabulary, "a")
