"""Checks of wide spaces: exact results, capacity, traffic and lower bounds of random choices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tandem.compiler.errors import CapacityError
from tandem.compiler.lower.lowering import lower
from tandem.compiler.machines.accelerator.lower.onchip import footprint
from tandem.compiler.machines.accelerator.lower.programs import accelerator_passes
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates.lower_bound import lower_bound
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost, MemoryTiming
from tandem.compiler.plan.space import Bools, Choices
from tandem.compiler.te.knobs import Choice
from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import Opcode
from tandem.hw.memory_model import MemoryModel
from tandem.hw.topology import MemoryId
from tandem.sim.cycle.engine import CycleEngine
from tandem.sim.engine import Launch
from tandem.sim.errors import NeedsDataError
from tandem.sim.memory import place_program
from tests.compiler.machines.accelerator.templates.test_work_counts import copied, moved_of
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.random_workloads import (
    Drawer,
    RandomWorkload,
)

CONFIGS = ("tiny", "small8", "block4", "batch2", "pynq", "tall", "extended", "requantising")


@dataclass(frozen=True, slots=True)
class DrawnLayer:
    """A random layer on a machine, and all choices of its wide space."""

    config: HardwareConfig
    layer: RandomWorkload
    choices: Choices
    rng: np.random.Generator

    @staticmethod
    def of(seed: int, name: str, drawer: Drawer) -> DrawnLayer:
        """The layer of a seed for the machine of this name."""
        rng, config = np.random.default_rng(seed), machine(name)
        layer = drawer(rng, config)
        space = layer.template.wide_space(layer.workload, AcceleratorTarget.of(config))
        assert space is not None, "all of its layers have one"
        return DrawnLayer(config, layer, space.choices(), rng)

    def fitting(self, count: int) -> Choices:
        """Some choices that fit."""
        fits = self.layer.template.fits(
            self.layer.workload, self.choices, AcceleratorTarget.of(self.config)
        )
        rows = np.flatnonzero(fits)
        kept = self.rng.choice(rows, min(count, len(rows)), replace=False) if len(rows) else rows
        return self.choices.where(kept)

    def check_results(self, engine: str, count: int) -> None:
        """Compare the results of some choices with NumPy's."""
        for choice in every(self.fitting(count)):
            self.layer.check(choice, self.config, engine)

    def check_fits(self) -> bool:
        """Check that lowering places exactly the choices that fit, in the elements that were
        counted; returns whether the checked choice fits."""
        target, template = AcceleratorTarget.of(self.config), self.layer.template
        one = self.choices.where(np.array([int(self.rng.integers(len(self.choices)))]))
        named = self.layer.workload, one.choice(0)
        program = template.schedule(*named, target).program
        lowered = lower(program, accelerator_passes(target))
        fits = bool(template.fits(self.layer.workload, one, target).item())
        try:
            found = footprint(lowered, target)
        except CapacityError:
            assert not fits, named
            return False
        counted = template.usage(self.layer.workload, one)
        assert found == {memory: int(used.item()) for memory, used in counted.items()}, named
        assert fits, named
        return True

    def check_counts(self, may_stay: Callable[[DrawnLayer, Choices], Bools]) -> None:
        """Check that no program moves less than is counted, and that none is faster than its bound.

        Parameters
        ----------
        may_stay
            The choices of which less may be counted than is moved, because data stays on chip.
        """
        choices, template, workload = self.fitting(2), self.layer.template, self.layer.workload
        if not len(choices):
            return
        latency = int(self.rng.choice([1, 16, 64, 300]))
        interval = int(self.rng.choice([1, 4]))
        engine = CycleEngine(self.config, MemoryModel(latency, interval, 16))
        cost = MachineCost(self.config, MemoryTiming(latency, interval))
        bounds, stay = lower_bound(template, workload, choices, cost), may_stay(self, choices)
        for row, choice in enumerate(every(choices)):
            stream = self.layer.stream(choice, self.config)
            work = template.work_counts(workload, choices.where(np.array([row])))
            for memory, code in (
                (MemoryId.INP, Opcode.LOAD),
                (MemoryId.WGT, Opcode.LOAD),
                (MemoryId.OUT, Opcode.STORE),
            ):
                elements, instructions = copied(stream, memory, code)
                moved, counted = moved_of(work, memory)
                assert elements >= moved, (memory, workload, choice)
                assert instructions >= counted, (memory, workload, choice)
                assert elements == moved or stay[row], (memory, workload, choice)
            image, address = place_program(stream.image({}), stream.program)
            try:
                launch = Launch(address=address, data=False)
                result = engine.launch(stream.program, image, launch)
            except NeedsDataError:
                continue
            assert result.cycles is not None
            assert bounds[row] <= result.cycles, (workload, choice)


def every(choices: Choices) -> Iterator[Choice]:
    """The choices, one by one."""
    return (choices.choice(row) for row in range(len(choices)))
