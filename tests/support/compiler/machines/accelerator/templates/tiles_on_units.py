"""A convolution's tiles as instructions one by one, each on its own unit: what `tile_pipeline`
simulates, in plain Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.tile_stages import StageCosts, TileCosts
from tandem.hw.topology import MemoryId

OUTER = {"outputs": 0, "weights": 1, "image": 2}
"""The loops around the load of what stays."""


def loops(order: str) -> tuple[str, ...]:
    return ("y", "x", "oc") if order == "image" else ("oc", "y", "x")


@dataclass(frozen=True)
class Tile:
    """Blocks of channels, rows and columns of the output, of one thread."""

    oc: range
    y: range
    x: range
    whole: tuple[int, int, int]
    """Whether it is whole along each axis."""

    @property
    def blocks(self) -> int:
        return len(self.oc)

    @property
    def run(self) -> int:
        return len(self.y) * len(self.x)


@dataclass
class Units:
    """The units: when each is free; and when slots of data and sums are."""

    layer: Conv2dWorkload
    choice: dict[str, Any]
    cost: MachineCost
    stages: StageCosts
    tiles: TileCosts
    row: int

    def __post_init__(self) -> None:
        self.early = self.layer.epilogue.requantise is not None
        self.fine = bool(self.stages.fine)
        self.compute, self.load = (int(each[self.row]) for each in self.tiles.begin)
        self.write = 0
        # By thread: the last use of its weights by block; of its image, and of that's first block;
        # its passes; by block, when the sums are stored.
        self.used: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        self.stored: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        self.image_used = defaultdict[int, int](int)
        self.first_used = defaultdict[int, int](int)
        self.passed = defaultdict[int, int](int)

    def table(self, name: str, tile: Tile) -> int:
        return int(getattr(self.tiles, name)[(self.row, *tile.whole)])

    def flag(self, name: str) -> bool:
        return bool(getattr(self.tiles, name)[self.row])

    # Loads ----------------------------------------------------------------------------------------

    def data(self, memory: MemoryId, elements: int) -> int:
        beats = -(-elements * self.cost.element_bytes(memory) // self.cost.config.bus_bytes)
        return max(elements, beats * self.cost.memory.interval)

    def loads(self, cycles: int, after: int = 0) -> int:
        """A LOAD, when what was in its place is used."""
        self.load = max(self.load, after) + self.stages.load + cycles
        return self.load

    def image(self, tile: Tile) -> tuple[int, int, int]:
        """Pixels that a tile reads, rows of them, and zeros around them that are written."""
        held, extents = [], []
        for axis, span in ((0, tile.y), (1, tile.x)):
            stride = self.layer.strides[axis]
            if axis == 0 and self.layer.taps == 1 and not self.fine:
                stride = 1
            reach = (self.layer.weight[2 + axis] - 1) * self.layer.dilation[axis] + 1
            low = span[0] * stride - self.layer.padding[axis]
            lines = range(low, low + (len(span) - 1) * stride + reach)
            inside = self.layer.data[2 + axis]
            within = len([each for each in lines if 0 <= each < inside])
            held.append(within if self.fine else min(len(lines), inside))
            extents.append(len(lines))
        pixels = held[0] * held[1]
        padding = 0 if self.fine else max(0, extents[0] * extents[1] - pixels)
        return pixels, held[0], padding

    def loads_image(self, tile: Tile, blocks: int, first_after: int, after: int) -> int:
        """All blocks of channels of a tile's image; returns when the first one is there."""
        pixels, rows, padding = self.image(tile)
        if not pixels:
            return self.load
        block = self.data(MemoryId.INP, pixels) + padding
        first = self.loads(block, first_after)
        if blocks > 1:
            self.load = max(self.load, after)
            if self.flag("image_loads") and (rows > 1 or not self.fine):
                for _ in range(blocks - 1):
                    self.loads(block)
            else:
                self.load += self.data(MemoryId.INP, pixels * blocks) - block
        return first

    # Programs -------------------------------------------------------------------------------------

    def groups(self) -> Iterator[tuple[bool, list[Tile]]]:
        """Tiles of all threads, and whether what stays is another one."""
        choice, extents = self.choice, self.layer.extents
        order, along, threads = loops(choice["order"]), choice["along"], choice["threads"]
        counts = {axis: -(-extents[axis] // choice[axis]) for axis in order}
        counts[along] = -(-counts[along] // threads)
        last = None
        for image, *at in product(range(self.layer.data[0]), *(range(counts[a]) for a in order)):
            kept = (image, *at[: OUTER[choice["order"]]])
            tiles = []
            for thread in range(threads):
                spans, whole = {}, {}
                for axis, number in zip(order, at, strict=True):
                    mine = number * threads + thread if axis == along else number
                    end = min((mine + 1) * choice[axis], extents[axis])
                    spans[axis] = range(mine * choice[axis], end)
                    whole[axis] = int(len(spans[axis]) == choice[axis])
                if all(spans.values()):
                    tiles.append(Tile(**spans, whole=(whole["oc"], whole["y"], whole["x"])))
            yield kept != last, tiles
            last = kept

    def begin_group(self, fresh: bool, tiles: list[Tile]) -> None:
        order, threads = self.choice["order"], range(self.choice["threads"])
        if fresh and order == "weights":
            blocks = range(tiles[0].blocks)
            latest = max(self.used[thread][block] for thread in threads for block in blocks)
            kernels = tiles[0].blocks * self.layer.weight[1] * self.layer.taps
            self.loads(self.data(MemoryId.WGT, kernels), latest)
        if fresh and order == "image":
            first = max(self.first_used[thread] for thread in threads)
            every = max(self.image_used[thread] for thread in threads)
            self.loads_image(tiles[0], self.layer.data[1], first, every)
        for tile in tiles:
            self.compute += self.table("before", tile)

    def group(self, tiles: list[Tile]) -> None:
        """Steps of the sums of one tile of each thread, and what follows."""
        order, ic, depth = self.choice["order"], self.choice["ic"], self.layer.weight[1]
        starts = range(0, depth, ic)
        for start in starts:
            blocks, last = min(ic, depth - start), start == starts[-1]
            begins, ready, wanted = {}, {}, dict.fromkeys(range(len(tiles)), 0)
            for thread, tile in enumerate(tiles):
                if order != "weights":
                    used = self.used[thread]
                    # A shorter step is loaded block by block.
                    several = self.fine and blocks == min(ic, depth)
                    after = max(used[each] for each in range(tile.blocks if several else 1))
                    kernels = tile.blocks * blocks * self.layer.taps
                    self.loads(self.data(MemoryId.WGT, kernels), after)
                begins[thread] = self.load
                if order != "image":
                    (groups,) = self.layer.spanned_groups(np.array([tile.blocks])).tolist()
                    free = self.first_used[thread], self.image_used[thread]
                    begins[thread] = self.loads_image(tile, blocks * groups, *free)
                ready[thread] = self.load
            for thread, tile in enumerate(tiles):
                if last and self.table("operands", tile):
                    self.load = max(self.load, self.passed[thread]) + self.table("operands", tile)
                    wanted[thread] = self.load
            for thread, tile in enumerate(tiles):
                begun = begins[thread], ready[thread], wanted[thread]
                self.products(thread, tile, blocks, start == 0, last, *begun)
        if not self.early:
            for thread, tile in enumerate(tiles):
                self.compute = max(self.compute, wanted[thread]) + self.table("passes", tile)
                self.passed[thread] = self.compute
                self.stores(thread, tile, range(tile.blocks))

    def products(
        self, thread: int, tile: Tile, blocks: int, first: bool, last: bool,
        begins: int, ready: int, wanted: int,
    ) -> None:  # fmt: skip
        taps, behind, early = self.layer.taps, self.stages.behind_products, self.early
        one, alone = self.flag("whole_tile"), self.fine and early and first and last
        resets = 0 if self.cost.overwrites else 1
        # The instructions: blocks of channels of each.
        parts = [[block] for block in range(tile.blocks)]
        if not self.fine or (one and last and early):
            parts = [[*range(tile.blocks)]]
        if first:
            if not alone or one:
                awaited = range(tile.blocks) if self.fine else [*self.stored[thread]]
                self.compute = max([self.compute, *(self.stored[thread][each] for each in awaited)])
            self.compute += resets * tile.blocks * tile.run
        overwrites = self.fine and first and not resets and blocks > 1
        unrolled = overwrites and self.flag("fits") and self.unrolls(tile, blocks)
        heads = (1 if unrolled else taps) if overwrites else 0
        tails = blocks * taps - heads
        # All products behind the first block's LOAD, and the rest of them behind all LOADs.
        behind_all = max(self.compute, ready)
        behind_first = max(self.compute, begins if overwrites else ready)
        self.first_used[thread] = behind_first + tile.blocks * tile.run * heads + behind
        for part in parts:
            pixels = len(part) * tile.run
            if alone and not one:
                free = self.stored[thread][part[0]] - resets * pixels
                behind_first, behind_all = max(behind_first, free), max(behind_all, free)
            behind_first += pixels * (heads + tails)
            behind_all += pixels * tails
            end = max(behind_first, behind_all)
            for block in part:
                self.used[thread][block] = end + behind
            if last and early:
                self.passed[thread] = end = max(end, wanted) + self.table("passes", tile)
                self.compute = end
                self.stores(thread, tile, part)
        self.image_used[thread] = max(behind_first, behind_all) + behind
        if last and early:
            self.compute = self.passed[thread] + self.table("after", tile)
        else:
            self.compute = max(behind_first, behind_all)
        if not overwrites or (unrolled and taps > 1):
            self.first_used[thread] = self.image_used[thread]

    def unrolls(self, tile: Tile, blocks: int) -> bool:
        """Whether two of the tile's axes are longer than the loop over channels, with which loops
        over taps are one where no pixels are between them."""
        tall, wide = self.layer.weight[2:4]
        if tall == 1 or len(tile.y) == 1:
            blocks *= tall * (wide if wide == 1 or len(tile.x) == 1 else 1)
        return sum(each > blocks for each in (tile.blocks, len(tile.y), len(tile.x))) >= 2

    def stores(self, thread: int, tile: Tile, part: Sequence[int]) -> None:
        """STOREs of blocks of channels; those of a bound have no gaps between them."""
        self.write = max(self.write, self.compute + self.stages.behind_results)
        size, bus = self.cost.element_bytes(MemoryId.OUT), self.cost.config.bus_bytes
        interval, begun = self.cost.memory.interval, self.write
        for number, block in enumerate(part, 1):
            if self.fine:
                beats = -(-number * tile.run * size // bus)
                self.write = begun + self.stages.store + beats * interval
            else:
                self.write += self.stages.store + -(-tile.run * size // bus) * interval
            self.stored[thread][block] = self.write + self.stages.acknowledged

    def cycles(self) -> float:
        """Cycles from launch to done."""
        steps = -(-self.layer.weight[1] // self.choice["ic"])
        most = max(4, self.stages.longest // (steps * self.choice["threads"]))
        volume, half = 0, (0, 0)
        for number, (fresh, tiles) in enumerate(self.groups()):
            if number == most:
                rate = (self.compute - half[0]) / (volume - half[1])
                extents = self.layer.extents
                total = self.layer.data[0] * extents["oc"] * extents["y"] * extents["x"]
                late = self.write + self.stages.acknowledged - self.stages.last - self.compute
                return self.compute + rate * (total - volume) + max(0, late) + self.stages.last
            self.begin_group(fresh, tiles)
            self.group(tiles)
            volume += sum(tile.blocks * tile.run for tile in tiles)
            if number + 1 == most // 2:
                half = self.compute, volume
        return max(self.compute + self.stages.last, self.write + self.stages.acknowledged)
