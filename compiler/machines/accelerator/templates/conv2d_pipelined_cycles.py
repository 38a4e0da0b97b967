"""Estimated cycles of the choices of a convolution's wide space, and bounds of these estimates."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Final

import numpy as np

from tandem.compiler.machines.accelerator.templates.conv2d_pipelined import (
    image_extents,
    loads_of_tile,
    packs_rows,
    repeats,
    slots,
    taps,
)
from tandem.compiler.machines.accelerator.templates.conv2d_pipelined_simulation import (
    HANDOVER,
    ROUNDING,
    simulate,
)
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.tile_stages import AXES
from tandem.compiler.machines.accelerator.templates.work_counts import (
    kernel_length,
    loads_of_box,
)
from tandem.compiler.plan.space import Bools, Choices, Floats, Ints
from tandem.hw.timing import TRANSFER_OVERHEAD
from tandem.hw.topology import MemoryId


def estimate(workload: Conv2dWorkload, choices: Choices, cost: MachineCost) -> Floats:
    """Cycles of choices; infinite where micro-ops do not stay on chip, which is not modelled."""
    tiles = TileCycles.of(workload, choices, cost)
    cycles = PipelinedCycles.of(tiles, np.arange(len(choices)), choices)
    return cycles.simulated(np.arange(len(choices)), inf)


@dataclass(frozen=True, slots=True)
class Prices:
    """What to add to a choice's cycles, for what layers beside it do not see in its estimate.

    Attributes
    ----------
    product
        Cycles for each product: most other instructions come with one.
    bus
        Cycles for each cycle in which the bus is busy with loads and instructions.
    """

    product: float = 0.0
    bus: float = 0.0


FREE: Final = Prices()


@dataclass(frozen=True, slots=True, eq=False)
class TileCycles:
    """What the stages of tiles take, whatever the numbers of slots: cycles, a row for each choice.

    Attributes
    ----------
    choices
        The sizes of tiles, steps and parts, and the order of loops.
    durations
        Of the stages of a tile, [choices, 8, 2, 2]: a load of the image, the resets of a part, a
        product, the passes of a part, the load of a residual, a part's STOREs, the fetch of the
        instructions of a part's passes and STOREs, and those STOREs alone that have to begin before
        the queue takes the last one: what follows is not dispatched before. Index 1 is a whole tile
        along y or x, 0 the remainder at the end of the axis.
    of_weights
        Of a load of weights.
    product_fetch, first_fetch
        Of the fetch of a product's instructions, and of what the first one of a part has besides.
    operands
        Of the loads of the passes' operands for each channel, which compute does once.
    weights, image
        Of the bus, if each operand is loaded once.
    others
        Of the bus for all else: residuals, parameters, and instructions.
    rates
        Of compute for a pixel of a tile, at least: its resets, products and passes.
    rest
        From the start of compute, which micro-ops delay, to the end, at least.
    extra
        Added to what a choice takes: the price of its products.
    bus_price
        Also added, for each cycle of the bus.
    """

    workload: Conv2dWorkload
    choices: Choices
    cost: MachineCost
    durations: Ints
    of_weights: Ints
    product_fetch: int
    first_fetch: Ints
    operands: int
    weights: Ints
    image: Ints
    others: Ints
    rates: Floats
    rest: Floats
    extra: Floats
    bus_price: float

    @staticmethod
    def of(
        workload: Conv2dWorkload, choices: Choices, cost: MachineCost, prices: Prices = FREE
    ) -> TileCycles:
        """The stages of choices."""
        extents, durations = workload.extents, _durations(workload, choices, cost)
        image, resets, products, passes, residual, stores, fetch, _ = np.moveaxis(durations, 1, 0)
        loads, parts = loads_of_tile(workload, choices), choices["oc"] // choices["part"]
        of_weights = _load_of_weights(workload, choices, cost)
        # Resets are instructions of their own; so are first products, if they overwrite.
        terms = choices["ic"] * taps(workload, choices)
        first_fetch = cost.fetch * ((terms > 1) | (not cost.overwrites))
        channels = np.array(extents["oc"])
        operands = len(workload.epilogue.channel_operands) * cost.load(MemoryId.ACC, channels)
        outputs = -(-extents["oc"] // choices["oc"])
        number = tiles_of_kinds(workload, choices)
        images = workload.groups * (number * image).sum(axis=(1, 2))
        others = (number * (residual + parts[:, None, None] * fetch)).sum(axis=(1, 2))
        others = others + number.sum(axis=(1, 2)) * (
            parts * first_fetch
            + loads["weight_slots"] * cost.fetch
            + _of_parameters(workload, choices, cost)
        )
        sums = products * loads["weight_slots"][:, None, None]
        work = sums + (resets + passes) * parts[:, None, None]
        rates = (work / _pixels(workload, choices)).min(axis=(1, 2))
        volume = workload.data[0] * outputs * extents["y"] * extents["x"]
        # Of the first tile, resets come before the first loads end, and products after.
        first = image.min(axis=(1, 2)) + of_weights + HANDOVER - cost.overhead
        first = np.maximum(0, first - parts * resets.max(axis=(1, 2)))
        last = stores.min(axis=(1, 2)) + HANDOVER + cost.overhead
        return TileCycles(
            workload,
            choices,
            cost,
            durations,
            of_weights,
            cost.fetch,
            first_fetch,
            int(operands),
            weights=outputs * loads["weight_slots"] * of_weights,
            image=images * loads["image_slots"],
            others=outputs * others,
            rates=rates,
            rest=first + operands + volume * rates + last,
            extra=prices.product * products_of(workload, choices),
            bus_price=prices.bus,
        )

    def least(self) -> Floats:
        """Cycles that no numbers of slots bring an estimate below, without simulation; infinite
        where micro-ops never stay on chip."""
        loads = loads_of_tile(self.workload, self.choices)
        products = loads["weight_slots"] // loads["image_slots"]
        begin, stays = self.begin(np.arange(len(self.choices)), products)
        bounds = self.bound(begin, self.rest, self.weights + self.image + self.others)
        bounds = bounds + self.extra
        return np.where(stays, bounds, np.inf)

    def begin(self, which: Ints, kernels: Ints) -> tuple[Ints, Bools]:
        """When compute starts, and whether micro-ops stay on chip.

        Parameters
        ----------
        which
            Rows of tiles.
        kernels
            For each of these, the number of products with micro-ops of their own.
        """
        choices, cost = self.choices, self.cost
        names = ("part", "y", "x", "ic", "ky")
        length = kernel_length(*(choices[name] for name in names), self.workload.weight[3])
        elements = kernels * length[which]
        ahead = 2 * cost.config.fetch_buffer * cost.memory.interval
        stays: Bools = elements <= cost.config.depth(MemoryId.UOP)
        return ahead + cost.load(MemoryId.UOP, elements), stays

    @staticmethod
    def bound(begin: Ints, rest: Floats, loading: Ints) -> Floats:
        """Cycles that no estimate is below."""
        return np.maximum(begin + rest - ROUNDING, loading)


@dataclass(frozen=True, slots=True, eq=False)
class PipelinedCycles:
    """Approximate cycles of choices, from launch to done.

    Attributes
    ----------
    which
        The row of each choice's tile.
    begin
        When compute starts.
    loading
        Cycles in which the bus is busy with loads and instructions, which no estimate is below.
    stays
        Whether the micro-ops of all slots stay on chip.
    """

    tiles: TileCycles
    which: Ints
    choices: Choices
    begin: Ints
    loading: Ints
    stays: Bools

    @staticmethod
    def of(tiles: TileCycles, which: Ints, choices: Choices) -> PipelinedCycles:
        """Choices, of the tiles of these rows."""
        workload = tiles.workload
        loads, taken = loads_of_tile(workload, choices), slots(workload, choices)
        products = loads["weight_slots"] // loads["image_slots"]
        # Each pair of slots has a kernel of its own.
        pairs = np.lcm(taken["weight_slots"], taken["image_slots"] * products) * taken["sum_slots"]
        outputs = -(-workload.extents["oc"] // choices["oc"])
        several = outputs * tiles_of_pixels(workload, choices) * loads["weight_slots"]
        begin, stays = tiles.begin(which, np.minimum(pairs, several))
        # An extrapolated program may load operands later that stayed in the simulated tiles.
        of_weights, of_image = repeats(workload, choices)
        loading = of_weights * tiles.weights[which] + of_image * tiles.image[which]
        loading = loading + tiles.others[which]
        return PipelinedCycles(tiles, which, choices, begin, loading, stays)

    @property
    def extra(self) -> Floats:
        """What is added to the cycles of each choice, by its prices."""
        return self.tiles.extra[self.which] + self.tiles.bus_price * self.loading

    def least(self) -> Floats:
        """Cycles that estimates are not below, without simulation; infinite where those are."""
        bounds = self.tiles.bound(self.begin, self.tiles.rest[self.which], self.loading)
        return np.where(self.stays, bounds + self.extra, np.inf)

    def simulated(self, rows: Ints, limit: float) -> Floats:
        """Cycles of some choices, by row.

        Parameters
        ----------
        limit
            If it is finite, cycles above it are infinite, and so are those above the cycles of a
            choice before.
        """
        tiles, workload, extents = self.tiles, self.tiles.workload, self.tiles.workload.extents
        choices, which = self.choices.where(rows), self.which[rows]
        loads, taken = loads_of_tile(workload, choices), slots(workload, choices)
        of_weights, of_image = repeats(workload, choices)
        readers = workload.blocks_per_group // choices["oc"]
        pixels = tiles_of_pixels(workload, choices)
        numbers = (
            self.begin[rows],
            loads["image_slots"],
            choices["oc"] // choices["part"],
            -(-extents["oc"] // choices["oc"]),
            choices["y"],
            choices["x"],
            choices.equals("order", "outputs"),
            taken["image_slots"],
            taken["weight_slots"],
            taken["sum_slots"],
            # Operands that are loaded once for the inner loops stay.
            of_image < readers,
            of_weights < pixels * workload.data[0],
            tiles.of_weights[which],
            self.begin[rows] - tiles.cost.overhead,
            workload.weight[2] // choices["ky"],
            np.full(len(rows), tiles.operands),
            readers,
            _of_parameters(workload, choices, tiles.cost),
            np.full(len(rows), tiles.product_fetch),
            tiles.first_fetch[which],
        )
        found = np.full(len(rows), np.inf)
        simulate(
            found,
            np.ascontiguousarray(np.stack(numbers, axis=1), np.int64),
            tiles.durations,
            self.loading[rows].astype(np.float64),
            tiles.rates,
            which,
            self.extra[rows],
            np.array([limit]),
            workload.data[0],
            extents["y"],
            extents["x"],
            tiles.cost.overhead,
            np.zeros((2, int(taken["image_slots"].max(initial=1))), np.int64),
            np.zeros((2, int(taken["weight_slots"].max(initial=1))), np.int64),
            np.zeros((int(numbers[9].max(initial=1)), int(numbers[2].max(initial=1))), np.int64),
        )
        return np.where(self.stays[rows], found, np.inf)


def products_of(workload: Conv2dWorkload, choices: Choices) -> Floats:
    """The number of products of each choice: most other instructions come with one."""
    outputs = -(-workload.extents["oc"] // choices["oc"])
    tiles = workload.data[0] * outputs * tiles_of_pixels(workload, choices)
    products = tiles * loads_of_tile(workload, choices)["weight_slots"]
    return products.astype(np.float64)


def tiles_of_kinds(workload: Conv2dWorkload, choices: Choices) -> Ints:
    """The number of tiles of all images, for a block of outputs: [choices, 2, 2], of which index 1
    is a whole tile along y or x, 0 the one at the end of the axis."""
    y, x = (-(-workload.extents[axis] // choices[axis]) for axis in ("y", "x"))
    ones = np.ones_like(y)
    down, across = np.stack([ones, y - 1], axis=1), np.stack([ones, x - 1], axis=1)
    found: Ints = workload.data[0] * down[:, :, None] * across[:, None, :]
    return found


def tiles_of_pixels(workload: Conv2dWorkload, choices: Choices) -> Ints:
    """The number of tiles along y and x."""
    y, x = (-(-workload.extents[axis] // choices[axis]) for axis in ("y", "x"))
    return np.asarray(y * x)


def _of_parameters(workload: Conv2dWorkload, choices: Choices, cost: MachineCost) -> Ints:
    """Cycles of the load of a tile's parameters; 0 where those of all channels stay on chip."""
    requantise = workload.epilogue.requantise
    if requantise is None or requantise.resident:
        return np.zeros(len(choices), np.int64)
    return cost.load(MemoryId.PAR, choices["oc"])


