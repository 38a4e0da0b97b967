"""Explorers that learn nothing: in random order, in the order of the space, or of the estimate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tandem.compiler.plan.space import Ints
from tandem.compiler.tune.candidates import Candidates
from tandem.compiler.tune.explorers.explorer import Explorer


class InOrder(Explorer):
    """Proposes rows in an order that is fixed from the start."""

    def __init__(self, candidates: Candidates, seed: int) -> None:
        super().__init__(candidates, seed)
        self._order = self.order()
        self._next = 0

    def order(self) -> Ints:
        """All rows in the order of proposal."""
        return np.arange(len(self.candidates))

    def propose(self, count: int) -> Sequence[int]:
        found: list[int] = []
        while len(found) < count and self._next < len(self._order):
            row = int(self._order[self._next])
            if not self.seen[row]:
                found.append(row)
            self._next += 1
        return found


class Grid(InOrder):
    """All choices, evenly spread: first every eighth of the space, then those between, and on."""

    def order(self) -> Ints:
        rows = np.arange(len(self.candidates))
        # The reversed bits of a row's number: neighbours are far apart in time.
        bits = max(1, int(len(rows) - 1).bit_length())
        reversed_bits = np.zeros_like(rows)
        for bit in range(bits):
            reversed_bits |= (rows >> bit & 1) << (bits - 1 - bit)
        return np.argsort(reversed_bits, kind="stable")


class Random(InOrder):
    """All choices in random order."""

    def order(self) -> Ints:
        return self.random.permutation(len(self.candidates))


class ByEstimate(InOrder):
    """All choices, those first that the target's own cost model likes best."""

    def order(self) -> Ints:
        return np.argsort(self.candidates.estimates, kind="stable")
