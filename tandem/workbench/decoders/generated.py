"""Texts that decoders made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tandem.runtime.artifact import config_of
from tandem.runtime.decoder import (
    DecoderArtifact,
    MadeToken,
    Sampler,
    check_request,
    generate,
    text_of,
)
from tandem.workbench.decoders.sessions import open_session
from tandem.workbench.platform import Platform
from tandem.workbench.table import Column, Table

_COLUMNS = (
    Column("token", int, "the number of the token", "d"),
    Column("text", str, "the token's byte as text; unknown of tokens that are no bytes"),
    Column(
        "cycles",
        int,
        "clock cycles of the accelerator for the token's scores, of the first one those of the "
        "whole prompt; unknown where nothing counts any",
    ),
)


@dataclass(frozen=True, slots=True, eq=False)
class Generated:
    """A text that a decoder made.

    Attributes
    ----------
    model
        The decoder's name.
    engine, config
        What ran it, and the accelerator's name; None where a processor ran all of it.
    vocabulary, context, chunk
        The decoder's.
    prompt
        The tokens of the prompt.
    made
        The tokens behind it.
    """

    model: str
    engine: str | None
    config: str | None
    vocabulary: int
    context: int
    chunk: int
    prompt: tuple[int, ...]
    made: tuple[MadeToken, ...]

    @property
    def text(self) -> str | None:
        """The text behind the prompt, with escapes for bytes that are no UTF-8; None if tokens are
        no bytes."""
        return text_of(self.vocabulary, (each.token for each in self.made))

    @property
    def tokens(self) -> Table:
        """The tokens that were made, with their cycles."""
        rows = [
            (made.token, text_of(self.vocabulary, [made.token]), made.cycles) for made in self.made
        ]
        return Table(_COLUMNS, tuple(rows))

    @property
    def cycles(self) -> int | None:
        """The cycles of all tokens; None where nothing counts any."""
        known = [each.cycles for each in self.made if each.cycles is not None]
        return sum(known) if known else None

    def as_json(self) -> dict[str, object]:
        """The JSON object of `tandem generate`."""
        tokens = [
            {"token": made.token, "cycles": made.cycles, "cache_bytes": made.cache_bytes}
            for made in self.made
        ]
        return {
            "model": self.model,
            "engine": self.engine,
            "config": self.config,
            "context": self.context,
            "prompt": [*self.prompt],
            "text": self.text,
            "tokens": tokens,
            "prefill_calls": self.made[0].calls,
            "cycles": self.cycles,
        }


def make_text(
    artifact: DecoderArtifact,
    platform: Platform,
    prompt: Sequence[int],
    count: int,
    sampler: Sampler,
    on_token: Callable[[int], object] = lambda token: None,
) -> Generated:
    """Make tokens behind a prompt.

    Parameters
    ----------
    on_token
        Called with each token when it is known.

    Raises
    ------
    DecoderError
        As of `check_request`.
    RunError, SimulationError
        A run failed.
    """
    # Before an engine is built, which may take minutes.
    check_request(artifact, prompt, count)
    made = []
    with open_session(artifact, platform) as decoder:
        for token in generate(decoder, prompt, count, sampler):
            made.append(token)
            on_token(token.token)
    config = config_of(artifact.decode) or config_of(artifact.prefill)
    return Generated(
        artifact.name,
        None if config is None else platform.engine,
        None if config is None else config.name,
        artifact.vocabulary,
        artifact.context,
        artifact.chunk,
        tuple(prompt),
        tuple(made),
    )
