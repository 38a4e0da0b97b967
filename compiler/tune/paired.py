"""Which of two alternatives is faster, from times that were taken alternately.

Two that ran in one round met the same load and the same clock, so that the ratio of their times
says more than either time. Nothing is assumed of the noise but that it favours neither: the bound
is that of the sign test, an order statistic of the ratios (Conover, Practical Nonparametric
Statistics, 3rd edition, section 3.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import median

from tandem.compiler.errors import TuningError

CONFIDENCE = 0.99
"""The probability that a gain is at least the bound that is stated for it."""


@dataclass(frozen=True, slots=True)
class PairedGain:
    """What a challenger gains over a default.

    Attributes
    ----------
    default, challenger
        The medians of their times.
    least
        What the gain exceeds with `CONFIDENCE`: the default's time over the challenger's, less 1.
        Negative where the challenger may well be slower.
    """

    default: float
    challenger: float
    least: float

    def wins(self, margin: float = 0.0) -> bool:
        """Whether the challenger is faster by more than the noise, and than `margin` as a part."""
        return self.least > margin


def paired_gain(default: Sequence[float], challenger: Sequence[float]) -> PairedGain:
    """The gain of a challenger, from the times of both in the same rounds.

    Raises
    ------
    TuningError
        So few pairs that no outcome of theirs would be certain, or a time that is not above 0.
    """
    if min((*default, *challenger), default=0) <= 0:
        raise TuningError("a time that is compared is not above 0")
    rank = _rank(len(default))
    if not rank:
        raise TuningError(f"{len(default)} pairs of times decide nothing: {LEAST_PAIRS} are needed")
    ratios = sorted(a / b for a, b in zip(default, challenger, strict=True))
    return PairedGain(median(default), median(challenger), ratios[rank - 1] - 1)


def _rank(pairs: int) -> int:
    """The number of the smallest ratio, from 1, that the true one exceeds with `CONFIDENCE`; 0 if
    there is none.

    As many ratios as below it or more lie below the true one with the probability that so many of
    fair coins show heads.
    """
    below = 0
    for rank in range(pairs):
        below += comb(pairs, rank)
        if below > (1 - CONFIDENCE) * 2**pairs:
            return rank
    return pairs


LEAST_PAIRS = next(pairs for pairs in range(1, 64) if _rank(pairs))
"""The fewest pairs that can decide: all of them for one side are no accident."""
