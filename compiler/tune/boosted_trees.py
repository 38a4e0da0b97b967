"""A learned cost model: boosted trees that rank choices.

As in AutoTVM (Chen et al., NeurIPS 2018, section 3.2) the objective is the order of pairs, not the
cost itself. Choices of several workloads can be learned from together: only pairs of one workload
are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from compiler.templates.space import Floats

if TYPE_CHECKING:
    from xgboost import Booster

ROUNDS = 60
_PARAMETERS = {
    "objective": "rank:pairwise",
    "lambdarank_pair_method": "mean",
    "lambdarank_num_pair_per_sample": 8,
    "eta": 0.2,
    "max_depth": 5,
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
    """

    features: Floats
    costs: Floats


class BoostedTrees:
    """A model that is trained on measured choices."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._booster: Booster | None = None

    def train(self, groups: Sequence[Measured]) -> None:
        """Forget what was learned and learn from these measurements; at least one is finite."""
        # Lazy import: XGBoost takes a second to import.
        from xgboost import DMatrix, train

        features = np.concatenate([group.features for group in groups])
        labels = np.concatenate([group.costs.min() / group.costs for group in groups])
        data = DMatrix(features, label=labels, nthread=1)
        data.set_group([len(group.costs) for group in groups])
        parameters = {**_PARAMETERS, "seed": self._seed}
        self._booster = train(parameters, data, num_boost_round=ROUNDS)

    def scores(self, features: Floats) -> Floats:
        """A number for each choice of one workload, higher is better; it must be trained."""
        from xgboost import DMatrix

        assert self._booster is not None, "trained"
        found = self._booster.predict(DMatrix(features, nthread=1))
        return np.asarray(found, np.float64)
