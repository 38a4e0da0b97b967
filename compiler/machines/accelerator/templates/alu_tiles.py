"""Base class of ALU operators, computed tile by tile, with all on-chip tensors in ACC or INP."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar, Protocol, TypeVar

import numpy as np

from tandem.compiler.ir.dtypes import INT8, DType
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates.epilogue import Epilogue, EpiloguePass
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.compiler.machines.accelerator.templates.tiling import (
    operand_accumulators,
    parameter_usage,
    resident_operands,
    sharing_rank,
    tile_output,
    tile_space,
    unusual_residency,
)
from tandem.compiler.machines.accelerator.templates.work_counts import (
    Output,
    ReductionWork,
    WorkCounts,
    kernel_length,
    thread_redundancy,
    tile_count,
    tile_shapes,
    transfers_of,
)
from tandem.compiler.plan.space import Choices, Floats, Ints, Space, rank_by
from tandem.compiler.te.schedule import Sketch
from tandem.hw.topology import MemoryId


class TiledWorkload(Hashable, Protocol):
    """A workload whose output is [N, C, H, W, B, L].

    Attributes
    ----------
    data, dtype
        Shape and type of the input in DRAM, in the same layout.
    from_inp
        Whether the input is loaded into INP, by the load unit; else into ACC.
    """

    @property
    def data(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def from_inp(self) -> bool: ...

    @property
    def epilogue(self) -> Epilogue:
        """The passes after the operator's own computation."""

    @property
    def extents(self) -> dict[str, int]:
        """Extents of the output: oc, y and x."""

    def input_tile(self, y: Ints, x: Ints) -> tuple[Ints, Ints]:
        """The most rows and columns of the input that an output tile of y rows, x columns loads."""

    def loaded_elements(self, y: Ints, x: Ints) -> Ints:
        """Elements of a channel block that all tiles of y rows and x columns load together."""


W = TypeVar("W", bound=TiledWorkload)


@dataclass(frozen=True, slots=True)
class ImageWorkload:
    """Packed images, and passes over the images or over reductions of them.

    Attributes
    ----------
    data
        Shape: [N, C, H, W, B, L], in blocks of output channels.
    """

    data: tuple[int, ...]
    passes: tuple[EpiloguePass, ...]

    @property
    def epilogue(self) -> Epilogue:
        """The passes as an epilogue."""
        return Epilogue(self.passes)

    @property
    def extents(self) -> dict[str, int]:
        """Blocks of channels, rows and columns of the images."""
        return dict(zip(("oc", "y", "x"), self.data[1:4], strict=True))


class TiledOnAlu(AcceleratorTemplate[W]):
    """A template of an operator on the ALU, computed tile by tile of the output.

    Attributes
    ----------
    result_accumulators
        Accumulators for each element of a tile, not counting data in ACC and pass operands.
    """

    result_accumulators: ClassVar[int] = 0

    def reduction_work(self, workload: W) -> ReductionWork:
        """The work of the reduction before the epilogue; by default no reduction."""
        return ReductionWork()

    def space(self, workload: W, machine: AcceleratorTarget) -> Space:
        return tile_space(tuple(workload.extents), workload.extents, workload.epilogue)

    def tile_output(self) -> Sketch:
        """Splits the output's loops into tiles that threads share::

        for n, oc, y, x, b, bo: ...   ->   for n, oc_o, y_o, x_o:
                                             for thread:
                                               for oc_i, y_i, x_i, b, bo: ...
        """
        axes, inner = ("oc", "y", "x"), ("thread", "oc_i", "y_i", "x_i", "b", "bo")
        return tile_output(axes, axes, ("n", "oc_o", "y_o", "x_o", *inner))

    def usage(self, workload: W, choices: Choices) -> dict[MemoryId, Ints]:
        choices = choices.at_most(workload.extents)
        oc, y, x = (choices[axis] for axis in ("oc", "y", "x"))
        epilogue, channels = workload.epilogue, workload.extents["oc"]
        image, size = prod(workload.input_tile(y, x)), y * x
        own, inputs = self.result_accumulators, epilogue.input_operands * size
        if workload.from_inp:
            own, inputs, image = max(1, own), inputs + image, np.zeros_like(size)
        own += epilogue.element_operands
        blocks = choices["threads"] * oc
        operands = operand_accumulators(choices, epilogue, channels)
        return {
            MemoryId.ACC: blocks * (image + own * size) + operands,
            **({MemoryId.INP: blocks * inputs} if np.any(inputs) else {}),
            **parameter_usage(epilogue, channels, blocks),
        }

    def work_counts(self, workload: W, choices: Choices) -> WorkCounts:
        whole, work = workload.data[:4], self.reduction_work(workload)
        extents = (whole[0], *workload.extents.values())
        sizes = [choices[axis] for axis in ("oc", "y", "x")]
        one = np.ones_like(sizes[0])
        redundancy = (
            thread_redundancy(choices, workload.extents) if work.steps else np.ones(len(choices))
        )
        boxes = (
            (count, (n, oc, *workload.input_tile(y, x)))
            for count, (n, oc, y, x) in tile_shapes(extents, (one, *sizes))
        )
        memory = MemoryId.ACC_8BIT if workload.dtype == INT8 else MemoryId.ACC
        memory = MemoryId.INP if workload.from_inp else memory
        loads = transfers_of(memory, boxes, whole, None if work.steps else (one, *sizes))
        elements = prod(extents[:2]) * workload.loaded_elements(*sizes[1:]).astype(np.float64)
        return WorkCounts.of(
            Output(extents, (one, *sizes)),
            workload.epilogue,
            resident_operands(choices),
            (replace(loads, elements=elements).times(redundancy),),
            redundancy,
            kernel_length(*sizes, *work.loops),
            work,
        )

    def estimate(self, workload: W, choices: Choices, cost: MachineCost) -> Floats:
        """Ranks by loaded elements, then by fewest tiles, then by longest rows."""
        extents = workload.extents
        height, width = extents["y"], extents["x"]
        parts = tile_shapes((height, width), (choices["y"], choices["x"]))
        traffic = sum(count * prod(workload.input_tile(*sizes)) for count, sizes in parts)
        return rank_by(
            *sharing_rank(choices, extents),
            unusual_residency(choices, workload.epilogue, extents["oc"], cost.config),
            np.asarray(traffic),
            tile_count(choices, extents),
            -choices["x"],
        )
