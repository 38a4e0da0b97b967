"""Small products in blocks of `tiny`, whose axes have names and short extents."""

from __future__ import annotations

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.ir.expr import Expr
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.sketches.product import ArrayProduct, product_in
from tandem.compiler.operators.pad import pad
from tandem.compiler.te import Tensor, compute, placeholder, reduce_axis
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine

TINY = AcceleratorTarget.of(machine("tiny"))
"""One row, blocks of 4 by 4."""


def windows(
    blocks: int = 4,
    rows: int = 3,
    columns: int = 5,
    depth: int = 3,
    kernel: tuple[int, int] = (2, 3),
    stride: int = 1,
    *,
    padded: bool = False,
    passes: bool = True,
    skip: bool = False,
    in_inp: bool = False,
) -> Tensor:
    """A convolution of axes o, y, x over c, k and l; with a bias and a shift, and a residual.

    `in_inp`: passes read the residual itself, twice.
    """
    height, width = (rows - 1) * stride + kernel[0], columns - 1 + kernel[1]
    image = placeholder((depth, height, width - 2 * padded, 1, 4), INT8, "image")
    weight = placeholder((blocks, depth, *kernel, 4, 4), INT8, "weight")
    edges = (0, 0, 1, 0, 0)
    read = pad(image, (*edges, *edges), name="padded") if padded else image
    c, k, last, t = (
        reduce_axis(extent, name)
        for extent, name in ((depth, "c"), (kernel[0], "k"), (kernel[1], "l"), (4, "t"))
    )
    sums = compute(
        (blocks, rows, columns, 1, 4),
        lambda o, y, x, b, e: te.sum(
            te.cast(read[c, y * stride + k, x + last, b, t], INT32)
            * te.cast(weight[o, c, k, last, e, t], INT32),
            axis=(c, k, last, t),
        ),
        "sums",
    )
    return _result(sums, passes, skip, in_inp)


def matrices(
    rows: int = 6, blocks: int = 4, depth: int = 6, stacks: int = 1, *, passes: bool = False
) -> Tensor:
    """Products of matrices: of axes s, m and o over c; each stack has a weight of its own."""
    image = placeholder((stacks, rows, depth, 1, 4), INT8, "image")
    weight = placeholder((stacks, blocks, depth, 4, 4), INT8, "weight")
    c, t = reduce_axis(depth, "c"), reduce_axis(4, "t")
    sums = compute(
        (stacks, rows, blocks, 1, 4),
        lambda s, m, o, b, e: te.sum(
            te.cast(image[s, m, c, b, t], INT32) * te.cast(weight[s, o, c, e, t], INT32),
            axis=(c, t),
        ),
        "sums",
    )
    return _result(sums, passes)


def _result(sums: Tensor, passes: bool, skip: bool = False, in_inp: bool = False) -> Tensor:
    assert sums.source is not None
    names = [axis.name for axis in sums.source.axes]
    lanes = names.index("o")
    found = sums
    if passes:
        bias = placeholder((sums.shape[lanes], 1, 4), INT32, "bias")

        def added(*axes: Expr) -> Expr:
            return sums[axes] + bias[axes[lanes], axes[-2], axes[-1]]

        biased = compute(sums.shape, added, "biased", names)
        found = compute(sums.shape, lambda *axes: biased[axes] >> 3, "shifted", names)
    residual = placeholder(sums.shape, INT8, "skip")
    for name in ("once", "twice") if in_inp else ():
        found = _added(found, residual, name, names)
    if skip:
        wide = compute(sums.shape, lambda *axes: te.cast(residual[axes], INT32), "wide", names)
        before = found
        found = compute(sums.shape, lambda *axes: before[axes] + wide[axes], "summed", names)
    return compute(sums.shape, lambda *axes: te.cast(found[axes], INT8), "y", names)


def _added(one: Tensor, residual: Tensor, name: str, names: list[str]) -> Tensor:
    return compute(one.shape, lambda *axes: one[axes] + te.cast(residual[axes], INT32), name, names)


def product(output: Tensor, target: AcceleratorTarget = TINY) -> ArrayProduct:
    """The product of an expression in blocks."""
    return product_in(Schedule.of(output), target)
