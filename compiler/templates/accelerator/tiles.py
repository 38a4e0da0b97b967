"""Tiles of an output's channels and pixels, for operators whose work lies in ACC alone."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar, Protocol, TypeVar

import numpy as np

from compiler.ir.dtypes import INT8, DType
from compiler.target import AcceleratorTarget
from compiler.te.schedule import Sketch
from compiler.templates.accelerator.demand import (
    Demand,
    Output,
    Sums,
    copies,
    cut,
    kernel_length,
    repeated,
    tile_count,
)
from compiler.templates.accelerator.epilogue import AluPass, Epilogue
from compiler.templates.accelerator.machine_cost import MachineCost
from compiler.templates.accelerator.sharing import (
    operand_accumulators,
    residency,
    shared,
    stays,
    tiled,
    unusual,
)
from compiler.templates.accelerator.template import AcceleratorTemplate
from compiler.templates.space import Choices, Floats, Ints, Space, factors, ranked
from hw.topology import MemoryId

__all__ = ["ImageWorkload", "TiledOnAlu", "TiledWorkload"]


class TiledWorkload(Hashable, Protocol):
    """A workload whose output is [N, C, H, W, B, L].

    Attributes
    ----------
    data, dtype
        What it reads in DRAM, in the same layout.
    """

    @property
    def data(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> DType: ...

    @property
    def epilogue(self) -> Epilogue:
        """What comes last."""

    @property
    def extents(self) -> dict[str, int]:
        """Of the output: oc, y and x."""

    def under(self, y: Ints, x: Ints) -> tuple[Ints, Ints]:
        """Rows and columns that a tile of so many loads, at most."""

    def seen(self, y: Ints, x: Ints) -> Ints:
        """Elements that all tiles of so many rows and columns load, for a block of channels."""


W = TypeVar("W", bound=TiledWorkload)


@dataclass(frozen=True, slots=True)
class ImageWorkload:
    """Packed images, and passes that come last.

    Attributes
    ----------
    data
        Shape: [N, C, H, W, B, L], in blocks of output channels.
    """

    data: tuple[int, ...]
    passes: tuple[AluPass, ...]

    @property
    def epilogue(self) -> Epilogue:
        """The passes."""
        return Epilogue(self.passes)

    @property
    def extents(self) -> dict[str, int]:
        """Blocks of channels, rows and columns of the images."""
        return dict(zip(("oc", "y", "x"), self.data[1:4], strict=True))


class TiledOnAlu(AcceleratorTemplate[W]):
    """An operator on the ALU, tile by tile of its output.

    Attributes
    ----------
    kept
        Accumulators for each element of a tile, beside those that are loaded and the operands of
        passes.
    """

    kept: ClassVar[int] = 0

    def sums(self, workload: W) -> Sums:
        """What is computed before the epilogue: nothing."""
        return Sums()

    def space(self, workload: W, machine: AcceleratorTarget) -> Space:
        sizes = {axis: factors(extent) for axis, extent in workload.extents.items()}
        along = tuple(workload.extents)
        resident = residency(workload.epilogue)
        return Space({"threads": (2, 1), "along": along, **sizes, **resident})

    def tiled(self) -> Sketch:
        """::

        for n, oc, y, x, b, bo: ...   ->   for n, oc_o, y_o, x_o:
                                             for thread:
                                               for oc_i, y_i, x_i, b, bo: ...
        """
        axes, inner = ("oc", "y", "x"), ("thread", "oc_i", "y_i", "x_i", "b", "bo")
        return tiled(axes, axes, ("n", "oc_o", "y_o", "x_o", *inner))

    def usage(self, workload: W, choices: Choices) -> dict[MemoryId, Ints]:
        choices = choices.at_most(workload.extents)
        oc, y, x = (choices[axis] for axis in ("oc", "y", "x"))
        epilogue = workload.epilogue
        block = prod(workload.under(y, x)) + (self.kept + epilogue.element_operands) * y * x
        operands = operand_accumulators(choices, epilogue, workload.extents["oc"])
        return {MemoryId.ACC: choices["threads"] * oc * block + operands}

    def demand(self, workload: W, choices: Choices) -> Demand:
        whole, sums = workload.data[:4], self.sums(workload)
        extents = (whole[0], *workload.extents.values())
        sizes = [choices[axis] for axis in ("oc", "y", "x")]
        one = np.ones_like(sizes[0])
        again = repeated(choices, workload.extents) if sums.steps else np.ones(len(choices))
        boxes = (
            (count, (n, oc, *workload.under(y, x)))
            for count, (n, oc, y, x) in cut(extents, (one, *sizes))
        )
        memory = MemoryId.ACC_8BIT if workload.dtype == INT8 else MemoryId.ACC
        loads = copies(memory, boxes, whole, None if sums.steps else (one, *sizes))
        elements = prod(extents[:2]) * workload.seen(*sizes[1:]).astype(np.float64)
        return Demand.of(
            Output(extents, (one, *sizes)),
            workload.epilogue,
            stays(choices),
            (replace(loads, elements=elements).times(again),),
            again,
            kernel_length(*sizes, *sums.loops),
            sums,
        )

    def estimate(self, workload: W, choices: Choices, cost: MachineCost) -> Floats:
        """The fewest loads, then the fewest tiles, then the longest rows."""
        extents = workload.extents
        height, width = extents["y"], extents["x"]
        parts = cut((height, width), (choices["y"], choices["x"]))
        traffic = sum(count * prod(workload.under(*sizes)) for count, sizes in parts)
        return ranked(
            *shared(choices, extents),
            unusual(choices, workload.epilogue, extents["oc"], cost.config),
            np.asarray(traffic),
            tile_count(choices, extents),
            -choices["x"],
        )
