"""How an operator is cut into tiles: what a schedule of it is made from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["Order", "Tiling"]


class Order(Enum):
    """Which loop over tiles is the outermost, and what stays on chip meanwhile."""

    OUTPUTS = "outputs"
    """Each tile brings its own weights and its own part of the image, step by step."""
    WEIGHTS = "weights"
    """A block of output channels keeps its weights for all parts of the image."""
    IMAGE = "image"
    """A part of the image stays for all blocks of output channels."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """Sizes of a tile of the output, in elements, and of a step of the sum.

    Attributes
    ----------
    oc, y, x
        Blocks of output channels, rows, columns.
    ic
        Blocks of input channels in a step of the sum.
    threads
        Virtual threads.
    along
        The axis whose tiles they share: oc, y or x.
    """

    oc: int
    y: int
    x: int
    ic: int
    order: Order = Order.OUTPUTS
    threads: int = 2
    along: str = "oc"
