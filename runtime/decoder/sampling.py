"""The choice of the next token."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tandem.runtime.decoder.errors import DecoderError


@dataclass(slots=True)
class Sampler:
    """Draws tokens by their scores, reproducibly.

    Attributes
    ----------
    temperature
        What scores are divided by before softmax; 0 for the best token, the first of equal ones.
    top_k
        How many of the best tokens are drawn from; None for all.
    seed
        Of the drawing.

    Raises
    ------
    DecoderError
        A temperature below 0 or not finite, or no token to draw from.
    """

    temperature: float = 0.0
    top_k: int | None = None
    seed: int = 0
    _random: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < float("inf"):
            raise DecoderError(f"a temperature of {self.temperature}: 0 or more is allowed")
        if self.top_k is not None and self.top_k < 1:
            raise DecoderError(f"the best {self.top_k} tokens: at least 1 is drawn from")
        self._random = np.random.default_rng(self.seed)

    def next(self, logits: NDArray[np.float32]) -> int:
        """The next token for scores [vocabulary].

        Raises
        ------
        DecoderError
            The greatest score is no finite number: there is NaN or infinity, or nothing but minus
            infinity.
        """
        if not np.isfinite(logits.max()):
            raise DecoderError(
                f"the greatest score is {logits.max()}: no token can be chosen by scores that are "
                "no numbers"
            )
        if self.temperature == 0:
            return int(np.argmax(logits))
        scores = logits.astype(np.float64)
        best = np.argsort(-scores, kind="stable")[: self.top_k]
        # Divided after the greatest is taken away, so that no temperature overflows.
        weights = np.exp((scores[best] - scores[best[0]]) / self.temperature)
        reached = np.cumsum(weights)
        drawn = self._random.random() * reached[-1]
        return int(best[min(int(np.searchsorted(reached, drawn, "right")), len(best) - 1)])
