"""Traffic and arithmetic of programs, for many choices at once, counted without lowering.

An axis has tiles of two sizes, whole tiles and the remainder at its end; every count is a sum over
both sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import TypeAlias

import numpy as np

from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.machines.accelerator.templates.epilogue import Epilogue
from tandem.compiler.plan.space import Bools, Choices, Floats, Ints
from tandem.hw.topology import MemoryId

Boxes: TypeAlias = Iterable[tuple[Ints | Floats, Sequence[Ints | int]]]
"""Pairs of the number of copies of a box and the box's extents, outermost first."""


@dataclass(frozen=True, slots=True)
class TransferCounts:
    """All LOADs or STOREs of a buffer.

    Attributes
    ----------
    elements
        Elements that cross the bus. Exact, except that zeros loaded because padding exceeds an
        instruction's field are not counted, and that fewer elements are loaded if the last step of
        a group's channels continues into the next group.
    instructions
        Number of LOADs or STOREs: exact without padding if all tiles of windows have one size. With
        padding, there are more LOADs of INP, and between half and twice as many of ACC.
    bursts
        Number of runs of adjacent elements in DRAM; exact whenever `instructions` is.
    """

    memory: MemoryId
    elements: Floats
    instructions: Floats
    bursts: Floats

    def times(self, count: Ints | Floats) -> TransferCounts:
        """The copies, repeated `count` times."""
        numbers = (self.elements, self.instructions, self.bursts)
        return TransferCounts(self.memory, *(number * count for number in numbers))


@dataclass(frozen=True, slots=True)
class ReductionWork:
    """Instructions and iterations of the sums or maxima before the epilogue.

    Attributes
    ----------
    steps
        Instructions for each tile.
    products, resets, fills, tensor, inputs
        Iterations of micro-ops, as in `WorkCounts`; `fills` write the initial value of maxima.
    loaded
        Accumulators that are loaded, not computed, so that requantising them takes a pass.
    loops
        Extents of an instruction's loops, other than the loops over a tile.
    """

    steps: Ints | int = 0
    products: Ints | int = 0
    resets: Ints | int = 0
    fills: int = 0
    tensor: int = 0
    inputs: int = 0
    loaded: int = 0
    loops: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkCounts:
    """Traffic and arithmetic of the programs of some choices.

    Attributes
    ----------
    tiles
        Number of tiles of the output.
    products, resets, immediate, tensor, inputs
        Iterations of micro-ops: multiplications, resets, ALU operations with an immediate, with a
        second operand in ACC, and with one in INP; exact, but on machines that overwrite there are
        fewer resets.
    gemms, alus
        Number of instructions: exact if kernels fit into the micro-op memory, no tap of a maximum
        lies on padding, and convolutions have one group; else a lower bound.
    kernel
        Upper bound of the micro-ops of the longest instruction, if its loops fit into the fields
        for iterations; each thread has its own kernel.
    """

    copies: tuple[TransferCounts, ...]
    tiles: Ints
    products: Floats
    resets: Floats
    immediate: Floats
    tensor: Floats
    inputs: Floats
    gemms: Floats
    alus: Floats
    kernel: Ints

    @staticmethod
    def of(
        output: Output,
        epilogue: Epilogue,
        resident: Bools,
        loads: Sequence[TransferCounts],
        redundancy: Floats,
        kernel: Ints,
        work: ReductionWork = ReductionWork(),
        planes: int = 0,
    ) -> WorkCounts:
        """The work of a reduction, of an epilogue's passes and loads, and of the STOREs.

        Parameters
        ----------
        resident
            Whether per-channel operands are loaded once, not with every tile.
        loads
            LOADs before the epilogue.
        redundancy
            See `thread_redundancy`.
        planes
            Number of shifted copies of the sums, which replace passes; 0 with passes.
        """
        tiles, size = output.tiles, prod(output.extents)
        immediates, tensors = epilogue.immediate_passes, epilogue.tensor_passes
        moved = size if planes else 0
        passes = immediates + tensors + epilogue.input_operands + (2 if planes else 0)
        gemm, alu = (work.steps, 0) if np.any(work.products) else (0, work.steps)
        alu = alu + bool(work.fills) + bool(work.loaded)
        alu = alu + bool(work.inputs and np.all(alu == 0))
        return WorkCounts(
            copies=(*loads, *output.copies(epilogue, resident)),
            tiles=tiles,
            products=work.products * redundancy,
            resets=work.resets * redundancy + moved,
            immediate=work.fills * redundancy + work.loaded + immediates * size,
            tensor=work.tensor * redundancy + tensors * size + 2 * moved,
            inputs=work.inputs * redundancy + epilogue.input_operands * size,
            gemms=tiles * (redundancy * (gemm + bool(np.any(work.resets))) + bool(planes)),
            alus=tiles * (redundancy * alu + passes),
            kernel=kernel,
        )


