"""Tables of candidates with given costs, to be searched without a machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.plan.schedule_template import Arguments, KernelMatch, ScheduleTemplate
from tandem.compiler.plan.space import Bools, Choices, Floats, Space
from tandem.compiler.plan.target import CostModel
from tandem.compiler.te import Schedule
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.candidates import Candidates
from tandem.compiler.tune.trial import Outcome
from tandem.compiler.tune.tuner import Measure
from tandem.hw.config_files import load_config

KNOBS = {"x": tuple(range(12)), "y": tuple(range(10)), "order": ("a", "b", "c")}


@dataclass(frozen=True, eq=False)
class FixedCosts(CostModel):
    """Estimates and bounds that are functions of the choices."""

    estimate: Callable[[Choices], Floats]
    bound: Callable[[Choices], Floats]

    def costs(self, template: Any, workload: Any, choices: Choices) -> Floats:
        return self.estimate(choices)

    def bounds(self, template: Any, workload: Any, choices: Choices) -> Floats:
        return self.bound(choices)


def valley(choices: Choices) -> Floats:
    """Costs from 100 up, least at x=7 y=3 order=b."""
    found: Floats = 100.0 + (choices["x"] - 7) ** 2 + 2.0 * (choices["y"] - 3) ** 2
    return found + 15.0 * ~choices.equals("order", "b")


def no_bound(choices: Choices) -> Floats:
    """Nothing is known."""
    return np.zeros(len(choices))


def candidates(
    estimate: Callable[[Choices], Floats] = valley,
    bound: Callable[[Choices], Floats] = no_bound,
) -> Candidates:
    """All combinations of `KNOBS`."""
    target = replace(accelerator(load_config("tiny")), cost=FixedCosts(estimate, bound))
    return Candidates(target, Conv2dOnArray(), None, Space(KNOBS).choices())


def measure_of(cost: Callable[[Choices], Floats] = valley) -> Measure:
    """Measures choices as `cost` says, up to the limit."""

    def measure(choices: Sequence[Choice], limit: float) -> list[Outcome]:
        costs = [float(cost(Choices.of([{**choice}]))[0]) for choice in choices]
        return [Outcome.measured(one) if one <= limit else Outcome.abandoned() for one in costs]

    return measure


@dataclass(frozen=True)
class EvenNumbers(ScheduleTemplate[str, Any]):
    """A template of two spaces, of which choices with an even `x` fit."""

    name: ClassVar[str] = "even_numbers"
    wide: Mapping[str, tuple[int, ...]] | None = None

    def bind(self, found: KernelMatch, machine: Any) -> tuple[str, Arguments]:
        raise AssertionError

    def schedule(self, workload: str, choice: Choice, machine: Any) -> Schedule:
        raise AssertionError

    def space(self, workload: str, machine: Any) -> Space:
        return Space({"x": (1, 2, 3, 4)})

    def wide_space(self, workload: str, machine: Any) -> Space | None:
        return None if self.wide is None else Space(self.wide)

    def fits(self, workload: str, choices: Choices, machine: Any) -> Bools:
        found: Bools = choices["x"] % 2 == 0
        return found
