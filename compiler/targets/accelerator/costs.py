"""The accelerator's cost model: estimates, lower bounds and features of choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.targets.target import TemplateCosts
from compiler.templates.accelerator.features import features
from compiler.templates.accelerator.lower_bound import counted_bound, lower_bound
from compiler.templates.space import Choices, Floats


@dataclass(frozen=True, slots=True)
class AcceleratorCosts(TemplateCosts):
    """Estimates of each template, lower bounds of exact cycles, and features with both."""

    def bounds(self, template: Any, workload: Any, choices: Choices) -> Floats:
        return lower_bound(template, workload, choices, self.machine)

    def features(self, template: Any, workload: Any, choices: Choices) -> Floats:
        counted = features(template, workload, choices, self.machine)
        estimates = self.costs(template, workload, choices)
        bounds = counted_bound(template, workload, choices, self.machine)
        # Infinite estimates are of choices that are not modelled.
        known = np.where(np.isfinite(estimates), estimates, -1.0)
        return np.column_stack([counted, known, known / bounds, bounds])
