"""What the layers of a quantised network cost on an accelerator, before it is compiled."""

from __future__ import annotations

from typing import Final

import numpy as np

from tandem.compiler.driver.build import Backends, offloading_passes
from tandem.compiler.graph.nodes import Call, Function
from tandem.compiler.graph.passes import transform
from tandem.compiler.graph.visit import all_lets
from tandem.compiler.machines.accelerator.backend import StreamBackend
from tandem.compiler.machines.accelerator.costs import AcceleratorCosts
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.planned_calls import PlannedCall, template_of
from tandem.compiler.machines.accelerator.templates.lower_bound import (
    alu_cycles,
    array_cycles,
    bus_cycles,
)
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.plan.planner import Plan, space_of_choice
from tandem.compiler.plan.space import Choices
from tandem.compiler.plan.target import Target
from tandem.compiler.quantise.compressed.layer_costs import LayerCost
from tandem.hw.features import Feature

_UNIT: Final = "cycles"
_INT8: Final = "int8: "


class LayerCosts:
    """The layers of networks as an accelerator would compute them. Layers of equal workload, of all
    networks that it is asked for, are planned once."""

    def __init__(self, target: Target[AcceleratorTarget], host: Target[CpuTarget]) -> None:
        self.target = target
        self._targets = (target, host)
        self._backends = Backends()

    def __call__(self, function: Function) -> dict[str, LayerCost]:
        """The least cycles of the choices that the compiler takes, by the layers' names: what the
        array, the ALU or the bus is busy for. Layers on the processor have none."""
        passes = offloading_passes(function, self._targets, self._backends)
        offloaded = transform(function, [*passes])
        backend = self._backends.of(self.target)
        assert isinstance(backend, StreamBackend), "the accelerator's"
        found: dict[str, LayerCost] = {}
        for one in offloaded.named.values():
            for let in all_lets(one.body):
                call = let.value
                if isinstance(call, Call) and isinstance(call.callee, Function):
                    if call.callee.target == self.target.name:
                        planned = backend.planned_stream(call.callee)
                        found |= {each.source: self._cost(each) for each in planned.calls}
        return found

    def _cost(self, call: PlannedCall) -> LayerCost:
        plan, machine = call.plan, self.target.machine
        space = space_of_choice(
            plan.template, plan.workload, machine, plan.choice, dict(self.target.settings)
        )
        assert space is not None, "the choice is of a space"
        row = space.choices({name: (setting,) for name, setting in plan.choice.items()})
        (cycles,) = self.target.cost.bounds(plan.template, plan.workload, row)
        remark = plan.arguments.remark
        int8 = remark.removeprefix(_INT8) if remark.startswith(_INT8) else ""
        if Feature.COMPRESSED_WEIGHTS not in machine.config.features:
            int8 = f"{machine.config.name} has no {Feature.COMPRESSED_WEIGHTS.value}"
        return LayerCost(float(cycles), _UNIT, self._bound(plan, row), int8)

    def _bound(self, plan: Plan, row: Choices) -> str:
        """What a choice is bound by, by the work of each part of the machine."""
        cost = self.target.cost
        assert isinstance(cost, AcceleratorCosts), "the accelerator's"
        work, machine = template_of(plan).work_counts(plan.workload, row), cost.of(plan.workload)
        array, alu, bus = (
            float(np.broadcast_to(cycles, (1,))[0])
            for cycles in (
                array_cycles(work, machine),
                alu_cycles(work, machine),
                bus_cycles(work, machine),
            )
        )
        if bus > array + alu:
            return "the bus"
        return "its products" if array >= alu else "its ALU operations"
