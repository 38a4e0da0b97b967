"""The base class of the accelerator's schedule templates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import ClassVar, TypeVar

import numpy as np

from tandem.compiler.layouts.layout import Layout, image_blocks, row_blocks
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.packing import useful_weights
from tandem.compiler.machines.accelerator.templates.work_counts import WorkCounts
from tandem.compiler.plan.pattern import Match
from tandem.compiler.plan.schedule_template import RESULT, KernelMatch, ScheduleTemplate, Shapes
from tandem.compiler.plan.space import Bools, Choices, Floats, Ints
from tandem.compiler.te import Schedule
from tandem.compiler.te.knobs import Choice, OpenTrace
from tandem.hw.config import HardwareConfig
from tandem.hw.topology import MemoryId

W = TypeVar("W", bound=Hashable)


class AcceleratorTemplate(ScheduleTemplate[W, AcceleratorTarget]):
    """A schedule template of an operator on the accelerator.

    Attributes
    ----------
    array_operand
        The operand that the array reads, in blocks of input channels; all other tensors are in
        blocks of output channels.
    leaves_in_bytes
        Whether the result is wider than int8 and stored as planes of bytes.
    """

    array_operand: ClassVar[str] = ""
    leaves_in_bytes: ClassVar[bool] = False

    @abstractmethod
    def start(self, workload: W, machine: AcceleratorTarget) -> Schedule:
        """The initial schedule, of tensors in blocks; the output is named `out`."""

    @abstractmethod
    def sketch(self, workload: W, machine: AcceleratorTarget) -> OpenTrace:
        """The schedule primitives, with open knobs."""

    def schedule(self, workload: W, choice: Choice, machine: AcceleratorTarget) -> Schedule:
        start, trace = _open(self, workload, machine)
        return start.replay(trace, choice)

    @abstractmethod
    def usage(self, workload: W, choices: Choices) -> Mapping[MemoryId, Ints]:
        """Elements of each memory that a choice takes, for all threads together."""

    @abstractmethod
    def work_counts(self, workload: W, choices: Choices) -> WorkCounts:
        """The traffic and arithmetic of the programs of choices."""

    def counts_are_exact(self, workload: W) -> bool:
        """Whether programs move at least the elements that `work_counts` says."""
        return True

    def least_cycles(self, workload: W, choices: Choices, cost: MachineCost) -> Floats:
        """Exact cycles that choices cannot go below, from the order of their instructions; 0 where
        only `work_counts` bounds them."""
        return np.zeros(len(choices))

    @abstractmethod
    def estimate(self, workload: W, choices: Choices, cost: MachineCost) -> Floats:
        """The cost of each choice, lower is better: cycles, or a rank (`rank_by`)."""

    def fits(self, workload: W, choices: Choices, machine: AcceleratorTarget) -> Bools:
        usage = self.usage(workload, choices)
        found = [used <= machine.config.depth(memory) for memory, used in usage.items()]
        return np.logical_and.reduce(found)

    def no_fit_reason(self, workload: W, choices: Choices, machine: AcceleratorTarget) -> str:
        config = machine.config
        usage = self.usage(workload, choices)
        excess = sum(np.maximum(0, used - config.depth(each)) for each, used in usage.items())
        least = int(np.argmin(excess))
        limits = [
            _shortage(config, memory, int(used[least]))
            for memory, used in usage.items()
            if used[least] > config.depth(memory)
        ]
        return f"{config.name} is too small for the smallest tiles: {', and '.join(limits)}"

    def minimum_traffic(self, workload: W) -> Mapping[str, Fraction]:
        """The minimum fraction of each operand to transfer; 1 for operands not in the mapping."""
        return {}

    def macs(self, found: KernelMatch) -> int:
        """Useful multiply-accumulates: each pixel of the result times all weights, if there are
        any."""
        if "weight" not in found.match.operands:
            return 0
        images, _, *pixels = found.result_shape
        return useful_weights(found.match.constant("weight").array) * images * prod(pixels)

    def layout(
        self, match: Match, name: str, shapes: Shapes, machine: AcceleratorTarget
    ) -> Layout | None:
        """Blocks of channels, in planes of bytes if the result is wider than a byte."""
        config = machine.config
        block = config.block_in if name == self.array_operand else config.block_out
        rows = len(shapes(match.name if name == RESULT else match.variable(name))) == 2
        layout = (row_blocks if rows else image_blocks)(config.batch, block)
        return layout.in_planes() if name == RESULT and self.leaves_in_bytes else layout


def _shortage(config: HardwareConfig, memory: MemoryId, needed: int) -> str:
    """What a memory lacks, and the field of the configuration that would help."""
    depth, field = config.depth(memory), f"log_{memory.name.lower()}_buffer"
    # Depths are powers of two.
    enough = getattr(config, field) + (needed - 1).bit_length() - (depth - 1).bit_length()
    return (
        f"{memory.name} has {depth:,} elements and they take {needed:,}, for which {field} would "
        f"have to be {enough}"
    )


@lru_cache(maxsize=64)
def _open(
    template: AcceleratorTemplate[W], workload: W, machine: AcceleratorTarget
) -> tuple[Schedule, OpenTrace]:
    """The initial schedule and the trace of a workload, kept: tuners replay them for each
    choice."""
    return template.start(workload, machine), template.sketch(workload, machine)
