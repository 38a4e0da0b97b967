"""The choice of formats by layer within a loss that is allowed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Option:
    """A format that a layer may have.

    Attributes
    ----------
    cost
        What the layer costs with it: the bits of its weights, or time on a machine.
    error
        The noise of the layer's results over their signal.
    """

    name: str
    cost: float
    error: float


@dataclass(frozen=True, slots=True)
class Move:
    """A change of a layer to a format that costs less."""

    layer: str
    option: Option


@dataclass(frozen=True, slots=True)
class Chosen(Generic[T]):
    """A network whose loss is allowed.

    Attributes
    ----------
    loss
        Of the network, in decibels.
    options
        The format of each layer that has changed.
    """

    network: T
    loss: float
    options: Mapping[str, Option]


def moves(options: Mapping[str, Sequence[Option]]) -> list[Move]:
    """Changes of layers from their first option to options of less cost, in the order of the error
    that a saved bit, or a saved cycle, brings.

    Options of a layer which bring more error for it than a later one are left out, so that the
    changes of a layer are in the order of their cost. Of options of one cost, which are different
    tables, the one of the least error is taken.
    """
    ranked: list[tuple[float, Move]] = []
    for layer, (first, *rest) in options.items():
        at, left = first, [option for option in rest if option.cost < first.cost]
        while left:
            # The lower convex hull of error over cost.
            slope, best = min(
                (((option.error - at.error) / (at.cost - option.cost), option) for option in left),
                key=lambda pair: (pair[0], pair[1].cost),
            )
            ranked.append((slope, Move(layer, best)))
            at, left = best, [option for option in left if option.cost < best.cost]
    return [move for _, move in sorted(ranked, key=lambda pair: pair[0])]


def most_within(
    ordered: Sequence[Move],
    allowed: float,
    made: Callable[[Mapping[str, Option]], T],
    loss: Callable[[T], float],
    *,
    without: float = 0.0,
) -> Chosen[T]:
    """The network with as many of the changes, from the first on, as the loss allows.

    Bisection: `loss` grows with the number of changes but for noise, and what is returned was
    measured.

    Parameters
    ----------
    made
        Returns the network of options by layer.
    loss
        The loss of a network in decibels.
    without
        That of the network without any change.
    """

    def tried(count: int) -> Chosen[T]:
        chosen = {move.layer: move.option for move in ordered[:count]}
        network = made(chosen)
        return Chosen(network, loss(network) if count else without, chosen)

    best = tried(0)
    low, high = 0, len(ordered)
    last = tried(high) if high else best
    if last.loss <= allowed:
        return last
    while high - low > 1:
        middle = (low + high) // 2
        found = tried(middle)
        if found.loss <= allowed:
            low, best = middle, found
        else:
            high = middle
    return best
