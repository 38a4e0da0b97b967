"""What choices of a product load and take on chip: counted without lowering."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Final

import numpy as np

from tandem.compiler.ir.buffer import Scope
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.sketches.product import ArrayProduct, box
from tandem.compiler.machines.accelerator.sketches.schedules import (
    IMAGE,
    PART,
    WEIGHT,
    kept_at,
    orders,
)
from tandem.compiler.machines.accelerator.sketches.spaces import ALL, loads_of_tile
from tandem.compiler.machines.accelerator.templates.work_counts import (
    TransferCounts,
    transfers_of,
)
from tandem.compiler.plan.space import Bools, Choices, Ints
from tandem.hw.topology import MemoryId

_SLOTS: Final = {IMAGE: "image_slots", WEIGHT: "weight_slots"}
"""The knobs of slots, by operand."""


@dataclass(frozen=True, eq=False)
class ProductCounts:
    """The counts of choices, all at once."""

    product: ArrayProduct
    choices: Choices

    # Sizes ----------------------------------------------------------------------------------------

    @cached_property
    def slotted(self) -> bool:
        """Whether the choices are of the schedule with slots."""
        return PART in self.choices.columns

    def _full(self, value: int) -> Ints:
        return np.full(len(self.choices), value, np.int64)

    @cached_property
    def tile(self) -> dict[str, Ints]:
        """The sizes of a whole tile, by the axes of the result but those of an accumulator."""
        return {
            axis: np.minimum(self.choices[axis], self.product.extents[axis])
            if axis in self.product.axes
            else self._full(self.product.extents[axis])
            for axis in self.product.inner
        }

    @cached_property
    def step(self) -> dict[str, Ints]:
        """The terms of a step, by axis."""
        return {
            axis: self.choices[axis]
            if axis in self.choices.columns
            else self._full(self.product.extents[axis])
            for axis in (self.product.steps, *self.product.taps)
        }

    @cached_property
    def tiles(self) -> dict[str, Ints]:
        """The number of tiles, by axis."""
        return {axis: -(-extent // self.tile[axis]) for axis, extent in self.product.axes.items()}

    @cached_property
    def threads(self) -> Ints:
        """The number of threads."""
        return self.choices["threads"]

    @cached_property
    def size(self) -> Ints:
        """The accumulators of a tile."""
        return np.asarray(prod(self.tile.values()))

    @cached_property
    def steps(self) -> Ints:
        """The steps of a tile."""
        axis = self.product.steps
        return -(-self.product.extents[axis] // self.step[axis])

    def stays(self, operand: str) -> Bools:
        """Whether an operand stays on chip for the whole sum, in choices that say so."""
        if "stays" in self.choices.columns:
            return self.choices.equals("stays", operand)
        return np.zeros(len(self.choices), np.bool_)

    # On chip --------------------------------------------------------------------------------------

    def _loaded(self, operand: str) -> list[Ints]:
        """The extents of what a LOAD brings of an operand, by its dimensions."""
        product = self.product
        name = product.sums.image if operand == IMAGE else product.sums.weight
        stays = self.stays(operand)
        kept, inside = kept_at(product)[operand], orders(product)[operand]
        sizes = {**self.tile, **self.step}
        if self.slotted and operand == IMAGE:
            sizes.update({axis: self._full(product.extents[axis]) for axis in product.taps})
        if self.slotted and operand == WEIGHT:
            sizes[self.part_axis] = self.choices[PART]
        # What threads share is loaded for all of them, where the operand stays.
        for axis in product.axes:
            shared = stays & self.choices.equals("along", axis)
            wide = np.minimum(sizes[axis] * self.threads, product.extents[axis])
            sizes[axis] = np.where(shared, wide, sizes[axis])
        if kept is None:
            inner = inside
        else:
            inner = inside[inside.index(kept) + 1 :]
        for axis in inner:
            sizes[axis] = np.where(stays, product.extents[axis], sizes[axis])
        return [
            np.minimum(sum(factor * (sizes[axis] - 1) for axis, factor in terms) + 1, extent)
            * np.ones(len(self.choices), np.int64)
            for terms, extent in box(product, name)
        ]

    def usage(self) -> dict[MemoryId, Ints]:
        """Elements of each memory that a choice takes."""
        product, threads = self.product, self.threads
        image, weight = (
            np.asarray(prod(self._loaded(operand))) * self.slots[operand]
            for operand in (IMAGE, WEIGHT)
        )
        sums = self.size
        if self.slotted:
            sums = sums * self.choices["sum_slots"]
        else:
            sums = sums * threads
        loads = sum(one.intrinsic is None for one in product.passes)
        found = {
            MemoryId.INP: image,
            MemoryId.WGT: weight,
            MemoryId.ACC: sums * (1 + loads),
        }
        for name, scope in self._operands().items():
            memory = {OnChip.ACC: MemoryId.ACC, OnChip.INP: MemoryId.INP, OnChip.PAR: MemoryId.PAR}
            where = memory[scope]
            elements = prod(product.buffer(name).shape[: -1 if scope == OnChip.PAR else -2])
            taken = self.size * threads if scope == OnChip.INP else self._full(elements)
            found[where] = found.get(where, self._full(0)) + taken
        return found

    def _operands(self) -> Mapping[str, Scope]:
        return {name: scope for one in self.product.passes for name, scope in one.inputs.items()}

    # Loads ----------------------------------------------------------------------------------------

    @cached_property
    def products(self) -> int:
        """The micro-ops of products."""
        return prod(
            extent
            for axis, extent in self.product.extents.items()
            if axis not in (*self.product.accumulator, self.product.sums.term)
        )

    @cached_property
    def slots(self) -> dict[str, Ints]:
        """The places of what is loaded, by operand: slots, or threads."""
        if not self.slotted:
            return {each: np.where(self.stays(each), 1, self.threads) for each in (IMAGE, WEIGHT)}
        loads = loads_of_tile(self.product, self.part_axis, self.choices)
        return {
            operand: np.where(self.choices[knob] == ALL, loads[knob], self.choices[knob])
            for operand, knob in _SLOTS.items()
        }

    @cached_property
    def part_axis(self) -> str:
        """The axis of parts, of the schedule with slots."""
        axis = self.product.weight_axis
        assert axis is not None, "there are slots"
        return axis

    def repeats(self, operand: str) -> Ints:
        """How many LOADs of boxes of an operand there are."""
        found, stays = self._full(1), self.stays(operand)
        kept, order = kept_at(self.product)[operand], orders(self.product)[operand]
        if self.slotted:
            return self._slotted_repeats(operand)
        for axis, count in self.tiles.items():
            outside = kept is not None and order.index(axis) <= order.index(kept)
            shared = self.choices.equals("along", axis)
            groups = np.where(shared, -(-count // self.threads), count)
            found = found * np.where(stays, groups if outside else 1, count)
        return found * np.where(stays, 1, self.steps)

    def _slotted_repeats(self, operand: str) -> Ints:
        """A box is not loaded again where its slot still has it: if the slots are those of a whole
        number of tiles, which take them in turn, and either the same tile or all that differ."""
        product = self.product
        of = product.of_image if operand == IMAGE else product.of_weight
        own, others = self._full(1), self._full(1)
        both = self._full(1)
        for axis, count in self.tiles.items():
            if axis in product.of_image and axis in product.of_weight:
                both = both * count
            elif axis in of:
                own = own * count
            else:
                others = others * count
        loads = loads_of_tile(product, self.part_axis, self.choices)[_SLOTS[operand]]
        slots = self.slots[operand]
        tiles = np.where(slots % loads == 0, slots // loads, 0)
        inner = self.choices.equals("order", "pixels" if operand == IMAGE else "outputs")
        same = (tiles > 0) & inner
        alone = (tiles > 0) & (tiles % own == 0)
        visits = np.where(
            same,
            own * np.minimum(tiles, others),
            np.where(alone, np.minimum(tiles, own * others), own * others),
        )
        return both * loads * visits

    @cached_property
    def products_of_tile(self) -> Ints:
        """The instructions of products of a tile."""
        if not self.slotted:
            return self.steps
        return loads_of_tile(self.product, self.part_axis, self.choices)["weight_slots"]

    def of_tile(self, operand: str) -> Ints:
        """The LOADs of an operand for a tile that finds nothing of it on chip."""
        if self.slotted:
            return loads_of_tile(self.product, self.part_axis, self.choices)[_SLOTS[operand]]
        return np.where(self.stays(operand), 1, self.steps)

    def loads(self, operand: str) -> TransferCounts:
        """One LOAD of a whole box of an operand."""
        product = self.product
        name = product.sums.image if operand == IMAGE else product.sums.weight
        memory = MemoryId.INP if operand == IMAGE else MemoryId.WGT
        sizes, whole = self._loaded(operand), [extent for _, extent in box(product, name)]
        return transfers_of(memory, [(self._full(1), sizes)], whole)
