"""The explorers by name: add new ones here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from tandem.compiler.tune.boosted_trees import Measured
from tandem.compiler.tune.candidates import Candidates
from tandem.compiler.tune.explorers.boosted import Boosted
from tandem.compiler.tune.explorers.exact import Exact
from tandem.compiler.tune.explorers.explorer import Explorer
from tandem.compiler.tune.explorers.genetic import Genetic
from tandem.compiler.tune.explorers.plain import ByEstimate, Grid, Random

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
