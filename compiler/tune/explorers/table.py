"""The explorers by name: add new ones here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from compiler.tune.boosted_trees import Measured
from compiler.tune.candidates import Candidates
from compiler.tune.explorers.boosted import Boosted
from compiler.tune.explorers.exact import Exact
from compiler.tune.explorers.explorer import Explorer
from compiler.tune.explorers.genetic import Genetic
from compiler.tune.explorers.plain import ByEstimate, Grid, Random

EXPLORERS: Mapping[str, Callable[[Candidates, int], Explorer]] = MappingProxyType(
    {
        "xgboost": Boosted,
        "random": Random,
        "grid": Grid,
        "genetic": Genetic,
        "exact": Exact,
        "estimate": ByEstimate,
    }
)
"""Explorers of candidates with a seed."""


def make_explorer(
    name: str, candidates: Candidates, seed: int, others: Sequence[Measured] = ()
) -> Explorer:
    """The explorer of this name; it learns from `others`, measurements of other workloads, if it
    learns at all."""
    kind = EXPLORERS[name]
    if kind is Boosted:
        return Boosted(candidates, seed, others)
    return kind(candidates, seed)
