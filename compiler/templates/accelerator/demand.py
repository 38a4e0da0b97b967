"""What programs move and compute, for many choices at once: counted, not lowered.

Tiles of an axis are of two sizes, whole ones and the rest at its end; every number here is a sum
over them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import TypeAlias

import numpy as np

from compiler.ir.dtypes import INT8
from compiler.operators.window import Window
from compiler.templates.accelerator.epilogue import Epilogue
from compiler.templates.space import Bools, Choices, Floats, Ints
from hw.topology import MemoryId

__all__ = [
    "Boxes",
    "Copies",
    "Demand",
    "Output",
    "Sums",
    "copies",
    "cut",
    "kernel_length",
    "repeated",
    "seen",
    "tile_count",
]

Boxes: TypeAlias = Iterable[tuple[Ints | Floats, Sequence[Ints | int]]]
"""How often a box is copied, and its extents, outermost first."""


@dataclass(frozen=True, slots=True)
class Copies:
    """All LOADs or STOREs of a buffer.

    Attributes
    ----------
    elements
        That cross the bus: exact, but for zeros that are loaded where padding is longer than an
        instruction has room for, and for fewer where the last step of a group's channels goes on
        into the next group.
    instructions
        Exact without padding, and where tiles of windows are all of one size. With it there are
        more LOADs of INP, and of ACC between half as many and twice as many.
    bursts
        Runs of elements that lie together in DRAM, in the same cases.
    """

    memory: MemoryId
    elements: Floats
    instructions: Floats
    bursts: Floats

    def times(self, count: Ints | Floats) -> Copies:
        """So often."""
        return Copies(
            self.memory, self.elements * count, self.instructions * count, self.bursts * count
        )


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums, or maxima: what is done before the epilogue.

    Attributes
    ----------
    steps
        Instructions for each tile.
    products, resets, filled, tensor
        Iterations of micro-ops, as in `Demand`; `filled` are immediates that maxima begin with.
    loops
        Extents of those of an instruction, beside those of a tile.
    """

    steps: Ints | int = 0
    products: int = 0
    resets: int = 0
    filled: int = 0
    tensor: int = 0
    loops: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Demand:
    """The work of the programs of choices.

    Attributes
    ----------
    tiles
        Of the output.
    products, resets, immediate, tensor
        Iterations of micro-ops: multiplications, resets, ALU operations with an immediate and with
        a second operand in ACC; exact.
    gemms, alus
        Instructions: exact where kernels fit into the micro-op memory, no tap of a maximum lies on
        padding, and convolutions have one group; otherwise there are more.
    kernel
        Micro-ops of the longest instruction, at most, where fields for iterations have room; each
        thread has a kernel of its own.
    """

    copies: tuple[Copies, ...]
    tiles: Ints
    products: Floats
    resets: Floats
    immediate: Floats
    tensor: Floats
    gemms: Floats
    alus: Floats
    kernel: Ints

    @staticmethod
    def of(
        output: Output,
        epilogue: Epilogue,
        resident: Bools,
        loads: Sequence[Copies],
        again: Floats,
        kernel: Ints,
        sums: Sums = Sums(),
        planes: int = 0,
    ) -> Demand:
        """Sums or maxima, an epilogue's passes and loads, and the STOREs.

        Parameters
        ----------
        resident
            Where operands for each channel are loaded once, not with every tile.
        loads
            Those before the epilogue.
        again
            How often threads do the same (see `repeated`).
        planes
            Instead of passes: copies of the sums, added to zeros and shifted.
        """
        tiles, size = output.tiles, prod(output.extents)
        immediates, tensors = epilogue.immediate_passes, epilogue.tensor_passes
        moved = size if planes else 0
        passes = immediates + tensors + (2 if planes else 0)
        gemm, alu = (sums.steps, 0) if sums.products else (0, sums.steps)
        return Demand(
            copies=(*loads, *output.copies(epilogue, resident)),
            tiles=tiles,
            products=sums.products * again,
            resets=sums.resets * again + moved,
            immediate=sums.filled * again + immediates * size,
            tensor=sums.tensor * again + tensors * size + 2 * moved,
            gemms=tiles * (again * (gemm + bool(sums.resets)) + bool(planes)),
            alus=tiles * (again * (alu + bool(sums.filled)) + passes),
            kernel=kernel,
        )


