"""Random choices for random networks: values, numbers, windows."""

from __future__ import annotations

from math import prod

import numpy as np

from tandem.compiler.graph import Constant, Var
from tests.support.compiler.graph.drawn_graphs import Drawing

LARGEST = 1200
"""The most elements of an image, so that tests are quick."""


class RandomNetworkBuilder(Drawing):
    """Builder of a random network, with random choices of values, numbers and windows."""

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__()
        self.rng = rng

    def draw(self, *among: int) -> int:
        """A random element of `among`."""
        return int(self.rng.choice(among))

    def most(self, limit: int) -> int:
        """A random number from 1 to `limit`."""
        return int(self.rng.integers(1, limit + 1))

    def odds(self, chance: float) -> bool:
        """True with probability `chance`."""
        return bool(self.rng.random() < chance)

    def value(self, *ranks: int) -> Var | None:
        """A random value with a rank in `ranks`, mostly a recent one; None if there is none."""
        names = [name for name, shape in self.shapes.items() if len(shape) in ranks]
        return Var(str(self.rng.choice(names[-2:] * 3 + names))) if names else None

    def weight(self, *shape: int) -> Constant:
        """Random weights; some channels may be large, small or zero."""
        values = self.rng.normal(size=shape) * np.sqrt(2 / prod(shape[1:]))
        channels = (shape[0], *[1] * (len(shape) - 1))
        if self.odds(0.3):
            values = values * 10 ** self.rng.uniform(-3, 2, channels)
        if self.odds(0.2):
            values = values * (self.rng.random(channels) < 0.6)
        if self.odds(0.03):
            values = np.zeros(shape)
        if self.odds(0.1):
            values = np.abs(values)
        return Constant(values.astype(np.float32))

    def row(self, *shape: int, scale: float = 1.0, least: float | None = None) -> Constant:
        """Normally distributed constants, or absolute values plus `least`."""
        values = self.rng.normal(size=shape) * scale
        values = values if least is None else np.abs(values) + least
        return Constant(values.astype(np.float32))

    def windows(self, kernel: tuple[int, int]) -> dict[str, tuple[int, ...]]:
        """Random strides, padding and dilation."""
        padding = tuple(self.draw(0, 0, 1, each // 2, each - 1) for each in (*kernel, *kernel))
        if self.odds(0.5):
            padding = tuple(each // 2 for each in (*kernel, *kernel))
        strides = (self.draw(1, 1, 1, 2, 3), self.draw(1, 1, 1, 2, 3))
        dilation = (self.draw(1, 1, 1, 1, 2), self.draw(1, 1, 1, 1, 2))
        return {"strides": strides, "padding": padding, "dilation": dilation}

    def kernel(self) -> tuple[int, int]:
        """A random kernel size, mostly square."""
        one, other = (self.draw(1, 1, 2, 3, 3, 4, 5) for _ in range(2))
        return (one, one) if self.odds(0.6) else (one, other)

    def windowed(self, x: Var, kernel: tuple[int, int], given: dict[str, tuple[int, ...]]) -> bool:
        """Whether the windows fit `x`, and their number is within the limit."""
        images, channels, *sides = self.shapes[x.name]
        top, left, bottom, right = given["padding"]
        left_over = [
            side + pads - far * (extent - 1)
            for side, pads, far, extent in zip(
                sides, (top + bottom, left + right), given["dilation"], kernel, strict=True
            )
        ]
        return min(left_over) > 0 and images * channels * prod(left_over) < 4 * LARGEST
