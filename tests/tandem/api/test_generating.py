"""`tandem.compile_decoder` and `tandem.generate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tandem
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError
from tests.support.decoders import ONE_LAYER, ROTARY, compiled


def decoder() -> tandem.DecoderArtifact:
    return tandem.DecoderArtifact(compiled(ONE_LAYER, "tiny-x"))


def test_a_decoder_is_saved_and_loaded(tmp_path: Path) -> None:
    one = tandem.compile_decoder(ONE_LAYER, tandem.Cpu(), quantize=None, prefill=4, context=9)
    assert (one.name, one.machine, one.context, one.vocabulary) == ("one-layer", None, 9, 256)
    one.save(tmp_path / "a.tandem")
    other = tandem.DecoderArtifact.load(tmp_path / "a.tandem")
    assert repr(other) == repr(one)
    texts = [tandem.generate(each, b"text", tokens=5) for each in (one, other)]
    assert texts[0].text == texts[1].text
    assert texts[0].cycles is None


def test_a_text_with_its_cycles() -> None:
    calls: list[tuple[int, int]] = []
    text = tandem.generate(
        decoder(), "text", tokens=5, progress=lambda done, total, what: calls.append((done, total))
    )
    assert calls == [(done, 5) for done in range(6)]
    assert text.tokens.names == ("token", "text", "cycles")
    assert text.cycles == sum(text.tokens["cycles"])
    assert text.tokens["text"] == [
        bytes([token]).decode("utf-8", "backslashreplace") for token in text.tokens["token"]
    ]


def test_texts_are_reproducible() -> None:
    def tokens(**how: Any) -> list[int]:
        made = tandem.generate(decoder(), [1, 2], tokens=8, engine="functional", **how)
        return [*made.tokens["token"]]

    assert tokens(temperature=4.0, seed=3) == tokens(temperature=4.0, seed=3)
    assert tokens(temperature=4.0, seed=3) != tokens(temperature=4.0, seed=4)
    assert tokens(temperature=4.0, top_k=1) == tokens()


@pytest.mark.parametrize(
    ("kind", "message", "prompt", "how"),
    [
        (ArgumentValueError, "the prompt has 13 tokens", "thirteen byte", {}),
        (ArgumentValueError, "256 is no token", [256], {"tokens": 1}),
        (ArgumentValueError, "at least one token", "", {}),
        (ArgumentTypeError, "prompt is 7", 7, {}),
        (ArgumentTypeError, "a token of prompt", ["a"], {}),
        (ArgumentValueError, "tokens is 0", "a", {"tokens": 0}),
        (ArgumentValueError, "0 or more is allowed", "a", {"tokens": 2, "temperature": -1}),
        (ArgumentTypeError, "temperature is", "a", {"temperature": "hot"}),
        (ArgumentValueError, "top_k is 0", "a", {"tokens": 2, "top_k": 0}),
        (ArgumentValueError, "no engine 'x'", "a", {"engine": "x"}),
    ],
)
def test_refusals(kind: type[Exception], message: str, prompt: Any, how: dict[str, Any]) -> None:
    with pytest.raises(kind, match=message):
        tandem.generate(decoder(), prompt, **how)


def test_what_is_no_decoder() -> None:
    with pytest.raises(ArgumentTypeError, match="decoder is 'gpt2'"):
        tandem.generate("gpt2", "a")  # type: ignore[arg-type]
    with pytest.raises(ArgumentValueError, match="digits is no decoder"):
        tandem.compile_decoder("digits")
    with pytest.raises(ArgumentTypeError, match="model is 3"):
        tandem.compile_decoder(3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentValueError, match="positions for 12"):
        tandem.compile_decoder(ONE_LAYER, context=13)
    words = tandem.DecoderArtifact(compiled(ROTARY, None))
    with pytest.raises(ArgumentValueError, match="its 40 tokens are no bytes"):
        tandem.generate(words, "a")
