"""Random calls of operators that move elements, for tests of their gradients."""

from __future__ import annotations

import numpy as np

from tandem.compiler.operators.pad import PadMode
from tandem.compiler.operators.scatter import ScatterReduction
from tests.support.compiler.graph.gradient_draws import (
    OperatorCall,
    call_of,
    chosen,
    extents,
    normal,
)


def transpose(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 0, 4)
    perm = tuple(int(n) for n in rng.permutation(len(shape))) if rng.random() < 0.8 else None
    return call_of(normal(rng, shape), perm=perm)


def reshape(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 0, 4)
    size = int(np.prod(shape))
    wanted = [(-1,), (1, -1), (size, 1), (0, -1) if shape else (-1,)][int(rng.integers(4))]
    return call_of(normal(rng, shape), shape=wanted)


def flatten(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 0, 4)
    return call_of(normal(rng, shape), axis=int(rng.integers(-len(shape), len(shape) + 1)))


def squeeze(rng: np.random.Generator) -> OperatorCall:
    shape = list(extents(rng, 1, 4))
    at = int(rng.integers(len(shape)))
    shape[at] = 1
    axes = None if rng.random() < 0.3 else (at - len(shape) * int(rng.random() < 0.5),)
    return call_of(normal(rng, tuple(shape)), axes=axes)


def unsqueeze(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng)
    rank = len(shape) + 2
    axes = rng.choice(rank, 2, replace=False)
    return call_of(normal(rng, shape), axes=tuple(int(axis - rank * (axis % 2)) for axis in axes))


def expand(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng)
    own = tuple(1 if rng.random() < 0.5 else n for n in shape[rng.integers(0, len(shape) + 1) :])
    return call_of(normal(rng, own), shape=shape)


def tile(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng)
    return call_of(
        normal(rng, shape), repeats=tuple(int(n) for n in rng.integers(1, 4, len(shape)))
    )


def depth_to_space(rng: np.random.Generator) -> OperatorCall:
    block = int(rng.integers(1, 3))
    batch, channels, height, width = (int(n) for n in rng.integers(1, 4, 4))
    shape = (batch, channels * block**2, height, width)
    choices = chosen(rng, {"column_row_depth": (False, True)})
    return call_of(normal(rng, shape), block=block, **choices)


def space_to_depth(rng: np.random.Generator) -> OperatorCall:
    block = int(rng.integers(1, 3))
    batch, channels, height, width = (int(n) for n in rng.integers(1, 4, 4))
    return call_of(normal(rng, (batch, channels, height * block, width * block)), block=block)


def upsample(rng: np.random.Generator) -> OperatorCall:
    factors = tuple(int(n) for n in rng.integers(1, 4, 2))
    return call_of(normal(rng, extents(rng, 4, 4)), factors=factors)


def concat(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 1, 3)
    axis = int(rng.integers(len(shape)))
    parts = [
        (*shape[:axis], int(rng.integers(1, 4)), *shape[axis + 1 :])
        for _ in range(rng.integers(1, 4))
    ]
    return call_of(*(normal(rng, part) for part in parts), axis=axis - len(shape))


def split(rng: np.random.Generator) -> OperatorCall:
    shape = list(extents(rng, 1, 3))
    axis = int(rng.integers(len(shape)))
    sizes = tuple(int(n) for n in rng.integers(0, 3, rng.integers(1, 4)))
    sizes = (*sizes, 1)
    shape[axis] = sum(sizes)
    return call_of(normal(rng, tuple(shape)), sizes=sizes, axis=axis)


def sliced(rng: np.random.Generator) -> OperatorCall:
    shape = tuple(int(n) for n in rng.integers(1, 7, rng.integers(1, 4)))
    axes = tuple(int(n) for n in rng.permutation(len(shape))[: rng.integers(1, len(shape) + 1)])
    starts, ends, steps = [], [], []
    for axis in axes:
        step = int(rng.choice([-3, -2, -1, 1, 2, 3]))
        low, high = sorted(int(n) for n in rng.integers(-shape[axis] - 1, shape[axis] + 2, 2))
        starts.append(low if step > 0 else high)
        ends.append(high if step > 0 else low)
        steps.append(step)
    return call_of(
        normal(rng, shape), starts=tuple(starts), ends=tuple(ends), axes=axes, steps=tuple(steps)
    )


