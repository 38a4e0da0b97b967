"""Decoders make the tokens of the network without a cache, in float32."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from tandem.compiler.models.decoders import DecoderModel
from tandem.hw.memory_model import parse_memory
from tandem.runtime.decoder import (
    ContextError,
    Decoder,
    DecoderArtifact,
    DecoderError,
    Sampler,
    check_request,
    generate,
    text_of,
    tokens_of,
)
from tandem.workbench.decoders.sessions import open_session
from tandem.workbench.platform import Platform
from tests.support.decoders import CONTEXT, ONE_LAYER, ROTARY, compiled, whole_logits

PROMPT = (5, 17, 3, 22, 1, 9, 30)


@contextmanager
def running(model: DecoderModel = ONE_LAYER) -> Iterator[Decoder]:
    platform = Platform("functional", parse_memory("fast"), 1)
    with open_session(compiled(model, None), platform) as decoder:
        yield decoder


@pytest.mark.parametrize("model", [ONE_LAYER, ROTARY], ids=["gpt2", "llama"])
@pytest.mark.parametrize("temperature", [0.0, 5.0])
def test_tokens_are_those_of_the_whole_network(model: DecoderModel, temperature: float) -> None:
    """Up to the last token of the context, behind a prompt of whole and partial calls."""
    count = CONTEXT + 1 - len(PROMPT)
    with running(model) as decoder:
        sampler = Sampler(temperature, seed=4)
        made = [each.token for each in generate(decoder, PROMPT, count, sampler)]
    text, again = [*PROMPT], Sampler(temperature, seed=4)
    for _ in range(count):
        text.append(again.next(whole_logits(model, text)[-1]))
    assert made == text[len(PROMPT) :]


@pytest.mark.parametrize("first", [1, 2, 4, 5, 9, 12])
def test_scores_however_a_text_is_fed(first: int) -> None:
    text = [*range(3, 3 + CONTEXT)]
    expected = whole_logits(ONE_LAYER, text)
    with running() as decoder:
        fed = decoder.feed(text[:first])
        assert fed.calls == first // 4 + (first % 4 > 0)
        np.testing.assert_allclose(fed.logits, expected[first - 1], rtol=1e-4, atol=1e-5)
        for at in range(first, CONTEXT):
            logits = decoder.feed(text[at : at + 1]).logits
            np.testing.assert_allclose(logits, expected[at], rtol=1e-4, atol=1e-5)
        assert decoder.length == CONTEXT
        with pytest.raises(
            ContextError, match="1 tokens behind 12 are more than its context of 12"
        ):
            decoder.feed([0])


def test_a_second_text_knows_nothing_of_the_first() -> None:
    with running() as decoder:
        one = [each.token for each in generate(decoder, PROMPT, 4, Sampler(1.0))]
        _ = [*generate(decoder, (200, 100), 9, Sampler(1.0))]
        assert one == [each.token for each in generate(decoder, PROMPT, 4, Sampler(1.0))]


def test_what_cannot_be_made() -> None:
    artifact = compiled(ONE_LAYER, None)
    check_request(artifact, PROMPT, 6)
    with pytest.raises(ContextError, match=r"at most 6$"):
        check_request(artifact, PROMPT, 7)
    with pytest.raises(ContextError, match="the prompt has 13 tokens, and the context 12"):
        check_request(artifact, [1] * 13, 1)
    with pytest.raises(DecoderError, match="at least one token"):
        check_request(artifact, [], 1)
    with pytest.raises(DecoderError, match="256 is no token; tokens are 0 to 255"):
        check_request(artifact, [256], 1)
    with pytest.raises(DecoderError, match="0 tokens to make"):
        check_request(artifact, [1], 0)


def test_functions_of_two_decoders_are_none() -> None:
    one, other = compiled(ONE_LAYER, None), compiled(ROTARY, None)
    with pytest.raises(DecoderError, match="one-layer is no decoder"):
        DecoderArtifact(other.prefill, one.decode, one.ports)
    with pytest.raises(DecoderError, match="it has no cache"):
        replaced(one, caches=())
    with pytest.raises(DecoderError, match="its inputs are"):
        replaced(one, positions="places")
    with pytest.raises(DecoderError, match="decode takes several tokens"):
        DecoderArtifact(one.prefill, one.prefill, one.ports)


def replaced(decoder: DecoderArtifact, **ports: object) -> DecoderArtifact:
    return replace(decoder, ports=structs.replace(decoder.ports, **ports))


def test_texts() -> None:
    assert tokens_of("bytes", 256, "né") == (110, 195, 169)
    assert text_of(256, (110, 195, 169, 255)) == "né\\xff"
    assert text_of(60, (1, 2)) is None
    with pytest.raises(DecoderError, match="its 60 tokens are no bytes"):
        tokens_of("words", 60, "n")
