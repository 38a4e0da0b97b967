"""A decoder that runs: its functions on devices, and its cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tandem.runtime.decoder.cache import Cache
from tandem.runtime.decoder.call_inputs import call_inputs
from tandem.runtime.decoder.decoder_artifact import DecoderArtifact
from tandem.runtime.decoder.errors import ContextError, DecoderError
from tandem.runtime.executor import Executor


@dataclass(frozen=True, slots=True, eq=False)
class Fed:
    """What feeding tokens gave.

    Attributes
    ----------
    logits
        The scores of all words after the last token, float32[vocabulary].
    cycles
        Of the accelerator, over all calls; None if nothing counted any.
    calls
        How often `prefill` and `decode` ran.
    cache_bytes
        The bytes of keys and values that the host wrote to the accelerator's memory; None where a
        function takes them in real numbers.
    """

    logits: NDArray[np.float32]
    cycles: int | None
    calls: int
    cache_bytes: int | None = None


class Decoder:
    """A text that grows: the functions of a decoder, and the cache of the tokens so far.

    The cache is memory that the functions read where it lies. A call adds the rows of its tokens
    when it has ended, so that an interrupted call leaves the text as it was: what it wrote before
    is hidden, or written anew by the next one.

    Parameters
    ----------
    prefill, decode
        The executors of the artifact's functions, of this text alone.
    """

    def __init__(self, artifact: DecoderArtifact, prefill: Executor, decode: Executor) -> None:
        self.artifact = artifact
        self.length = 0
        """The number of tokens so far."""
        self._prefill, self._decode = prefill, decode
        self._cache = Cache(artifact, {artifact.prefill: prefill, artifact.decode: decode})

    def reset(self) -> None:
        """Begin an empty text."""
        self.length = 0
        self._cache.reset()

    def feed(self, tokens: Sequence[int]) -> Fed:
        """Append tokens to the text: several by `prefill`, a single one by `decode`.

        Raises
        ------
        ContextError
            The text would be longer than the context.
        DecoderError
            No tokens, or some that the network does not have.
        """
        artifact = self.artifact
        check_tokens(artifact.name, artifact.vocabulary, tokens)
        if self.length + len(tokens) > artifact.context:
            raise ContextError(
                f"{artifact.name}: {len(tokens)} tokens behind {self.length} are more than its "
                f"context of {artifact.context}"
            )
        rest, cycles, calls = [*tokens], list[int | None](), 0
        written: int | None = 0
        logits = np.zeros(0, np.float32)
        while rest:
            count = 1 if len(rest) == 1 else min(len(rest), artifact.chunk)
            logits, spent, own = self._call(rest[:count])
            cycles.append(spent)
            written = None if written is None or own is None else written + own
            rest, calls = rest[count:], calls + 1
        known = [each for each in cycles if each is not None]
        return Fed(logits, sum(known) if known else None, calls, written)

    def _call(self, tokens: Sequence[int]) -> tuple[NDArray[np.float32], int | None, int | None]:
        """The scores after some tokens, whose rows are added to the cache; the cycles, and the
        bytes of the cache that were written."""
        artifact, count = self.artifact, len(tokens)
        ports, single = artifact.ports, len(tokens) == 1
        executor = self._decode if single else self._prefill
        function, width = (artifact.decode, 1) if single else (artifact.prefill, artifact.chunk)
        given = self._cache.inputs(function)
        run = executor.run(call_inputs(ports, given, artifact.rows, width, self.length, tokens))
        # The last token of a context has no row: nothing comes behind it.
        rows = min(count, artifact.rows - self.length)
        present = {}
        for cache in ports.caches:
            new = run.outputs[cache.present]
            first = new.shape[2] - width
            present[cache.past] = new[:, :, first : first + rows]
        written = self._cache.append(present, self.length)
        if written is not None:
            written += self._cache.call_bytes(function)
        self.length += count
        return run.outputs[ports.logits][0, count - 1], run.profile.cycles, written


def check_tokens(name: str, vocabulary: int, tokens: Sequence[int]) -> None:
    """Raise a `DecoderError` if there are no tokens, or some that the decoder `name` does not
    have."""
    if not tokens:
        raise DecoderError(f"{name}: a text begins with at least one token")
    for token in tokens:
        if not 0 <= token < vocabulary:
            raise DecoderError(f"{name}: {token} is no token; tokens are 0 to {vocabulary - 1}")
