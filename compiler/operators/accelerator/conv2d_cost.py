"""An analytic estimate of a convolution's cycles: its steps, played on three decoupled modules.

The estimate knows what the compiler will emit, tile by tile: which loads a step of the sum needs,
how long they and the arithmetic take, and what waits for what. It leaves out single cycles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, product

from compiler.operators.accelerator.conv2d import PackedConv2d
from compiler.operators.accelerator.machine_cost import MachineCost
from compiler.operators.accelerator.passes_schedule import OperandCounts, all_steps
from compiler.operators.accelerator.tiling import Order, Tiling
from hw.memories import MemoryId

__all__ = ["ConvShape", "estimate"]

_LONGEST = 1500
"""Steps that are played; of longer programs the rest is taken to go on at the same pace."""


@dataclass(frozen=True, slots=True)
class ConvShape:
    """Extents of a packed convolution, channels in blocks.

    Attributes
    ----------
    stride, kernel, reach
        Along y and x; `reach` is the extent of a window with its dilation.
    image
        Height and width without padding.
    tensor_passes, number_passes
        Passes of the epilogue with an operand in ACC, and with an immediate.
    element_operands, channel_operands
        Tensors that passes read: one number an element, one number a channel.
    """

    batches: int
    oc: int
    y: int
    x: int
    ic: int
    image: tuple[int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    reach: tuple[int, int]
    tensor_passes: int
    number_passes: int
    element_operands: int
    channel_operands: int

    @staticmethod
    def of(conv: PackedConv2d) -> ConvShape:
        """Of a convolution."""
        n, oc, y, x, _, _ = conv.sums.shape
        _, ic, tall, wide, _, _ = conv.weight.shape
        steps = [each for _, each in all_steps(conv.passes)]
        counts = OperandCounts.of(conv.passes)
        numbers = sum(isinstance(each.operand, int) for each in steps)
        dy, dx = conv.dilation
        return ConvShape(
            batches=n,
            oc=oc,
            y=y,
            x=x,
            ic=ic,
            image=(conv.data.shape[2], conv.data.shape[3]),
            kernel=(tall, wide),
            stride=conv.strides,
            reach=(dy * (tall - 1) + 1, dx * (wide - 1) + 1),
            tensor_passes=len(steps) - numbers,
            number_passes=numbers,
            element_operands=counts.elements,
            channel_operands=counts.channels,
        )

    @property
    def taps(self) -> int:
        """Weights of one channel."""
        return self.kernel[0] * self.kernel[1]

    def rows(self, y: int) -> int:
        """Rows of the padded image under `y` rows of the output."""
        return (y - 1) * self.stride[0] + self.reach[0]

    def columns(self, x: int) -> int:
        """The same for columns."""
        return (x - 1) * self.stride[1] + self.reach[1]


@dataclass(slots=True)
class _Clock:
    """When each module is done with what it was given, and when buffers are free."""

    load: int = 0
    compute: int = 0
    store: int = 0
    inputs: dict[int, int] = field(default_factory=dict)
    """By thread: when its last product is done."""
    results: dict[int, int] = field(default_factory=dict)
    """By thread: when its last result is stored."""


def estimate(shape: ConvShape, tiling: Tiling, cost: MachineCost) -> float:
    """Cycles from launch to done, about."""
    clock = _Clock()
    clock.compute = cost.load(MemoryId.UOP, 2 * tiling.threads * 64)
    clock.compute += shape.channel_operands * cost.load(MemoryId.ACC, shape.oc)
    clock.load = clock.compute // 4
    played = 0
    steps = -(-shape.ic // tiling.ic)
    groups = _groups(shape, tiling)
    most = max(4, _LONGEST // (steps * tiling.threads))
    times = []
    previous: tuple[int, ...] | None = None
    for key, tiles in islice(groups, most):
        _play(shape, tiling, cost, clock, tiles, steps, key != previous)
        previous = key
        played += sum(oc * y * x for oc, y, x in tiles)
        times.append((played, clock.compute))
    total = shape.batches * shape.oc * shape.y * shape.x
    end = float(clock.compute)
    if played < total:
        # The second half of what was played shows the pace.
        first, second = times[len(times) // 2 - 1], times[-1]
        pace = (second[1] - first[1]) / max(1, second[0] - first[0])
        end += pace * (total - played)
    return end + max(0, clock.store - clock.compute) + cost.overhead


Group = tuple[tuple[int, ...], Sequence[tuple[int, int, int]]]


def _groups(shape: ConvShape, tiling: Tiling) -> Iterator[Group]:
    """Tiles that threads work on together, in their order; and what stays on chip meanwhile."""
    sizes = {"oc": tiling.oc, "y": tiling.y, "x": tiling.x}
    whole = {"oc": shape.oc, "y": shape.y, "x": shape.x}
    along = tiling.along
    counts = {axis: -(-whole[axis] // sizes[axis]) for axis in sizes}
    counts[along] = -(-counts[along] // tiling.threads)
    order = ("y", "x", "oc") if tiling.order is Order.IMAGE else ("oc", "y", "x")
    for batch in range(shape.batches):
        for turn in product(*(range(counts[axis]) for axis in order)):
            at = dict(zip(order, turn, strict=True))
            tiles = []
            for thread in range(tiling.threads):
                mine = {**at, along: at[along] * tiling.threads + thread}
                extents = [min(sizes[a], whole[a] - mine[a] * sizes[a]) for a in ("oc", "y", "x")]
                if min(extents) > 0:
                    tiles.append((extents[0], extents[1], extents[2]))
            match tiling.order:
                case Order.WEIGHTS:
                    key: tuple[int, ...] = (batch, at["oc"])
                case Order.IMAGE:
                    key = (batch, at["y"], at["x"])
                case Order.OUTPUTS:
                    key = (batch, *turn)
            yield key, tiles


def _play(
    shape: ConvShape,
    tiling: Tiling,
    cost: MachineCost,
    clock: _Clock,
    tiles: Sequence[tuple[int, int, int]],
    steps: int,
    fresh: bool,
) -> None:
    """Let time pass for one group of tiles."""
    if fresh and tiling.order is not Order.OUTPUTS:
        # What stays is loaded for all threads, when nobody uses the last one any more.
        begin = max(clock.load, *clock.inputs.values(), 0)
        oc, y, x = max(tiles)
        if tiling.order is Order.WEIGHTS:
            clock.load = begin + cost.load(MemoryId.WGT, oc * shape.ic * shape.taps)
        else:
            clock.load = begin + _image(shape, cost, shape.ic, y, x)
    for step in range(steps):
        ic = min(tiling.ic, shape.ic - step * tiling.ic)
        ready = []
        for thread, (oc, y, x) in enumerate(tiles):
            begin = max(clock.load, clock.inputs.get(thread, 0))
            clock.load = begin
            if tiling.order is not Order.IMAGE:
                clock.load += _image(shape, cost, ic, y, x)
            if tiling.order is not Order.WEIGHTS:
                clock.load += cost.load(MemoryId.WGT, oc * ic * shape.taps)
            ready.append(clock.load)
        for thread, (oc, y, x) in enumerate(tiles):
            size = oc * y * x
            if step == 0:
                clock.compute = max(clock.compute, clock.results.get(thread, 0)) + size
            clock.compute = max(clock.compute, ready[thread]) + size * ic * shape.taps
            clock.inputs[thread] = clock.compute
    for thread, (oc, y, x) in enumerate(tiles):
        size = oc * y * x
        clock.compute += shape.tensor_passes * cost.alu(size, tensor_operand=True)
        clock.compute += shape.number_passes * size
        clock.compute += shape.element_operands * cost.load(MemoryId.ACC_8BIT, size)
        begin = max(clock.store, clock.compute)
        clock.store = begin + oc * (_gap(cost) + cost.beats(MemoryId.OUT, y * x))
        clock.results[thread] = clock.store + cost.overhead


def _gap(cost: MachineCost) -> int:
    """Cycles between the data of two STOREs; the next one does not wait for acknowledgements."""
    return cost.overhead - cost.memory.latency


def _image(shape: ConvShape, cost: MachineCost, ic: int, y: int, x: int) -> int:
    """The part of the image for a tile: one LOAD a block of channels, padding included."""
    rows, columns = shape.rows(y), shape.columns(x)
    if shape.reach == (1, 1):
        # Rows between those that are needed are left out.
        rows = y
    elements = min(rows, shape.image[0]) * min(columns, shape.image[1])
    return ic * cost.load(MemoryId.INP, elements, max(0, rows * columns - elements))
