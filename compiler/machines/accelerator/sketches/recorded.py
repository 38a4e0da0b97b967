"""Layers of templates whose best recorded schedule is a sketch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.sketches.layers import LayerSketch
from tandem.compiler.machines.accelerator.sketches.template import PRODUCT_SKETCHES
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.compiler.plan.planner import Plan, tuned_choice
from tandem.compiler.plan.schedule_template import KernelMatch
from tandem.compiler.plan.target import Target
from tandem.compiler.te.knobs import Choice

_Key: TypeAlias = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class RecordedSketch:
    """A layer's sketch of records.

    Attributes
    ----------
    program
        Its program, whose tensors have the names of the template's.
    """

    sketch: LayerSketch
    choice: Choice
    program: PrimFunc

    def plan(self, plan: Plan) -> Plan:
        """How a layer that a template planned is compiled: by its computation and the sketch."""
        arguments = self.sketch.arguments(plan.arguments)
        found: KernelMatch = plan.found
        return Plan(PRODUCT_SKETCHES, found, self.sketch.computation, arguments, self.choice)


@dataclass(frozen=True)
class RecordedSketches:
    """The sketches that a target's records have of layers, each made once."""

    target: Target[AcceleratorTarget]
    _found: dict[_Key, RecordedSketch | None] = field(default_factory=dict, repr=False)

    def of(self, plan: Plan) -> RecordedSketch | None:
        """The sketch of a layer, if one is recorded that costs less than what records have of the
        template, and that this version makes; None for the template's schedule.

        Layers whose weights lie in DRAM in another form have none.
        """
        tuned = self.target.tuned
        if tuned is None or plan.template.is_fallback or plan.arguments.forms:
            return None
        if not tuned.knows(PRODUCT_SKETCHES):
            return None
        key = plan.template, plan.workload
        if key not in self._found:
            self._found[key] = self._recorded(plan)
        return self._found[key]

    def _recorded(self, plan: Plan) -> RecordedSketch | None:
        template, machine, tuned = plan.template, self.target.machine, self.target.tuned
        assert isinstance(template, AcceleratorTemplate), "as all in the accelerator's table"
        assert tuned is not None, "checked"
        sketch = LayerSketch.of(template.start(plan.workload, machine).program)
        # Without a setting it is the template's schedule.
        if not tuned.choice(PRODUCT_SKETCHES, sketch.computation):
            return None
        of_template = tuned.cost(template, plan.workload)
        if tuned.cost(PRODUCT_SKETCHES, sketch.computation) >= of_template:
            return None
        choice = tuned_choice(self.target, PRODUCT_SKETCHES, sketch.computation)
        if choice is None:
            return None
        return RecordedSketch(sketch, choice, sketch.program(choice, machine))
