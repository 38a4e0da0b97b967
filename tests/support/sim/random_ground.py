"""Where the instructions of a random program read and write."""

from __future__ import annotations

import random

import numpy as np

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import MemoryId, MicroOp, pack_uops
from tandem.hw.operations import MAX_SHIFT
from tests.support.sim.random_modes import parameters, requantises
from tests.support.sim.reference import Image

PAGE = 4096


class Ground:
    """A window of each on-chip memory, from which programs read, and DRAM.

    DRAM has two parts that nothing overwrites: a table of micro-ops, and values that are small
    enough to shift by.

    Attributes
    ----------
    windows
        The elements that programs read.
    image
        DRAM, index == physical address.
    small
        The bytes of the small values.
    table
        The table, in micro-ops.
    parameters
        Parameters that make sense, in elements; none of a machine without REQUANTISE.
    """

    def __init__(
        self, config: HardwareConfig, rng: random.Random, seed: int, image_bytes: int
    ) -> None:
        self.config = config
        self.rng = rng
        self.windows = {
            memory: self._window(memory, most)
            for memory, most in ((MemoryId.INP, 96), (MemoryId.WGT, 16), (MemoryId.ACC, 64))
        }
        if requantises(config):
            self.windows[MemoryId.PAR] = self._window(MemoryId.PAR, 16)
        self.image: Image = np.random.default_rng(seed).integers(0, 256, image_bytes, np.uint8)
        self.small = self._put_small_values()
        self.table = self._put_micro_ops()
        self.parameters = self._put_parameters() if requantises(config) else range(0)

    @property
    def constants(self) -> tuple[range, ...]:
        """The bytes that nothing overwrites."""
        return self.small, range(4 * self.table.start, 4 * self.table.stop)

    def sram_base(self, memory: MemoryId, total: int) -> int:
        """An on-chip base: mostly in the window, else at the memory's end or anywhere."""
        space = self.config.depth(memory) - total
        places = [space, self.rng.randint(0, space)]
        window = self.windows.get(memory.written, range(1))
        places += [min(space, self.rng.choice(window)) for _ in range(4)]
        return self.rng.choice(places)

    def dram_place(
        self, memory: MemoryId, rows: int, columns: int, elements: range
    ) -> tuple[int, int]:
        """A base and a stride inside `elements`, often where a row crosses a page. Of codes, all
        that counts elements counts beats here."""
        most = (len(elements) - columns) // max(1, rows - 1)
        stride = self.rng.choice((columns, columns, 0, columns // 2, self.rng.randint(0, most)))
        stride = min(stride, most, 2 * columns + 9)
        last = elements.stop - (rows - 1) * stride - columns
        base = self.rng.choice((elements.start, last, self.rng.randint(elements.start, last)))
        if self.rng.random() < 0.4:
            page = PAGE * self.rng.randrange(1, len(self.image) // PAGE)
            crossing = page // self.config.dram_unit(memory) - self.rng.randint(0, columns)
            base = min(max(crossing, elements.start), last)
        return base, stride

    def _window(self, memory: MemoryId, most: int) -> range:
        """Part of an on-chip memory, often at one of its ends."""
        depth = self.config.depth(memory)
        length = min(depth, most)
        first = self.rng.choice((0, depth - length, self.rng.randint(0, depth - length)))
        return range(first, first + length)

    def _put_small_values(self) -> range:
        """Fill 16 accumulator elements of DRAM with -31..31; returns their byte range."""
        size = self.config.element_bytes(MemoryId.ACC)
        first = size * self.rng.randrange(len(self.image) // 2 // size - 16)
        values = [self.rng.randint(-MAX_SHIFT, MAX_SHIFT) for _ in range(4 * size)]
        self.image[first : first + 16 * size] = np.array(values, "<i4").view(np.uint8)
        return range(first, first + 16 * size)

    def _put_parameters(self) -> range:
        """Fill elements of DRAM with parameters that make sense; returns their range, in elements.

        STOREs may overwrite them.
        """
        window = self.windows[MemoryId.PAR]
        size = self.config.element_bytes(MemoryId.PAR)
        first = self.rng.randrange(len(self.image) // 4 * 3 // size, len(self.image) // size)
        count = min(2 * len(window), len(self.image) // size - first)
        made = parameters(self.rng, self.config, count)
        self.image[first * size : first * size + len(made)] = made
        return range(first, first + count)

    def _put_micro_ops(self) -> range:
        """Fill part of DRAM with micro-op kernels; returns their range, in micro-ops."""
        uops: list[MicroOp] = []
        wanted = min(self.config.depth(MemoryId.UOP), self.rng.randint(40, 120))
        while len(uops) < wanted:
            uops += self._kernel()
        words = np.frombuffer(pack_uops(self.config, uops), np.uint8)
        first = len(self.image) // 8 + self.rng.randrange(len(self.image) // 16)
        self.image[4 * first : 4 * first + len(words)] = words
        return range(first, first + len(uops))

    def _kernel(self) -> list[MicroOp]:
        """Micro-ops that lie close together or far apart, or hit one accumulator again and again.

        `src` is meant for INP or for ACC; a kernel that does not fit the use is not chosen for it.
        """
        source = self.windows[self.rng.choice((MemoryId.INP, MemoryId.ACC))]
        pick = {
            "dst": self._near(self.windows[MemoryId.ACC]),
            "src": self._near(source),
            "wgt": self._near(self.windows[MemoryId.WGT]),
        }
        return [
            MicroOp(**{name: self.rng.choice(near) for name, near in pick.items()})
            for _ in range(self.rng.choice((1, 1, 2, 5, 12)))
        ]

    def _near(self, window: range) -> range:
        span = self.rng.choice((1, 1, 2, 4, len(window)))
        span = min(span, len(window))
        first = self.rng.choice((0, 0, len(window) - span, self.rng.randint(0, len(window) - span)))
        return window[first : first + span]