@dataclass(frozen=True, slots=True)
class Output:
    """Extents of an output and of its tiles along each axis; `channels` is the index of the axis of
    channel blocks."""

    extents: tuple[int, ...]
    sizes: tuple[Ints, ...]
    channels: int = 1

    @property
    def tiles(self) -> Ints:
        """Number of tiles."""
        axes = zip(self.extents, self.sizes, strict=True)
        return np.asarray(prod(-(-extent // size) for extent, size in axes))

    def in_planes(self, count: int) -> Output:
        """An output of `count` planes, with tiles of all planes; itself for 0."""
        if not count:
            return self
        sizes = np.full_like(self.sizes[0], count), *self.sizes
        return Output((count, *self.extents), sizes, self.channels + 1)

    def copies(self, epilogue: Epilogue, resident: Bools) -> tuple[TransferCounts, ...]:
        """The STOREs, and the LOADs of an epilogue's operands."""
        boxes, axis = [*tile_shapes(self.extents, self.sizes)], self.channels
        stored = transfers_of(MemoryId.OUT, boxes, self.extents, self.sizes)
        memories = [
            MemoryId.ACC_8BIT if dtype == INT8 else MemoryId.ACC for dtype in epilogue.element_types
        ]
        of_tiles = [(np.where(resident, 0, count), (box[axis],)) for count, box in boxes]
        once = np.where(resident, 1, 0), (self.extents[axis],)
        operand = transfers_of(MemoryId.ACC, [*of_tiles, once], self.extents[axis : axis + 1])
        # Edges are padded on their way to INP, so that no gaps split a LOAD.
        inputs = transfers_of(MemoryId.INP, boxes, self.extents)
        return (
            stored,
            *(replace(stored, memory=memory) for memory in memories),
            *(inputs for _ in range(epilogue.input_operands)),
            *(operand for _ in epilogue.channel_operands),
            *self._parameters(epilogue, boxes),
        )

    def _parameters(
        self, epilogue: Epilogue, boxes: Sequence[tuple[Ints, tuple[Ints, ...]]]
    ) -> tuple[TransferCounts, ...]:
        """The LOADs of parameters into PAR."""
        if epilogue.requantise is None:
            return ()
        whole = self.extents[self.channels : self.channels + 1]
        once = np.ones_like(self.tiles)
        parts = [(count, (box[self.channels],)) for count, box in boxes]
        if epilogue.requantise.resident:
            parts = [(once, (whole[0] * once,))]
        return (transfers_of(MemoryId.PAR, parts, whole),)


def tile_count(choices: Choices, extents: Mapping[str, int]) -> Ints:
    """Number of tiles of the axes in `extents`, multiplied."""
    return np.asarray(prod(-(-extent // choices[axis]) for axis, extent in extents.items()))


def tile_shapes(
    extents: Sequence[int], sizes: Sequence[Ints]
) -> Iterator[tuple[Ints, tuple[Ints, ...]]]:
    """Pairs of a count and a tile shape, for each combination of whole tiles and remainders."""
    axes = [
        ((extent // size, size), (np.minimum(1, extent % size), extent % size))
        for extent, size in zip(extents, sizes, strict=True)
    ]
    for parts in product(*axes):
        yield np.asarray(prod(count for count, _ in parts)), tuple(size for _, size in parts)


def transfers_of(
    memory: MemoryId, boxes: Boxes, whole: Sequence[int], chip: Sequence[Ints | int] | None = None
) -> TransferCounts:
    """The LOADs or STOREs of boxes of a tensor of extents `whole`.

    Parameters
    ----------
    chip
        Extents of the on-chip buffer, if those of whole tiles; by default boxes are stored without
        gaps.
    """
    elements = instructions = bursts = np.zeros(())
    counts, shapes = zip(*boxes, strict=True)
    # All boxes at once: of one choice, what NumPy takes is the number of its calls.
    sizes = np.broadcast_arrays(*(size for shape in shapes for size in shape))
    box = [np.stack(sizes[axis :: len(whole)]) for axis in range(len(whole))]
    calls, rows = _rectangles(box, whole, box if chip is None else chip)
    for number, count in enumerate(counts):
        elements = elements + count * prod(shapes[number])
        instructions = instructions + count * calls[number]
        bursts = bursts + count * rows[number]
    return TransferCounts(memory, elements, instructions, bursts)


def loads_of_box(box: Sequence[Ints | int], whole: Sequence[int]) -> Ints:
    """Number of LOADs of a box of a tensor of extents `whole`, stored without gaps."""
    return _rectangles(box, whole, box)[0]


def _rectangles(
    box: Sequence[Ints | int], whole: Sequence[int], chip: Sequence[Ints | int]
) -> tuple[Ints, Ints]:
    """Number of copies for a box, and of rows in all copies; rows of a copy are adjacent on chip.
    Axes are merged as in `compiler.machines.accelerator.lower.rectangles`."""
    joined, level = np.array(True), np.array(0)
    rows = calls = run = step = np.array(1)
    for size, extent, stride in zip(reversed(box), reversed(whole), reversed(chip), strict=True):
        longer = np.asarray(size) > 1
        begins = longer & ~joined
        # Rows with gaps between them are copied one by one.
        level = level + begins * np.where((level == 0) & (run != step), 2, 1)
        run = run * np.where(level > 0, 1, size)
        rows = rows * np.where(level > 0, size, 1)
        calls = calls * np.where(level > 1, size, 1)
        joined, step = (joined | longer) & (size == extent) & (size == stride), step * stride
    return calls, rows


def kernel_length(*axes: Ints | int) -> Ints:
    """Micro-ops of an instruction: the iterations of all loops except its two longest."""
    extents = np.broadcast_arrays(*axes)
    return np.sort(extents, axis=0)[:-2].prod(axis=0)


def thread_redundancy(choices: Choices, extents: Mapping[str, int]) -> Floats:
    """How often each sum is computed and its operands loaded: more than once if an axis has fewer
    tiles than threads, so that several threads compute the same tile.

    Parameters
    ----------
    extents
        Extents of the axes that threads may share.
    """
    found = np.ones(len(choices))
    for axis, extent in extents.items():
        tiles = -(-extent // choices[axis])
        times = np.maximum(1, choices["threads"] / tiles)
        found = np.where(choices.equals("along", axis), times, found)
    return found