def pad(rng: np.random.Generator) -> OperatorCall:
    shape = tuple(int(n) for n in rng.integers(3, 5, rng.integers(1, 4)))
    mode = list(PadMode)[int(rng.integers(4))]
    pads = tuple(int(n) for n in rng.integers(-1, 4, 2 * len(shape)))
    return call_of(normal(rng, shape), pads=pads, mode=mode)


def gather(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 1, 3)
    axis = int(rng.integers(-len(shape), len(shape)))
    extent = shape[axis]
    return call_of(normal(rng, shape), rng.integers(-extent, extent, extents(rng, 0, 2)), axis=axis)


def gather_elements(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 1, 3)
    axis = int(rng.integers(len(shape)))
    own = list(shape)
    own[axis] = int(rng.integers(1, 5))
    return call_of(normal(rng, shape), rng.integers(-shape[axis], shape[axis], own), axis=axis)


def gather_nd(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 1, 4)
    batch = int(rng.integers(0, len(shape)))
    depth = int(rng.integers(1, len(shape) - batch + 1))
    outer = (*shape[:batch], *extents(rng, 0, 2)) if batch else extents(rng, 1, 2)
    columns = [rng.integers(-n, n, outer) for n in shape[batch : batch + depth]]
    return call_of(normal(rng, shape), np.stack(columns, -1), batch_dims=batch)


def one_hot(rng: np.random.Generator) -> OperatorCall:
    shape, depth = extents(rng), int(rng.integers(1, 4))
    axis = int(rng.integers(-len(shape) - 1, len(shape) + 1))
    indices = np.asarray(rng.integers(-depth - 1, depth + 1, shape))
    return call_of(indices, normal(rng, (2,)), depth=depth, axis=axis)


def put_row(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 1, 3)
    index = np.array(rng.integers(-1, shape[0] + 1))
    return call_of(normal(rng, shape), normal(rng, shape[1:]), index)


_REDUCTIONS = (ScatterReduction.NONE, ScatterReduction.ADD)


def scatter_elements(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 1, 3)
    axis = int(rng.integers(len(shape)))
    own = tuple(int(rng.integers(1, n + 1)) for n in shape)
    indices = rng.integers(-shape[axis] - 1, shape[axis] + 1, own)
    choices = chosen(rng, {"reduction": _REDUCTIONS})
    return call_of(normal(rng, shape), indices, normal(rng, own), axis=axis, **choices)


def scatter_nd(rng: np.random.Generator) -> OperatorCall:
    shape = extents(rng, 1, 3)
    depth = int(rng.integers(1, len(shape) + 1))
    outer = extents(rng, 1, 2)
    indices = np.stack([rng.integers(-n - 1, n + 1, outer) for n in shape[:depth]], -1)
    choices = chosen(rng, {"reduction": _REDUCTIONS})
    return call_of(normal(rng, shape), indices, normal(rng, (*outer, *shape[depth:])), **choices)


def col2im(rng: np.random.Generator) -> OperatorCall:
    rank = int(rng.integers(1, 4))
    kernel, strides, dilation, more = (
        tuple(int(n) for n in rng.integers(1, 3, rank)) for _ in range(4)
    )
    padding = tuple(int(n) for n in rng.integers(0, 2, 2 * rank))
    image = tuple(f * (k - 1) + n for f, k, n in zip(dilation, kernel, more, strict=True))
    counts = [
        (image[a] + padding[a] + padding[rank + a] - dilation[a] * (kernel[a] - 1) - 1)
        // strides[a]
        + 1
        for a in range(rank)
    ]
    batch, channels = (int(n) for n in rng.integers(1, 3, 2))
    return call_of(
        normal(rng, (batch, channels * int(np.prod(kernel)), int(np.prod(counts)))),
        image=image,
        kernel=kernel,
        strides=strides,
        padding=padding,
        dilation=dilation,
    )
