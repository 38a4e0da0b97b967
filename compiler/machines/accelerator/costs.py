"""The accelerator's cost model: estimates, lower bounds and features of choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tandem.compiler.machines.accelerator.templates.features import (
    COUNTED,
    FEATURES,
    features,
)
from tandem.compiler.machines.accelerator.templates.lower_bound import lower_bound
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.plan.space import Choices, Floats
from tandem.compiler.plan.target import TemplateCosts
from tandem.compiler.te.knobs import Choice

FEATURE_NAMES = (*FEATURES, "estimate")
"""The names of the columns of `AcceleratorCosts.features`."""


@dataclass(frozen=True, slots=True)
class AcceleratorCosts(TemplateCosts):
    """Estimates of each template, lower bounds of exact cycles, and features relative to these."""

    def of(self, workload: Any) -> MachineCost:
        """The durations for a workload."""
        machine: MachineCost = self.machine
        return machine.of(workload)

    def costs(self, template: Any, workload: Any, choices: Choices) -> Floats:
        return TemplateCosts(self.of(workload)).costs(template, workload, choices)

    def shortlist(self, template: Any, workload: Any, choices: Choices) -> Choices:
        return TemplateCosts(self.of(workload)).shortlist(template, workload, choices)

    def wide_choice(self, template: Any, workload: Any, choice: Choice) -> Choice | None:
        return TemplateCosts(self.of(workload)).wide_choice(template, workload, choice)

    def bounds(self, template: Any, workload: Any, choices: Choices) -> Floats:
        return lower_bound(template, workload, choices, self.of(workload))

    def features(self, template: Any, workload: Any, choices: Choices) -> Floats:
        found = features(template, workload, choices, self.of(workload))
        bounds = self.bounds(template, workload, choices)
        # Counts for each cycle mean the same for small layers and large ones.
        found[:, COUNTED] /= bounds[:, None]
        estimates = self.costs(template, workload, choices)
        # Infinite estimates are of choices that are not modelled.
        known = np.where(np.isfinite(estimates), estimates / bounds, -1.0)
        return np.column_stack([found, known])