def _durations(workload: Conv2dWorkload, choices: Choices, cost: MachineCost) -> Ints:
    """`TileCycles.durations`."""
    epilogue = workload.epilogue
    ic, part, oc = (choices[name][:, None, None] for name in ("ic", "part", "oc"))
    y = _remainder_and_whole(workload.extents["y"], choices["y"])[:, :, None]
    x = _remainder_and_whole(workload.extents["x"], choices["x"])[:, None, :]
    pixels: Ints = y * x
    size = part * pixels
    rows, columns = image_extents(workload, y, x)
    inside = _inside(workload, 0, rows, choices["y"])[:, :, None]
    inside = inside * _inside(workload, 1, columns, choices["x"])[:, None, :]
    result = workload.in_dram(workload.data[0], *(workload.extents[axis] for axis in AXES))
    # Fetch comes before loads on the bus: a LOAD's own instruction, and those of compute.
    alone = load_overhead(cost) + cost.fetch
    if workload.channels_together:
        image = cost.load(MemoryId.INP, ic * inside) - cost.overhead + alone
        stored: Ints = pixels
        stores: Ints = pixels * (cost.store_gap + cost.beats(MemoryId.OUT, part))
    else:
        image = _image_loads(workload, choices, rows, columns) * alone
        # Rows of a narrower tile are as long as those of the others, with zeros behind.
        on_chip = rows * columns[:, :, 1:]
        image = image + ic * (cost.load(MemoryId.INP, inside, on_chip - inside) - cost.overhead)
        # Accumulators of a narrower tile at the edge have gaps between rows: each is a STORE.
        runs: Ints = np.where(x < x[:, :, 1:], y, 1)
        stored = part * runs
        stores = part * (runs * cost.store_gap + cost.beats(MemoryId.OUT, pixels))
    box = workload.in_dram(np.ones_like(pixels), oc, y, x)
    residuals = loads_of_box(box, result)
    passes = epilogue.tensor_passes * cost.alu(size, tensor_operand=True)
    passes = passes + (epilogue.immediate_passes + epilogue.input_operands) * size
    passes = passes + epilogue.element_operands * cost.load(MemoryId.ACC_8BIT, size)
    residual = residuals * alone + cost.load(MemoryId.INP, oc * y * x) - cost.overhead
    instructions = epilogue.tensor_passes + epilogue.immediate_passes + epilogue.input_operands
    if epilogue.requantise is not None:
        instructions += 1 + epilogue.input_operands
    found = np.empty((len(choices), 8, 2, 2), np.int64)
    found[:, 0] = image
    found[:, 1] = size * (not cost.overwrites)
    found[:, 2] = size * ic * taps(workload, choices)[:, None, None]
    found[:, 3] = passes
    found[:, 4] = epilogue.input_operands * residual
    found[:, 5] = stores
    found[:, 6] = cost.fetch * (stored + instructions)
    waiting = np.maximum(0, stored - cost.config.instruction_queue)
    found[:, 7] = stores * waiting // stored
    return found


