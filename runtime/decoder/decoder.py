"""A decoder that runs: its functions on devices, and its cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tandem.runtime.aligned_arrays import aligned_arrays
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
    """

    logits: NDArray[np.float32]
    cycles: int | None
    calls: int


class Decoder:
    """A text that grows: the functions of a decoder, and the cache of the tokens so far.

    The cache is memory that both functions read where it lies. A call adds the rows of its tokens
    when it has ended, so that an interrupted call leaves the text as it was.

    Parameters
    ----------
    prefill, decode
        The executors of the artifact's functions.
    """

    def __init__(self, artifact: DecoderArtifact, prefill: Executor, decode: Executor) -> None:
        self.artifact = artifact
        self.length = 0
        """The number of tokens so far."""
        self._prefill, self._decode = prefill, decode
        self._cache = {
            name: aligned_arrays(shape, dtype)()
            for name, (shape, dtype) in artifact.cache_types.items()
        }
        self.reset()

    def reset(self) -> None:
        """Begin an empty text."""
        self.length = 0
        for array in self._cache.values():
            array[...] = 0

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
        logits = np.zeros(0, np.float32)
        while rest:
            count = 1 if len(rest) == 1 else min(len(rest), artifact.chunk)
            logits, spent = self._call(rest[:count])
            cycles.append(spent)
            rest, calls = rest[count:], calls + 1
        known = [each for each in cycles if each is not None]
        return Fed(logits, sum(known) if known else None, calls)

    def _call(self, tokens: Sequence[int]) -> tuple[NDArray[np.float32], int | None]:
        """The scores after some tokens, whose rows are added to the cache, and the cycles."""
        ports, count = self.artifact.ports, len(tokens)
        executor = self._decode if count == 1 else self._prefill
        width = 1 if count == 1 else self.artifact.chunk
        run = executor.run(call_inputs(ports, self._cache, width, self.length, tokens))
        # The last token of a context has no row: nothing comes behind it.
        rows = min(count, self.artifact.rows - self.length)
        for cache in ports.caches:
            new = run.outputs[cache.present]
            first = new.shape[2] - width
            own = new[:, :, first : first + rows]
            self._cache[cache.past][:, :, self.length : self.length + rows] = own
        self.length += count
        return run.outputs[ports.logits][0, count - 1], run.profile.cycles


def check_tokens(name: str, vocabulary: int, tokens: Sequence[int]) -> None:
    """Raise a `DecoderError` if there are no tokens, or some that the decoder `name` does not
    have."""
    if not tokens:
        raise DecoderError(f"{name}: a text begins with at least one token")
    for token in tokens:
        if not 0 <= token < vocabulary:
            raise DecoderError(f"{name}: {token} is no token; tokens are 0 to {vocabulary - 1}")
