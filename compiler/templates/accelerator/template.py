"""Schedule templates of the accelerator: what they say beside what every template says."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import ClassVar, TypeAlias, TypeVar

import numpy as np

from compiler.graph.attributes import Attributes
from compiler.graph.nodes import Let
from compiler.target import AcceleratorTarget
from compiler.te import Schedule
from compiler.te.knobs import Choice, OpenTrace
from compiler.templates.accelerator.demand import Demand
from compiler.templates.accelerator.machine_cost import MachineCost
from compiler.templates.pattern import Match
from compiler.templates.space import Bools, Choices, Floats, Ints
from compiler.templates.template import KernelMatch, ScheduleTemplate
from hw.topology import MemoryId

__all__ = ["AcceleratorTemplate", "Repacked", "Shapes"]

W = TypeVar("W", bound=Hashable)
Shapes: TypeAlias = Callable[[str], tuple[int, ...]]
"""The shapes of values, by name."""


class AcceleratorTemplate(ScheduleTemplate[W, AcceleratorTarget]):
    """An operator on the accelerator.

    Attributes
    ----------
    array_operand
        The operand that the array reads, in blocks of input channels; all else is in blocks of
        output channels.
    leaves_in_bytes
        The result is wider than what a STORE writes: it comes as planes of bytes.
    """

    array_operand: ClassVar[str] = ""
    leaves_in_bytes: ClassVar[bool] = False

    @abstractmethod
    def start(self, workload: W, machine: AcceleratorTarget) -> Schedule:
        """The tensor expressions in blocks, before any primitive; the output is called `out`."""

    @abstractmethod
    def sketch(self, workload: W, machine: AcceleratorTarget) -> OpenTrace:
        """The primitives, with the knobs open."""

    def schedule(self, workload: W, choice: Choice, machine: AcceleratorTarget) -> Schedule:
        return self.start(workload, machine).replay(self.sketch(workload, machine), choice)

    @abstractmethod
    def usage(self, workload: W, choices: Choices) -> Mapping[MemoryId, Ints]:
        """Elements that a choice takes of each memory, of all threads together."""

    @abstractmethod
    def demand(self, workload: W, choices: Choices) -> Demand:
        """What the programs of choices move and compute."""

    @abstractmethod
    def estimate(self, workload: W, choices: Choices, cost: MachineCost) -> Floats:
        """What a choice costs: the least is best. Cycles, or numbers in their order (`ranked`)."""

    def fits(self, workload: W, choices: Choices, machine: AcceleratorTarget) -> Bools:
        usage = self.usage(workload, choices)
        found = [used <= machine.config.depth(memory) for memory, used in usage.items()]
        every: Bools = np.logical_and.reduce(found)
        return every

    def lacking(self, workload: W, choices: Choices, machine: AcceleratorTarget) -> str:
        config = machine.config
        usage = self.usage(workload, choices)
        excess = sum(np.maximum(0, used - config.depth(each)) for each, used in usage.items())
        least = int(np.argmin(excess))
        limits = [
            f"{memory.name} has {config.depth(memory):,} elements and they take {used[least]:,}"
            for memory, used in usage.items()
            if used[least] > config.depth(memory)
        ]
        return f"{config.name} is too small for the smallest tiles: {'; '.join(limits)}"

    def shortlist(self, workload: W, choices: Choices, cost: MachineCost) -> Choices:
        """Those that are worth an estimate."""
        return choices

    def needed(self, workload: W) -> Mapping[str, Fraction]:
        """The parts of operands that the result needs; of those that are not named, all."""
        return {}

    def macs(self, found: KernelMatch) -> int:
        """Useful multiply-accumulates: every pixel of the result meets all weights, if there are
        any."""
        if "weight" not in found.match.operands:
            return 0
        images, _, *pixels = found.result_shape
        return found.match.constant("weight").array.size * images * prod(pixels)

    def repacked(self, match: Match, shapes: Shapes, machine: AcceleratorTarget) -> Repacked | None:
        """Another layout of the array's operand, where that is better for a tensor that comes from
        the CPU; None where it is not."""
        return None


@dataclass(frozen=True, slots=True)
class Repacked:
    """The array's operand in another layout, and the operator that reads it so.

    Attributes
    ----------
    stem
        What the packed tensor is called after its operand's name.
    operator, attributes
        What packs it.
    shape
        The packed tensor's, out of its blocks.
    first
        The match's first operator, of the operand in that shape.
    """

    stem: str
    operator: str
    attributes: Attributes
    shape: tuple[int, ...]
    first: Let
