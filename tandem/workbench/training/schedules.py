"""Schedules of the learning rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from tandem.workbench.errors import TrainingError


class Curve(Enum):
    """How the rate goes down after it has risen."""

    CONSTANT = "constant"
    LINEAR = "linear"
    COSINE = "cosine"


@dataclass(frozen=True, slots=True)
class Schedule:
    """The factor of the learning rate over a training.

    Attributes
    ----------
    warmup
        The part of the training in which the factor rises from 0 to 1, linearly.
    """

    curve: Curve = Curve.COSINE
    warmup: float = 0.05

    def __post_init__(self) -> None:
        if not 0.0 <= self.warmup < 1.0:
            raise TrainingError(f"warmup is {self.warmup}: 0 to under 1 is allowed")

    def factor(self, done: float) -> float:
        """The factor of a step, of which this part of the training is over; from 0 to 1."""
        if done < self.warmup:
            return done / self.warmup
        left = (done - self.warmup) / (1.0 - self.warmup)
        match self.curve:
            case Curve.CONSTANT:
                return 1.0
            case Curve.LINEAR:
                return 1.0 - left
            case Curve.COSINE:
                return 0.5 * (1.0 + math.cos(math.pi * left))
            case _:
                assert_never(self.curve)
