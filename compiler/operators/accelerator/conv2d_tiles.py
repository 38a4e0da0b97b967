"""Tiles for a convolution: those that fit, and of these the ones that are estimated best."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import nsmallest

from compiler.errors import CapacityError
from compiler.operators.accelerator.conv2d_cost import ConvShape, estimate
from compiler.operators.accelerator.machine_cost import MachineCost
from compiler.operators.accelerator.tiling import Order, Tiling
from hw.config import HardwareConfig
from hw.memories import MemoryId

__all__ = ["choose_tiling", "tilings", "usage"]

_PLAYED = 48
"""Candidates of which the cycles are estimated in full."""


def usage(shape: ConvShape, tiling: Tiling) -> dict[MemoryId, int]:
    """Elements that a tiling takes of each memory."""
    threads = tiling.threads
    size = tiling.oc * tiling.y * tiling.x
    image = shape.rows(tiling.y) * shape.columns(tiling.x)
    weights = tiling.oc * shape.taps
    steps = threads * tiling.ic
    operands = shape.element_operands * threads * size + shape.channel_operands * shape.oc
    return {
        MemoryId.ACC: threads * size + operands,
        MemoryId.INP: image * (shape.ic if tiling.order is Order.IMAGE else steps),
        MemoryId.WGT: weights * (shape.ic if tiling.order is Order.WEIGHTS else steps),
        MemoryId.UOP: threads * (_kernel(shape, tiling) + 4),
    }


def _kernel(shape: ConvShape, tiling: Tiling) -> int:
    """Micro-ops of the products: all turns but those of the two longest loops."""
    extents = sorted((tiling.oc, tiling.y, tiling.x, tiling.ic, *shape.kernel))
    size = 1
    for each in extents[:-2]:
        size *= each
    return size


def fits(shape: ConvShape, tiling: Tiling, config: HardwareConfig) -> bool:
    """Whether all memories hold what a tiling needs."""
    return all(used <= config.depth(each) for each, used in usage(shape, tiling).items())


def tilings(shape: ConvShape, config: HardwareConfig, threads: int) -> Iterator[Tiling]:
    """Every tiling worth a thought that fits."""
    for ic in _parts(shape.ic):
        for oc in _parts(shape.oc):
            for x in _parts(shape.x):
                for y in _parts(shape.y):
                    for order, along in _ways(shape, ic):
                        found = Tiling(oc, y, x, ic, order, threads, along)
                        if fits(shape, found, config):
                            yield found


def _ways(shape: ConvShape, ic: int) -> Iterator[tuple[Order, str]]:
    yield from ((Order.OUTPUTS, axis) for axis in ("oc", "y", "x"))
    if ic == shape.ic:
        yield from ((Order.WEIGHTS, axis) for axis in ("y", "x"))
        yield Order.IMAGE, "oc"


def _parts(extent: int) -> list[int]:
    """Sizes that cut an axis into so many parts, and not one more than needed."""
    return sorted({-(-extent // count) for count in range(1, extent + 1)})


def choose_tiling(shape: ConvShape, cost: MachineCost, threads: int = 2) -> Tiling:
    """The tiling with the least cycles, by an analytic estimate.

    Raises
    ------
    CapacityError
        Where not even the smallest tiles fit: says which memory, and by how much.
    """
    candidates = nsmallest(
        _PLAYED,
        tilings(shape, cost.config, threads),
        key=lambda each: _bound(shape, each, cost),
    )
    if not candidates:
        raise CapacityError(_too_small(shape, cost.config, threads))
    return min(candidates, key=lambda each: estimate(shape, each, cost))


def _too_small(shape: ConvShape, config: HardwareConfig, threads: int) -> str:
    least = Tiling(1, 1, 1, 1, Order.OUTPUTS, threads, "oc")
    lacking = [
        f"{memory.name} has {config.depth(memory):,} and the smallest tile takes {used:,}"
        for memory, used in usage(shape, least).items()
        if used > config.depth(memory)
    ]
    return f"{config.name} is too small for this convolution: {'; '.join(lacking)} elements"


def _bound(shape: ConvShape, tiling: Tiling, cost: MachineCost) -> tuple[float, int]:
    """A quick guess: the longer of arithmetic and loads, and what cannot overlap."""
    counts = [
        -(-whole // part)
        for whole, part in ((shape.oc, tiling.oc), (shape.y, tiling.y), (shape.x, tiling.x))
    ]
    oc_tiles, parts = counts[0], counts[1] * counts[2]
    elements = shape.rows(tiling.y) * shape.columns(tiling.x)
    image = shape.ic * cost.load(MemoryId.INP, elements)
    steps = -(-shape.ic // tiling.ic)
    weights = steps * cost.overhead + cost.beats(MemoryId.WGT, tiling.oc * shape.ic * shape.taps)
    images = parts * image * (1 if tiling.order is Order.IMAGE else oc_tiles)
    loads = images + weights * oc_tiles * (1 if tiling.order is Order.WEIGHTS else parts)
    size = shape.oc * shape.y * shape.x
    passes = 1 + shape.tensor_passes + shape.number_passes
    compute = size * (shape.ic * shape.taps + passes)
    first = _first(shape, tiling, image, weights, steps)
    tile = tiling.oc * tiling.y * tiling.x
    return shape.batches * max(loads, compute) + first + passes * tile, -tile


def _first(shape: ConvShape, tiling: Tiling, image: int, weights: int, steps: int) -> float:
    """Loads before the first product."""
    match tiling.order:
        case Order.OUTPUTS:
            return (image + weights) / steps
        case Order.WEIGHTS:
            return image + weights
        case Order.IMAGE:
            return image + weights
