"""Tiles for a convolution: those that fit, and of these the ones that are estimated best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from compiler.errors import CapacityError
from compiler.operators.accelerator.conv2d_cost import estimate
from compiler.operators.accelerator.conv2d_shape import ConvShape
from compiler.operators.accelerator.machine_cost import MachineCost
from compiler.operators.accelerator.tiling import Order, Tiling
from hw.config import HardwareConfig
from hw.memories import MemoryId

__all__ = ["choose_tiling", "tilings", "usage", "with_or_without_hiding"]

_PLAYED = 96
"""Candidates of which the cycles are estimated in full."""
_PLAYED_ALONE = 16
"""And where one thread is to be better than several."""

_WAYS = (
    (Order.OUTPUTS, "oc"),
    (Order.OUTPUTS, "y"),
    (Order.OUTPUTS, "x"),
    (Order.WEIGHTS, "y"),
    (Order.WEIGHTS, "x"),
    (Order.IMAGE, "oc"),
)
"""Orders, and the axes that threads can share in each."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Sizes of tiles as `Tiling` has them, one number for each of many."""

    oc: Ints
    y: Ints
    x: Ints
    ic: Ints

    @staticmethod
    def of(shape: ConvShape) -> _Sizes:
        """Every combination of the sizes that are worth a thought."""
        axes = (shape.ic, shape.oc, shape.x, shape.y)
        ic, oc, x, y = np.meshgrid(*(_parts(each) for each in axes), indexing="ij")
        return _Sizes(oc.ravel(), y.ravel(), x.ravel(), ic.ravel())

    @staticmethod
    def alone(tiling: Tiling) -> _Sizes:
        """Those of one tiling."""
        return _Sizes(*(np.array([each]) for each in (tiling.oc, tiling.y, tiling.x, tiling.ic)))


def usage(shape: ConvShape, tiling: Tiling) -> dict[MemoryId, int]:
    """Elements that a tiling takes of each memory."""
    used = _usage(shape, _Sizes.alone(tiling), tiling.order, tiling.threads)
    return {memory: each.item() for memory, each in used.items()}


def _usage(shape: ConvShape, tile: _Sizes, order: Order, threads: int) -> dict[MemoryId, Ints]:
    size = tile.oc * tile.y * tile.x
    image = shape.rows(tile.y) * shape.columns(tile.x)
    weights = tile.oc * shape.taps
    steps = threads * tile.ic
    operands = shape.element_operands * threads * size + shape.channel_operands * shape.oc
    return {
        MemoryId.ACC: threads * size + operands,
        MemoryId.INP: image
        * (shape.ic * shape.groups if order is Order.IMAGE else steps * shape.spanned(tile.oc)),
        MemoryId.WGT: weights * (shape.ic if order is Order.WEIGHTS else steps),
        MemoryId.UOP: threads * (_kernel(shape, tile) + 4),
    }


def _kernel(shape: ConvShape, tile: _Sizes) -> Ints:
    """Micro-ops of the products: all turns but those of the two longest loops."""
    extents = np.broadcast_arrays(tile.oc, tile.y, tile.x, tile.ic, *shape.kernel)
    kernel: Ints = np.sort(extents, axis=0)[:-2].prod(axis=0)
    return kernel


def fits(shape: ConvShape, tiling: Tiling, config: HardwareConfig) -> bool:
    """Whether all memories hold what a tiling needs, and that of the image is one piece."""
    whole = _in_one_piece(shape, _Sizes.alone(tiling)).item()
    return whole and all(used <= config.depth(each) for each, used in usage(shape, tiling).items())


