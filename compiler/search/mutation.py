"""The mutation of NSGA-II: a value near by."""

from __future__ import annotations

import numpy as np
import optuna
from numpy.typing import NDArray
from optuna.samplers.nsgaii import BaseMutation

STEPS = (-2, -1, -1, 1, 1, 2)
"""How far a mutated number lies from what it was; all are equally likely."""


class NeighbourMutation(BaseMutation):
    """Moves the number of a value by one or two: values of a dimension are in their order."""

    def mutation(
        self,
        param: float,
        rng: np.random.RandomState,
        study: optuna.Study,
        search_space_bounds: NDArray[np.float64],
    ) -> float:
        """The new number; Optuna puts one beyond the ends of a dimension at the end."""
        return param + float(rng.choice(STEPS))
