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
    bits
        Of the layer's weights.
    error
        The noise of the layer's results over their signal.
    """

    name: str
    bits: int
    error: float


@dataclass(frozen=True, slots=True)
class Move:
    """A change of a layer to a format of fewer bits."""

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
    """Changes of layers from their first option to options of fewer bits, in the order of the error
    that a bit costs.

    Options of a layer which cost more a bit than a later one are left out, so that the changes of a
    layer are in the order of their bits.
    """
    ranked: list[tuple[float, Move]] = []
    for layer, (first, *rest) in options.items():
        at, left = first, [option for option in rest if option.bits < first.bits]
        while left:
            # The lower convex hull of error over bits.
            cost, best = min(
                (((option.error - at.error) / (at.bits - option.bits), option) for option in left),
                key=lambda pair: (pair[0], pair[1].bits),
            )
            ranked.append((cost, Move(layer, best)))
            at, left = best, [option for option in left if option.bits < best.bits]
    return [move for _, move in sorted(ranked, key=lambda pair: pair[0])]


def most_within(
    ordered: Sequence[Move],
    allowed: float,
    made: Callable[[Mapping[str, Option]], T],
    loss: Callable[[T], float],
) -> Chosen[T]:
    """The network with as many of the changes, from the first on, as the loss allows.

    Bisection: `loss` grows with the number of changes but for noise, and what is returned was
    measured. Without any change a network loses nothing.

    Parameters
    ----------
    made
        Returns the network of options by layer.
    loss
        The loss of a network in decibels.
    """

    def tried(count: int) -> Chosen[T]:
        chosen = {move.layer: move.option for move in ordered[:count]}
        network = made(chosen)
        return Chosen(network, loss(network) if count else 0.0, chosen)

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
