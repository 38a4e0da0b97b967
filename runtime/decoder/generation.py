"""Texts made by a decoder, token by token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tandem.runtime.decoder.decoder import Decoder, check_tokens
from tandem.runtime.decoder.decoder_artifact import DecoderArtifact
from tandem.runtime.decoder.errors import ContextError, DecoderError
from tandem.runtime.decoder.sampling import Sampler


@dataclass(frozen=True, slots=True)
class MadeToken:
    """A token that was made.

    Attributes
    ----------
    cycles
        Of the accelerator, for the token's scores: of the first one, those of the whole prompt.
        None if nothing counted any.
    calls
        How often functions ran for them.
    cache_bytes
        The bytes of keys and values that the host wrote for them to the accelerator's memory; None
        where a function takes keys and values in real numbers.
    """

    token: int
    cycles: int | None
    calls: int
    cache_bytes: int | None = None


def check_request(artifact: DecoderArtifact, prompt: Sequence[int], count: int) -> None:
    """Raise an error if a decoder cannot make `count` tokens behind a prompt.

    Raises
    ------
    ContextError
        The text would be longer than the context.
    DecoderError
        No prompt, or tokens that the network does not have, or none to make.
    """
    check_length(artifact.name, artifact.context, len(prompt), count)
    check_tokens(artifact.name, artifact.vocabulary, prompt)


def check_length(name: str, context: int, prompt: int, count: int) -> None:
    """Raise an error if a decoder with some context cannot make `count` tokens behind a prompt of
    `prompt` tokens. Raises as `check_request`."""
    if not prompt:
        raise DecoderError(f"{name}: a text begins with at least one token")
    if count < 1:
        raise DecoderError(f"{name}: {count} tokens to make; at least 1 is")
    if prompt > context:
        raise ContextError(f"{name}: the prompt has {prompt} tokens, and the context {context}")
    if prompt + count - 1 > context:
        raise ContextError(
            f"{name}: {count} tokens behind a prompt of {prompt} are more than its context of "
            f"{context} allows: at most {context + 1 - prompt}"
        )


def generate(
    decoder: Decoder, prompt: Sequence[int], count: int, sampler: Sampler
) -> Iterator[MadeToken]:
    """Make tokens behind a prompt, which begins a new text; each is yielded when it is known.

    Raises
    ------
    DecoderError
        As of `check_request`, before the first token.
    """
    check_request(decoder.artifact, prompt, count)
    decoder.reset()
    tokens = tuple(prompt)
    for _ in range(count):
        fed = decoder.feed(tokens)
        token = sampler.next(fed.logits)
        yield MadeToken(token, fed.cycles, fed.calls, fed.cache_bytes)
        tokens = (token,)