def _parts(extent: int) -> list[int]:
    """Sizes that cut an axis into so many parts, and not one more than needed."""
    return sorted({-(-extent // count) for count in range(1, extent + 1)})


def tilings(shape: ConvShape, cost: MachineCost, threads: int, most: int = _PLAYED) -> list[Tiling]:
    """The tilings that fit, of these at most so many: those that a quick guess finds best."""
    tile = _Sizes.of(shape)
    guesses = {each: _guess(shape, tile, each, cost, threads) for each in Order}
    cycles = np.stack([guesses[order] for order, _ in _WAYS], axis=1).ravel()
    sizes = np.repeat(tile.oc * tile.y * tile.x, len(_WAYS))
    found = []
    for at in np.lexsort((-sizes, cycles))[:most]:
        if np.isfinite(cycles[at]):
            which, way = divmod(int(at), len(_WAYS))
            oc, y, x, ic = (int(each[which]) for each in (tile.oc, tile.y, tile.x, tile.ic))
            found.append(Tiling(oc, y, x, ic, _WAYS[way][0], threads, _WAYS[way][1]))
    return found


def choose_tiling(shape: ConvShape, cost: MachineCost, threads: int = 2) -> Tiling:
    """The tiling with the least cycles, by an analytic estimate.

    Raises
    ------
    CapacityError
        Where not even the smallest tiles fit: says which memory, and by how much.
    """
    candidates = tilings(shape, cost, threads)
    if not candidates:
        raise CapacityError(_too_small(shape, cost.config, threads))
    return min(candidates, key=lambda each: estimate(shape, each, cost))


def with_or_without_hiding(shape: ConvShape, cost: MachineCost, threads: int) -> Tiling:
    """The tiling with the least cycles of at most so many threads.

    Where there is little to do, what threads share is in pieces so small that one does better.
    Raises `CapacityError` as `choose_tiling` for one.
    """
    fewer = tilings(shape, cost, 1, _PLAYED_ALONE) if threads > 1 else []
    candidates = [*tilings(shape, cost, threads), *fewer]
    if not candidates:
        raise CapacityError(_too_small(shape, cost.config, 1))
    return min(candidates, key=lambda each: estimate(shape, each, cost))


def _too_small(shape: ConvShape, config: HardwareConfig, threads: int) -> str:
    least = Tiling(1, 1, 1, 1, Order.OUTPUTS, threads, "oc")
    lacking = [
        f"{memory.name} has {config.depth(memory):,} and the smallest tile takes {used:,}"
        for memory, used in usage(shape, least).items()
        if used > config.depth(memory)
    ]
    return f"{config.name} is too small for this convolution: {'; '.join(lacking)} elements"


def _guess(
    shape: ConvShape, tile: _Sizes, order: Order, cost: MachineCost, threads: int
) -> npt.NDArray[np.float64]:
    """Cycles, or infinity for tiles that cannot be."""
    possible = _in_one_piece(shape, tile)
    if order is not Order.OUTPUTS:
        possible &= tile.ic == shape.ic
    for memory, used in _usage(shape, tile, order, threads).items():
        possible &= used <= cost.config.depth(memory)
    return np.where(possible, _bound(shape, tile, order, cost), np.inf)


def _in_one_piece(shape: ConvShape, tile: _Sizes) -> npt.NDArray[np.bool_]:
    """Whether what a step of a tile reads of the image lies together: of one group, or all of
    several."""
    if shape.groups == 1:
        return np.ones(len(tile.oc), np.bool_)
    within = shape.each % tile.oc == 0
    whole = (tile.oc % shape.each == 0) & (tile.ic == shape.ic)
    either: npt.NDArray[np.bool_] = within | whole
    return either


def _bound(
    shape: ConvShape, tile: _Sizes, order: Order, cost: MachineCost
) -> npt.NDArray[np.float64]:
    """A quick guess: the longer of arithmetic and loads, and what cannot overlap.

    While a tile's epilogue runs, its buffers are free for one step of the next tile and no more:
    then loads stand still as well.
    """
    oc_tiles = -(-shape.oc // tile.oc)
    parts = -(-shape.y // tile.y) * -(-shape.x // tile.x)
    elements = shape.rows(tile.y) * shape.columns(tile.x)
    blocks = shape.ic * (shape.groups if order is Order.IMAGE else shape.spanned(tile.oc))
    image = blocks * _each(lambda many: cost.load(MemoryId.INP, many), elements)
    steps = -(-shape.ic // tile.ic)
    channels = shape.ic * shape.taps
    weights = steps * cost.overhead
    weights += _each(lambda oc: cost.beats(MemoryId.WGT, oc * channels), tile.oc)
    images = parts * image * (1 if order is Order.IMAGE else oc_tiles)
    loads = images + weights * oc_tiles * (1 if order is Order.WEIGHTS else parts)
    tiles = oc_tiles * parts
    size = tile.oc * tile.y * tile.x
    epilogue = (1 + shape.tensor_passes + shape.number_passes) * size
    if shape.element_operands:
        operand = _each(lambda many: cost.load(MemoryId.ACC_8BIT, many), size)
        epilogue = epilogue + shape.element_operands * operand
    compute = shape.oc * shape.y * shape.x * channels + tiles * epilogue
    still = tiles * np.maximum(0, epilogue - loads / (tiles * steps))
    # Loads before the first product.
    first = (image + weights) / (steps if order is Order.OUTPUTS else 1)
    total: npt.NDArray[np.float64] = shape.batches * np.maximum(loads + still, compute) + first
    return total + epilogue


def _each(function: Callable[[int], int], values: Ints) -> Ints:
    """What a function gives for each value; there are few that differ."""
    distinct, where = np.unique(values, return_inverse=True)
    return np.array([function(each) for each in distinct.tolist()])[where]
