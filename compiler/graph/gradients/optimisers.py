"""Optimisers: how gradients change weights, written as graphs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from tandem.compiler.errors import GradientError
from tandem.compiler.graph.terms import Term, apply


class Optimiser(ABC):
    """A way to update a weight, which may keep tensors of the weight's shape from step to step."""

    @property
    @abstractmethod
    def kept(self) -> tuple[str, ...]:
        """The names of the tensors that it keeps for each weight; zeros before the first step."""

    @abstractmethod
    def update(
        self, weight: Term, gradient: Term, kept: Mapping[str, Term], rate: Term, step: Term
    ) -> tuple[Term, dict[str, Term]]:
        """The weight and the tensors that are kept, after a step.

        Parameters
        ----------
        rate, step
            The learning rate, and the number of the step from 1 on, as scalars of the weight's
            type.
        """


@dataclass(frozen=True, slots=True)
class Sgd(Optimiser):
    """Stochastic gradient descent: v = momentum * v + g + decay * w; w = w - rate * v.

    Attributes
    ----------
    decay
        The factor of weights that is added to gradients.
    """

    momentum: float = 0.0
    decay: float = 0.0

    def __post_init__(self) -> None:
        _check("momentum", self.momentum, 0.0 <= self.momentum < 1.0, "0 to under 1")
        _check("decay", self.decay, 0.0 <= self.decay < inf, "0 or more")

    @property
    def kept(self) -> tuple[str, ...]:
        """The velocity, if there is momentum."""
        return ("velocity",) if self.momentum else ()

    def update(
        self, weight: Term, gradient: Term, kept: Mapping[str, Term], rate: Term, step: Term
    ) -> tuple[Term, dict[str, Term]]:
        """See `Optimiser.update`."""
        change = gradient + weight * self.decay if self.decay else gradient
        if not self.momentum:
            return weight - change * rate, {}
        velocity = kept["velocity"] * self.momentum + change
        return weight - velocity * rate, {"velocity": velocity}


@dataclass(frozen=True, slots=True)
class Adam(Optimiser):
    """Adam (Kingma and Ba, ICLR 2015), with decoupled weight decay (AdamW: Loshchilov and Hutter,
    ICLR 2019).

    Attributes
    ----------
    mean_decay, square_decay
        The factors by which the means of gradients and of their squares decay, beta 1 and 2.
    epsilon
        What is added to the root of the mean square.
    decay
        Weights lose this times the rate in each step, beside their gradients.
    """

    mean_decay: float = 0.9
    square_decay: float = 0.999
    epsilon: float = 1e-8
    decay: float = 0.0

    def __post_init__(self) -> None:
        for name in ("mean_decay", "square_decay"):
            value = getattr(self, name)
            _check(name, value, 0.0 <= value < 1.0, "0 to under 1")
        _check("epsilon", self.epsilon, 0.0 < self.epsilon < inf, "over 0")
        _check("decay", self.decay, 0.0 <= self.decay < inf, "0 or more")

    @property
    def kept(self) -> tuple[str, ...]:
        """The means of gradients and of their squares."""
        return ("mean", "square")

    def update(
        self, weight: Term, gradient: Term, kept: Mapping[str, Term], rate: Term, step: Term
    ) -> tuple[Term, dict[str, Term]]:
        """See `Optimiser.update`."""
        mean = kept["mean"] * self.mean_decay + gradient * (1.0 - self.mean_decay)
        square = kept["square"] * self.square_decay + gradient * gradient * (
            1.0 - self.square_decay
        )
        # Both means begin at 0: they are divided by the sum of the factors so far.
        first, second = (
            1.0 - apply("power", step.scalar(factor), step)
            for factor in (self.mean_decay, self.square_decay)
        )
        change = (mean / first) / (apply("sqrt", square / second) + self.epsilon)
        left = weight * (1.0 - rate * self.decay) if self.decay else weight
        return left - change * rate, {"mean": mean, "square": square}


def _check(name: str, value: float, allowed: bool, what: str) -> None:
    if not allowed:
        raise GradientError(f"{name} is {value}: {what} is allowed")