def load_overhead(cost: MachineCost) -> int:
    """Cycles of a LOAD that follows another one, not counting its data (rule 5 of docs/timing.md):
    the fetch of instructions, for which `MachineCost` adds some cycles, is counted apart."""
    return cost.memory.latency + TRANSFER_OVERHEAD + 1 - cost.memory.interval


def _inside(workload: Conv2dWorkload, axis: int, reach: Ints, size: Ints) -> Ints:
    """Rows (axis 0) or columns (axis 1) of a tile's part of the image that are not padding,
    [choices, 2] as in `_remainder_and_whole`.

    Parameters
    ----------
    reach
        Those of the part with padding, [choices, 2, 1] or [choices, 1, 2].
    """
    reach, extent = reach.reshape(-1, 2), workload.data[2 + axis]
    found: Ints = np.minimum(reach, extent)
    if any(workload.padding):
        before = workload.windows[axis].before
        tiles = -(-workload.extents["yx"[axis]] // size)
        at = (tiles - 1) * size * workload.strides[axis] - before
        found[:, 0] = np.minimum(at + reach[:, 0], extent) - np.maximum(at, 0)
        # The first of two tiles is the only whole one.
        first = np.minimum(reach[:, 1] - before, extent)
        found[:, 1] = np.where(tiles == 2, first, found[:, 1])
    return np.maximum(found, 0)


def _load_of_weights(workload: Conv2dWorkload, choices: Choices, cost: MachineCost) -> Ints:
    """`TileCycles.of_weights`."""
    part, ic, kernel = choices["part"], choices["ic"], taps(workload, choices)
    loads = loads_of_box((part, ic, kernel), (*workload.weight[:2], workload.taps))
    found = cost.load(MemoryId.WGT, part * ic * kernel) - cost.overhead
    return np.asarray(found + loads * (load_overhead(cost) + cost.fetch))


def _image_loads(workload: Conv2dWorkload, choices: Choices, rows: Ints, columns: Ints) -> Ints:
    """LOADs of a part of the image, of `rows` by `columns`."""
    channels, height, width = workload.data[1:4]
    if packs_rows(workload):
        # Rows between those that windows read keep them apart.
        width += 1
    ic = choices["ic"][:, None, None]
    loads = loads_of_box((ic, rows, columns), (channels, height, width))
    return np.where(any(workload.padding), ic, loads)


def _pixels(workload: Conv2dWorkload, choices: Choices) -> Ints:
    """Pixels of a tile, [choices, 2, 2], as in `TileCycles.durations`."""
    y = _remainder_and_whole(workload.extents["y"], choices["y"])[:, :, None]
    x = _remainder_and_whole(workload.extents["x"], choices["x"])[:, None, :]
    return y * x


def _remainder_and_whole(extent: int, size: Ints) -> Ints:
    """The remainder of an axis, and a whole tile: [choices, 2]."""
    return np.stack([extent - (extent - 1) // size * size, size], axis=1)