@dataclass(frozen=True, slots=True)
class Output:
    """An output, and the sizes of its tiles along each axis.

    Attributes
    ----------
    channels
        The axis of channel blocks.
    """

    extents: tuple[int, ...]
    sizes: tuple[Ints, ...]
    channels: int = 1

    @property
    def tiles(self) -> Ints:
        """How many, of all sizes."""
        axes = zip(self.extents, self.sizes, strict=True)
        return np.asarray(prod(-(-extent // size) for extent, size in axes))

    def copies(self, epilogue: Epilogue, resident: Bools) -> tuple[Copies, ...]:
        """The STOREs, and the LOADs of an epilogue's operands."""
        boxes, axis = [*cut(self.extents, self.sizes)], self.channels
        stored = copies(MemoryId.OUT, boxes, self.extents, self.sizes)
        memories = [
            MemoryId.ACC_8BIT if dtype == INT8 else MemoryId.ACC for dtype in epilogue.element_types
        ]
        of_tiles = [(np.where(resident, 0, count), (box[axis],)) for count, box in boxes]
        once = np.where(resident, 1, 0), (self.extents[axis],)
        operand = copies(MemoryId.ACC, [*of_tiles, once], self.extents[axis : axis + 1])
        return (
            stored,
            *(replace(stored, memory=memory) for memory in memories),
            *(operand for _ in epilogue.channel_operands),
        )


def tile_count(choices: Choices, extents: Mapping[str, int]) -> Ints:
    """How many tiles there are of all these axes together."""
    return np.asarray(prod(-(-extent // choices[axis]) for axis, extent in extents.items()))


def cut(extents: Sequence[int], sizes: Sequence[Ints]) -> Iterator[tuple[Ints, tuple[Ints, ...]]]:
    """How many tiles there are of each shape that tiles of `sizes` along the axes have."""
    axes = [
        ((extent // size, size), (np.minimum(1, extent % size), extent % size))
        for extent, size in zip(extents, sizes, strict=True)
    ]
    for parts in product(*axes):
        yield np.asarray(prod(count for count, _ in parts)), tuple(size for _, size in parts)


def copies(
    memory: MemoryId,
    boxes: Boxes,
    whole: Sequence[int],
    chip: Sequence[Ints | int] | None = None,
) -> Copies:
    """Copies of boxes of a tensor of the extents `whole`.

    Parameters
    ----------
    chip
        The extents of the buffer on chip where it keeps those of whole tiles; otherwise boxes lie
        there without gaps.
    """
    elements = instructions = bursts = np.zeros(())
    for count, box in boxes:
        calls, rows = _rectangles(box, whole, box if chip is None else chip)
        elements = elements + count * prod(box)
        instructions, bursts = instructions + count * calls, bursts + count * rows
    return Copies(memory, elements, instructions, bursts)


def _rectangles(
    box: Sequence[Ints | int], whole: Sequence[int], chip: Sequence[Ints | int]
) -> tuple[Ints, Ints]:
    """Copies for a box, and rows of all of them: each copies rows without gaps on chip.

    Axes join as in `compiler.lower.accelerator.rectangles`.
    """
    joined, level = np.array(True), np.array(0)
    rows = calls = run = step = np.array(1)
    for size, extent, room in zip(reversed(box), reversed(whole), reversed(chip), strict=True):
        longer = np.asarray(size) > 1
        begins = longer & ~joined
        # Rows with gaps between them are copied one by one.
        level = level + begins * np.where((level == 0) & (run != step), 2, 1)
        run = run * np.where(level > 0, 1, size)
        rows = rows * np.where(level > 0, size, 1)
        calls = calls * np.where(level > 1, size, 1)
        joined, step = (joined | longer) & (size == extent) & (size == room), step * room
    return calls, rows


def kernel_length(*axes: Ints | int) -> Ints:
    """Micro-ops of an instruction: all iterations but those of the two longest loops."""
    extents = np.broadcast_arrays(*axes)
    length: Ints = np.sort(extents, axis=0)[:-2].prod(axis=0)
    return length


def seen(window: Window, sizes: Ints) -> Ints:
    """Elements that tiles of `sizes` windows along an axis load, all together: from the first to
    the last that a whole tile sees, but for padding."""
    known, places = np.unique(sizes, return_inverse=True)
    reach = (window.kernel - 1) * window.dilation + 1
    totals = []
    for size in known:
        first = np.arange(0, window.count, size)
        low = first * window.stride - window.before
        high = low + (size - 1) * window.stride + reach
        totals.append(np.maximum(0, np.minimum(high, window.extent) - np.maximum(low, 0)).sum())
    found: Ints = np.array(totals, np.int64)[places]
    return found


def repeated(choices: Choices, extents: Mapping[str, int]) -> Floats:
    """How often sums are made, and their operands loaded: more than once where an axis has fewer
    tiles than threads, which then do the same.

    Parameters
    ----------
    extents
        Of the axes that threads may share.
    """
    found = np.ones(len(choices))
    for axis, extent in extents.items():
        tiles = -(-extent // choices[axis])
        times = np.maximum(1, choices["threads"] / tiles)
        found = np.where(choices.are("along", axis), times, found)
    return found
