"""Random expressions for the array: products of matrices and windows, in any order of axes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.pad import pad
from tandem.compiler.te import Tensor, compute, placeholder, reduce_axis
from tandem.compiler.te.build import program_of
from tandem.compiler.te.tensor import Reduction


def drawn_product(rng: np.random.Generator) -> Tensor:
    """A sum of products of bytes, with what may follow it, as int8."""
    windows = int(rng.integers(0, 3))
    plain = int(rng.integers(1 if windows == 0 else 0, 3))
    channels, lanes = (int(each) for each in rng.integers(1, 12, 2))
    places = [int(each) for each in rng.integers(1, 5, plain)]
    counts = [int(each) for each in rng.integers(1, 6, windows)]
    kernels = [int(each) for each in rng.integers(1, 4, windows)]
    strides = [int(each) for each in rng.integers(1, 3, windows)]
    before = [int(rng.integers(0, 2)) if rng.random() < 0.4 else 0 for _ in kernels]
    extents = [
        max(1, (count - 1) * stride + kernel - 2 * edge)
        for count, stride, kernel, edge in zip(counts, strides, kernels, before, strict=True)
    ]
    counts = [
        (extent + 2 * edge - kernel) // stride + 1
        for extent, edge, kernel, stride in zip(extents, before, kernels, strides, strict=True)
    ]
    # Channels first or last; weights in any order of their axes.
    first = bool(rng.random() < 0.5)
    shape = [*places, *([channels] if first else []), *extents, *([] if first else [channels])]
    image = placeholder(shape, INT8, "image")
    order = [int(each) for each in rng.permutation(2 + windows)]
    sizes = [lanes, channels, *kernels]
    weight = placeholder([sizes[at] for at in order], INT8, "weight")
    start = plain + first
    read: Tensor = image
    if any(before):
        edges = [0] * len(shape)
        edges[start : start + windows] = before
        read = pad(image, (*edges, *edges), name="padded")
    term = reduce_axis(channels, "c")
    taps = [reduce_axis(kernel, f"k{at}") for at, kernel in enumerate(kernels)]
    lane_at = int(rng.integers(0, plain + windows + 1))

    def element(*axes: Expr) -> Reduction:
        others = [*axes[:lane_at], *axes[lane_at + 1 :]]
        pixels = [
            axis * stride + tap
            for axis, stride, tap in zip(others[plain:], strides, taps, strict=True)
        ]
        middle: list[Expr] = [term, *pixels] if first else [*pixels, term]
        parts: list[Expr] = [axes[lane_at], term, *taps]
        product = te.cast(read[(*others[:plain], *middle)], INT32) * te.cast(
            weight[tuple(parts[at] for at in order)], INT32
        )
        return te.sum(product, (term, *taps))

    spatial = [*places, *counts]
    spatial.insert(lane_at, lanes)
    names = [f"x{at}" for at in range(len(spatial))]
    sums = compute(spatial, element, "sums", names)
    return _followed(rng, sums, lane_at)


def _followed(rng: np.random.Generator, sums: Tensor, lane_at: int) -> Tensor:
    """Sums, with a bias, a residual, a shift and limits, each of which may be missing."""
    assert sums.source is not None
    names = [axis.name for axis in sums.source.axes]
    bias = placeholder((sums.shape[lane_at],), INT32, "bias")
    skip = placeholder(sums.shape, INT8, "skip")
    adds, skips, shifts, clips = (bool(each) for each in rng.random(4) < 0.5)
    shift, low = int(rng.integers(0, 9)), int(rng.integers(-100, 1))

    def value(*axes: Expr) -> Expr:
        found = sums[axes]
        if adds:
            found = bias[axes[lane_at]] + found
        if skips:
            found = found + te.cast(skip[axes], INT32)
        if shifts:
            found = found >> shift
        if clips:
            found = te.minimum(te.maximum(found, low), 100)
        return found

    if rng.random() < 0.5:
        return compute(sums.shape, lambda *axes: te.cast(value(*axes), INT8), "out", names)
    passed = compute(sums.shape, value, "passed", names)
    return compute(sums.shape, lambda *axes: te.cast(passed[axes], INT8), "out", names)


def drawn_values(rng: np.random.Generator, output: Tensor) -> dict[str, NDArray[np.generic]]:
    """Random values of an expression's inputs, by name."""
    found: dict[str, NDArray[np.generic]] = {}
    for buffer in program_of([output]).inputs:
        most = 127 if buffer.dtype == INT8 else 10_000
        found[buffer.name] = rng.integers(-most, most, buffer.shape).astype(buffer.dtype.numpy)
    return found
