"""Tiles of an output's channels and pixels, for operators whose work lies in ACC alone."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import ClassVar, Protocol, TypeVar

import numpy as np

from compiler.target import AcceleratorTarget
from compiler.te.knobs import knob
from compiler.te.schedule import Sketch
from compiler.templates.accelerator.epilogue import Epilogue
from compiler.templates.accelerator.machine_cost import MachineCost
from compiler.templates.accelerator.sharing import operand_accumulators, residency, shared, unusual
from compiler.templates.accelerator.template import AcceleratorTemplate
from compiler.templates.space import Choices, Floats, Ints, Space, factors, ranked
from hw.memories import MemoryId

__all__ = ["TiledOnAlu", "TiledWorkload"]


class TiledWorkload(Protocol):
    """A workload whose output is [N, C, H, W, B, L]."""

    @property
    def epilogue(self) -> Epilogue:
        """What comes last."""

    @property
    def extents(self) -> dict[str, int]:
        """Of the output: oc, y and x."""

    def loaded(self, y: Ints, x: Ints) -> Ints:
        """Elements that a tile of so many rows and columns loads, for a block of channels."""


class _Workload(TiledWorkload, Hashable, Protocol):
    pass


W = TypeVar("W", bound=_Workload)


class TiledOnAlu(AcceleratorTemplate[W]):
    """An operator on the ALU, tile by tile of its output.

    Attributes
    ----------
    kept
        Accumulators for each element of a tile, beside those that are loaded and the operands of
        passes.
    """

    kept: ClassVar[int] = 0

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
        axes = ("oc", "y", "x")
        steps = Sketch()
        for axis in axes:
            steps = steps.split("out", axis, knob(axis), (f"{axis}_o", f"{axis}_i"))
        outer = knob("along", {axis: f"{axis}_o" for axis in axes})
        names = knob("along", {axis: (f"{axis}_o", "thread") for axis in axes})
        inner = ("thread", "oc_i", "y_i", "x_i", "b", "bo")
        return (
            steps.split("out", outer, knob("threads"), names)
            .reorder("out", "n", "oc_o", "y_o", "x_o", *inner)
            .virtual_thread("out", "thread")
        )

    def usage(self, workload: W, choices: Choices) -> dict[MemoryId, Ints]:
        choices = choices.at_most(workload.extents)
        oc, y, x = (choices[axis] for axis in ("oc", "y", "x"))
        epilogue = workload.epilogue
        block = workload.loaded(y, x) + (self.kept + epilogue.element_operands) * y * x
        operands = operand_accumulators(choices, epilogue, workload.extents["oc"])
        return {MemoryId.ACC: choices["threads"] * oc * block + operands}

    def estimate(self, workload: W, choices: Choices, cost: MachineCost) -> Floats:
        """The fewest loads, then the fewest tiles, then the longest rows."""
        extents = workload.extents
        height, width = extents["y"], extents["x"]
        traffic = np.zeros(len(choices), np.int64)
        for tall, rows in _cut(height, choices["y"]):
            for wide, columns in _cut(width, choices["x"]):
                traffic += rows * columns * workload.loaded(tall, wide)
        tiles = np.ones(len(choices), np.int64)
        for axis, extent in extents.items():
            tiles = tiles * -(-extent // choices[axis])
        return ranked(
            *shared(choices, extents),
            unusual(choices, workload.epilogue, extents["oc"], cost.config),
            traffic,
            tiles,
            -choices["x"],
        )


def _cut(extent: int, size: Ints) -> Iterator[tuple[Ints, Ints]]:
    """The sizes of an axis' tiles, and how many there are of each."""
    yield size, extent // size
    rest = extent % size
    yield rest, (rest > 0).astype(rest.dtype)
