"""Texts that decoders made, as tables and JSON."""

from __future__ import annotations

from dataclasses import replace

from tandem.runtime.decoder import MadeToken
from tandem.workbench.decoders.generated import Generated

MADE = (MadeToken(104, 70, 2, 8), MadeToken(0xC3, 30, 1, 4))
TEXT = Generated("net", "cycle", "tiny", 256, 16, 4, (1, 2, 3), MADE)


def test_bytes() -> None:
    assert TEXT.text == "h\\xc3"
    assert TEXT.tokens.rows == ((104, "h", 70), (0xC3, "\\xc3", 30))
    assert TEXT.cycles == 100
    assert TEXT.as_json() == {
        "model": "net",
        "engine": "cycle",
        "config": "tiny",
        "context": 16,
        "prompt": [1, 2, 3],
        "text": "h\\xc3",
        "tokens": [
            {"token": 104, "cycles": 70, "cache_bytes": 8},
            {"token": 0xC3, "cycles": 30, "cache_bytes": 4},
        ],
        "prefill_calls": 2,
        "cycles": 100,
    }


def test_tokens_that_are_no_bytes() -> None:
    found = replace(TEXT, vocabulary=300)
    assert found.text is None
    assert found.tokens.rows == ((104, None, 70), (0xC3, None, 30))


def test_cycles_that_nothing_counts() -> None:
    assert replace(TEXT, made=(MadeToken(1, None, 1), MadeToken(2, None, 1))).cycles is None
    assert replace(TEXT, made=(MadeToken(1, None, 1), MadeToken(2, 7, 1))).cycles == 7
