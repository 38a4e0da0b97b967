"""Sketches as a schedule template, for tasks and records."""

from __future__ import annotations

from typing import ClassVar, Final, NoReturn

import numpy as np

from tandem.compiler.errors import Refusal
from tandem.compiler.plan.pattern import Apply
from tandem.compiler.plan.schedule_template import KernelMatch, ScheduleTemplate
from tandem.compiler.plan.space import Bools, Choices, Floats, Space
from tandem.compiler.te.knobs import Choice
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches.computation import Computation
from tandem.compiler.tune.sketches.evolution import replay
from tandem.compiler.tune.sketches.rules import SketchRules
from tandem.compiler.tune.sketches.trace import SketchTrace

DEFAULT: Final[Choice] = {}
"""The choice of a computation that stays with the compiler's own schedule."""


class SketchTemplate(ScheduleTemplate[Computation, SketchRules]):
    """Schedules a computation by the decisions of a trace.

    No pattern leads to it: what is scheduled is the computation itself. Its space lists the default
    alone, for sketches are drawn and not listed.
    """

    name: ClassVar[str] = "sketches"
    patterns: ClassVar[tuple[Apply, ...]] = ()

    def bind(self, found: KernelMatch, machine: SketchRules) -> NoReturn:
        raise Refusal("sketches match no pattern: they schedule whole kernels")

    def space(self, workload: Computation, machine: SketchRules) -> Space:
        return Space({})

    def fits(self, workload: Computation, choices: Choices, machine: SketchRules) -> Bools:
        return np.ones(len(choices), np.bool_)

    def estimate(self, workload: Computation, choices: Choices, machine: SketchRules) -> Floats:
        return np.ones(len(choices))

    def schedule(self, workload: Computation, choice: Choice, machine: SketchRules) -> Schedule:
        """The schedule of a trace's decisions. Raises as `replay`."""
        trace, constants = SketchTrace.of(choice), workload.constant_names
        return replay(workload.start(), machine, constants, trace).schedule


SKETCHES: Final = SketchTemplate()
"""The one template of sketches."""
