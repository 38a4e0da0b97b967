"""Texts to train language models of bytes with."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from tandem.workbench.errors import TrainingError
from tandem.workbench.training.losses import TARGET
from tandem.workbench.training.samples import Array, Numbers, Samples


@dataclass(frozen=True, slots=True, eq=False)
class TextSamples(Samples):
    """Windows of a text: bytes, and the bytes that follow each of them.

    Windows stand side by side. In training each begins at random, up to a window later, so that
    windows of other epochs begin elsewhere.

    Attributes
    ----------
    name
        The network's parameter: int64[N, tokens].
    text
        uint8.
    """

    name: str
    text: Array
    tokens: int

    def __post_init__(self) -> None:
        if len(self.text) <= self.tokens:
            raise TrainingError(
                f"a text of {len(self.text)} bytes: windows of {self.tokens} take one more at least"
            )

    def __len__(self) -> int:
        return (len(self.text) - 1) // self.tokens

    def batch(
        self, numbers: Numbers, random: np.random.Generator | None = None
    ) -> dict[str, Array]:
        """See `Samples.batch`."""
        starts = numbers * self.tokens
        if random is not None:
            shifts = random.integers(0, self.tokens, len(starts))
            starts = np.minimum(starts + shifts, len(self.text) - 1 - self.tokens)
        windows = self.text[starts[:, None] + np.arange(self.tokens + 1)].astype(np.int64)
        return {
            self.name: np.ascontiguousarray(windows[:, :-1]),
            TARGET: np.ascontiguousarray(windows[:, 1:]),
        }

    @property
    def digest(self) -> str:
        """See `Samples.digest`."""
        return sha256(f"{self.name} {self.tokens}\n".encode() + self.text.tobytes()).hexdigest()
