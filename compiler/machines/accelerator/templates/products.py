"""Dense layers as convolutions of 1x1.

In DRAM the rows of a matrix are images of one pixel. In tiles they are the pixels of one image,
along an axis `n`: so a dense layer's choices are those of that convolution, by other names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.graph.constant import Constant
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.machines.accelerator.templates.conv2d_tiled import loads, sum_in_steps
from tandem.compiler.machines.accelerator.templates.conv2d_workload import (
    Conv2dWorkload,
    RowsWorkload,
)
from tandem.compiler.machines.accelerator.templates.epilogue import Epilogue, EpiloguePass
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.packing import pack_weight
from tandem.compiler.machines.accelerator.templates.tiling import sharing_rank, tile_space
from tandem.compiler.machines.accelerator.templates.work_counts import tile_count
from tandem.compiler.plan.pattern import Apply, Operand
from tandem.compiler.plan.record_fields import UNLESS_NONE
from tandem.compiler.plan.schedule_template import KernelMatch
from tandem.compiler.plan.space import Bools, Choices, Floats, Space, rank_by
from tandem.compiler.te.knobs import Choice, Setting
from tandem.compiler.te.schedule import Sketch
from tandem.hw.codings import Coding
from tandem.hw.config import HardwareConfig

PRODUCT = Apply("dense", (Operand("data", INT8, (2,)), Operand("weight", INT8, constant=True)))

SHARED = ("oc", "n")
"""Axes whose tiles threads may share, in the order of preference."""

_OF_CONVOLUTION: Mapping[Setting, str] = {"n": "x", "rows": "pixels", "data_slots": "image_slots"}
"""Knobs and settings of dense layers, and what they are called for convolutions."""
_OF_DENSE: Mapping[Setting, str] = {"x": "n", "pixels": "rows", "image_slots": "data_slots"}
_ONE = ("y", "ky")
"""Knobs that have one setting for dense layers."""


@dataclass(frozen=True, slots=True)
class Products:
    """int8[N, IC, B, K] times the transposed int8[OC, IC, L, K], to int32[N, OC, B, L].

    The fields are those of records; `coding` is how the weights lie in DRAM, None for int8.
    """

    rows: int
    outputs: int
    inputs: int
    batch: int
    lanes: int
    depth: int
    coding: Coding | None = field(default=None, metadata=UNLESS_NONE)

    @staticmethod
    def of(found: KernelMatch, config: HardwareConfig, coding: Coding | None) -> Products:
        """The workload of a match of `PRODUCT`; `coding` is that of the weights."""
        rows, inputs, *_, batch, depth = found.shape("data")
        outputs = -(-found.match.constant("weight").array.shape[0] // config.block_out)
        return Products(rows, outputs, inputs, batch, config.block_out, depth, coding)

    @staticmethod
    def weight(found: KernelMatch, config: HardwareConfig) -> NDArray[np.generic]:
        """The packed weight of a match of `PRODUCT`: int8[OC, IC, 1, 1, L, K]."""
        return pack_weight(found.match.constant("weight").array[:, :, None, None], config)

    @property
    def extents(self) -> dict[str, int]:
        """Loop extents: blocks of outputs, rows, and blocks of summed inputs."""
        return {"oc": self.outputs, "n": self.rows, "ic": self.inputs}

    def pixels(self, passes: tuple[EpiloguePass, ...] = ()) -> RowsWorkload:
        """The convolution over one image whose pixels are the rows: that of tiles and costs."""
        block = self.batch, self.lanes, self.depth
        return RowsWorkload.of(self.rows, self.inputs, self.outputs, block, passes, self.coding)

    def images(self, passes: tuple[EpiloguePass, ...] = ()) -> Conv2dWorkload:
        """The convolution over images of one pixel, one for each row: that of tensors."""
        data = (self.rows, self.inputs, 1, 1, self.batch, self.depth)
        weight = (self.outputs, self.inputs, 1, 1, self.lanes, self.depth)
        return Conv2dWorkload(data, weight, (1, 1), (0,) * 4, (1, 1), 1, passes, self.coding)


def of_convolution(choices: Choices) -> Choices:
    """Choices of a dense layer as choices of its convolution over pixels."""
    one = np.ones(len(choices), np.int64)
    columns = {_OF_CONVOLUTION.get(name, name): column for name, column in choices.columns.items()}
    settings = {
        name: tuple(_OF_CONVOLUTION.get(setting, setting) for setting in words)
        for name, words in {"order": ("outputs",), **choices.settings}.items()
    }
    return Choices({"order": 0 * one, "y": one, "ky": one, **columns}, settings)


def of_dense(space: Space) -> Space:
    """The space of a dense layer from that of its convolution over pixels."""
    knobs = {
        _OF_DENSE.get(name, name): tuple(_OF_DENSE.get(setting, setting) for setting in settings)
        for name, settings in space.knobs.items()
        if name not in _ONE
    }
    return replace(
        space, knobs=knobs, constraint=lambda choices: space.constraint(of_convolution(choices))
    )


def choice_of_dense(choice: Choice) -> dict[str, Setting]:
    """The choice of a dense layer that is this one of its convolution over pixels."""
    return {
        _OF_DENSE.get(name, name): _OF_DENSE.get(setting, setting)
        for name, setting in choice.items()
        if name not in _ONE
    }


def product_space(products: Products, epilogue: Epilogue) -> Space:
    """The knobs: sizes of an output tile and of a step of the sum, in blocks."""
    extents = {"n": products.rows, "oc": products.outputs, "ic": products.inputs}
    return tile_space(SHARED, extents, epilogue)


def sum_of_loaded(steps: Sketch, *operands: tuple[str, Scope]) -> Sketch:
    """Splits the sum into steps; each step loads its operands in the order of `operands`."""
    steps = sum_in_steps(steps)
    for name, scope in operands:
        copy = f"out_{name}"
        steps = steps.cache_read(name, ("out_sum",), scope, copy)
        steps = steps.compute_at(copy, "out_sum", "ic_o")
    return steps


def product_rank(products: Products, choices: Choices, cost: MachineCost, *before: Bools) -> Floats:
    """Ranks by how threads share tiles, by `before`, by bytes loaded from DRAM, then by the number
    of tiles."""
    transfers = loads(products.pixels(), of_convolution(choices))
    traffic = sum(each.elements * cost.element_bytes(each.memory) for each in transfers)
    tiles = tile_count(choices, products.extents)
    return rank_by(*sharing_rank(choices, products.extents), *before, np.asarray(traffic), tiles)


def largest_sum(weight: Constant) -> int:
    """The largest absolute value of a sum of products with any int8 data."""
    rows = np.abs(weight.array.astype(np.int64)).reshape(len(weight.array), -1)
    return max(1, int(rows.sum(axis=1).max())) * -int(INT8.low)
