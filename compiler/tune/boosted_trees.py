"""A learned cost model: boosted trees that correct a reference cost.

What is learned is the logarithm of a choice's cost as a multiple of its reference, which is a lower
bound where one is known. Such multiples mean the same for all workloads, so that measurements of
several can be learned from together. (AutoTVM, Chen et al., NeurIPS 2018, section 3.2, learns the
order of pairs; it has no bounds to learn from.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tandem.compiler.plan.space import Floats

if TYPE_CHECKING:
    from xgboost import Booster

ROUNDS = 200
UNMEASURED = 2.0
"""What failed or was abandoned is taken to cost this multiple of the dearest measured choice."""
_PARAMETERS = {
    "objective": "reg:squarederror",
    "eta": 0.05,
    "max_depth": 5,
    # Trees of some choices and some features each: what one layer alone shows counts for less.
    "subsample": 0.5,
    "colsample_bynode": 0.2,
    "min_child_weight": 0.0,
    "nthread": 1,
    "verbosity": 0,
}


@dataclass(frozen=True, slots=True)
class Measured:
    """Measured choices of one workload on one machine.

    Attributes
    ----------
    features
        [choices, features].
    costs
        [choices]; infinite for choices that failed or were abandoned.
    references
        [choices]; see `Candidates.references`.
    """

    features: Floats
    costs: Floats
    references: Floats

    @property
    def labels(self) -> Floats:
        """What is learned: [choices]; some cost is finite."""
        return labels(self.costs, self.references)


def labels(costs: Floats, references: Floats) -> Floats:
    """What models learn of costs, of which some are finite: the logarithm of their multiple of the
    references."""
    measured = np.isfinite(costs)
    known = np.where(measured, costs, UNMEASURED * costs[measured].max())
    return np.log(known / references)


class BoostedTrees:
    """A model that is trained on measured choices."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._booster: Booster | None = None

    def train(self, groups: Sequence[Measured]) -> None:
        """Forget what was learned and learn from these measurements, all groups of which weigh the
        same; each has a finite cost.
        """
        # Lazy import: XGBoost takes a second to import.
        from xgboost import DMatrix, train

        features = np.concatenate([group.features for group in groups])
        labels = np.concatenate([group.labels for group in groups])
        sizes = np.array([len(group.costs) for group in groups])
        weights = np.repeat(sizes.sum() / len(groups) / sizes, sizes)
        data = DMatrix(features, label=labels, weight=weights, nthread=1)
        parameters = {**_PARAMETERS, "seed": self._seed}
        self._booster = train(parameters, data, num_boost_round=ROUNDS)

    def scores(self, features: Floats, references: Floats) -> Floats:
        """A number for each choice of one workload, higher is better: the negative logarithm of its
        predicted cost. The model must be trained."""
        from xgboost import DMatrix

        assert self._booster is not None, "trained"
        found = self._booster.predict(DMatrix(features, nthread=1))
        return np.asarray(-np.log(references) - found, np.float64)

    def gains(self, features: int) -> Floats:
        """What each of so many features brings: its part of what all splits of the trees save in
        squared errors; zeros if there is no split. The model must be trained."""
        assert self._booster is not None, "trained"
        known = self._booster.get_score(importance_type="total_gain")
        found = np.zeros(features)
        for name, gain in known.items():
            found[int(name.removeprefix("f"))] = gain
        return np.asarray(found / (found.sum() or 1.0), np.float64)
