"""The base class of the accelerator's schedule templates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import ClassVar, TypeAlias, TypeVar

import numpy as np

from compiler.graph.attributes import Attributes
from compiler.graph.nodes import Let
from compiler.graph.operators.blocks import PackData, UnpackData
from compiler.graph.operators.shapes import Reshape
from compiler.machines.accelerator.machine import AcceleratorTarget
from compiler.machines.accelerator.templates.machine_cost import MachineCost
from compiler.machines.accelerator.templates.work_counts import WorkCounts
from compiler.plan.pattern import Match
from compiler.plan.schedule_template import KernelMatch, ScheduleTemplate
from compiler.plan.space import Bools, Choices, Floats, Ints
from compiler.te import Schedule
from compiler.te.knobs import Choice, OpenTrace
from hw.config import HardwareConfig
from hw.topology import MemoryId

W = TypeVar("W", bound=Hashable)
Shapes: TypeAlias = Callable[[str], tuple[int, ...]]
"""A function from the name of a value to its shape."""
RESULT = "out"
"""The name of a match's result, beside the names of its operands."""


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
        every: Bools = np.logical_and.reduce(found)
        return every

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
        return found.match.constant("weight").array.size * images * prod(pixels)

    def layout(self, match: Match, name: str, shapes: Shapes, machine: AcceleratorTarget) -> Layout:
        """The layout in DRAM of an operand, by its name in the pattern, or of the result, "out"."""
        config = machine.config
        block = config.block_in if name == self.array_operand else config.block_out
        shape = shapes(match.name if name == RESULT else match.variable(name))
        return blocks_of_channels(shape, PackData(config.batch, block))

    def repacked(
        self, match: Match, shapes: Shapes, machine: AcceleratorTarget
    ) -> HostPacking | None:
        """A better layout of the array's operand for a tensor that comes from the CPU, if any."""
        return None


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


@dataclass(frozen=True, slots=True)
class Layout:
    """A tensor's layout in DRAM, as unary operators from the tensor and back to it."""

    pack: tuple[tuple[str, Attributes], ...]
    unpack: tuple[tuple[str, Attributes], ...]


def blocks_of_channels(shape: tuple[int, ...], blocks: PackData) -> Layout:
    """The layout of images [N, C, H, W] in blocks, and of rows [N, C] as images of one pixel."""
    image = (*shape, 1, 1)[:4]
    pack: list[tuple[str, Attributes]] = [("pack_data", blocks)]
    unpack: list[tuple[str, Attributes]] = [("unpack_data", UnpackData(image))]
    if len(shape) == 2:
        pack.insert(0, ("reshape", Reshape(image)))
        unpack.append(("reshape", Reshape(shape)))
    return Layout(tuple(pack), tuple(unpack))


@dataclass(frozen=True, slots=True)
class HostPacking:
    """The array's operand in another layout, and the operator that reads this layout.

    Attributes
    ----------
    suffix
        Suffix of the packed tensor's name, after the operand's name.
    operator, attributes
        The packing operator and its attributes.
    shape
        Shape of the packed tensor when unpacked.
    first
        The match's first operator, applied to an operand of that shape.
    """

    suffix: str
    operator: str
    attributes: Attributes
    shape: tuple[int, ...]
    first: Let
