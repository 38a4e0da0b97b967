"""Operators that sample images at computed positions."""

from __future__ import annotations

from math import prod
from typing import Final

import numpy as np

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.operators.convolutions import spatial_kernel, windows_of
from tandem.compiler.frontends.onnx.values import Array, Value
from tandem.compiler.graph.operators.elementwise import Clip
from tandem.compiler.graph.operators.indexed import Sample
from tandem.compiler.graph.operators.parts import Concat, Gather, Slice
from tandem.compiler.graph.operators.products import Product
from tandem.compiler.graph.operators.reductions import Reduction
from tandem.compiler.graph.operators.shapes import Expand, Transpose
from tandem.compiler.operators.sample import Border, SampleMode

_MODES: Final = {
    "nearest": SampleMode.NEAREST,
    "linear": SampleMode.LINEAR,
    "bilinear": SampleMode.LINEAR,
    "cubic": SampleMode.CUBIC,
    "bicubic": SampleMode.CUBIC,
}
"""Interpolations; those with `bi` are the names up to opset 19."""


_FAR: Final = 3
"""More elements than a cubic sample reaches to one side."""
_MOST_SAMPLES: Final = 1 << 24
"""Of one region."""


def _grid_sample(node: Node) -> Value:
    """Samples at positions whose coordinates, last axis first, are -1 and 1 at the borders."""
    data, grid = node.input(0), node.input(1)
    rank = data.rank - 2
    if grid.rank != data.rank or rank not in (1, 2, 3):
        node.unsupported(f"data {data.type} and grid {grid.type}: one to three spatial axes are")
    mode = _MODES[node.word("mode", _MODES)]
    aligned = bool(node.integer("align_corners"))
    extents = np.array([node.extent(2 + axis, data) for axis in range(rank)], grid.dtype.numpy)
    order = Slice((-1,), (-(1 << 30),), (grid.rank - 1,), (-1,))
    grid = node.call("slice", grid, to=order)
    ones = node.call("add", grid, node.number(1, grid))
    if aligned:
        halves = node.call("divide", ones, node.number(2, grid))
        positions = node.call("multiply", halves, node.constant(extents - 1))
    else:
        scaled = node.call("multiply", ones, node.constant(extents))
        less = node.call("subtract", scaled, node.number(1, grid))
        positions = node.call("divide", less, node.number(2, grid))
    if mode is SampleMode.NEAREST:
        positions = node.call("round_even", positions)
    border = _border(node, aligned)
    if border is Border.BORDER:
        positions = _in_reach(node, positions, extents)
    return node.call("sample", data, node.cast(positions, data.dtype), to=Sample(mode, border))


def _border(node: Node, aligned: bool) -> Border:
    word = node.word("padding_mode", ("zeros", "border", "reflection"))
    if word == "reflection":
        return Border.REFLECTION if aligned else Border.REFLECTION_AT_EDGES
    return Border(word)


def _in_reach(node: Node, positions: Value, extents: Array) -> Value:
    """Positions far outside of the image moved to where all that a sample depends on is one element
    at the border already: indices may be of any size then."""
    low = node.call("maximum", positions, node.number(-_FAR, positions))
    return node.call("minimum", low, node.constant(extents - 1 + _FAR))


def _affine_grid(node: Node) -> Value:
    """Positions of elements, between -1 and 1, transformed by a matrix for each image."""
    theta, size = node.input(0), node.needed(node.numbers(1), "the size is missing")
    image = size[2:]
    rank = len(image)
    if rank not in (2, 3) or theta.shape[1:] != (rank, rank + 1) or min(image) < 1:
        node.refuse(f"theta {theta.type} for the size {list(size)}")
    aligned = bool(node.integer("align_corners"))
    axes = [_places(extent, aligned) for extent in image]
    # Coordinates are in reverse order of the axes: x, y, z.
    places = [*reversed(np.meshgrid(*axes, indexing="ij")), np.ones(image)]
    base = np.stack([each.reshape(-1) for each in places], -1).astype(theta.dtype.numpy)
    turned = node.call("transpose", theta, to=Transpose((0, 2, 1)))
    grid = node.call("matmul", node.constant(base[np.newaxis]), turned, to=Product())
    return node.reshape(grid, (theta.shape[0], *image, rank))


def _places(extent: int, aligned: bool) -> Array:
    """The coordinates of the elements of an axis: of its ends if aligned, else of their centres."""
    if aligned:
        return np.linspace(-1, 1, extent)
    return np.asarray((np.arange(extent) * 2 + 1) / extent - 1)


def _deform_conv(node: Node) -> Value:
    """A convolution whose windows' elements are sampled at offsets from their positions."""
    data, weight, offset = node.input(0), node.input(1), node.input(2)
    bias, mask = node.optional(3), node.optional(4)
    kernel = spatial_kernel(node, data, weight)
    if len(kernel) != 2:
        node.unsupported(f"data {data.type}: two spatial axes are")
    windows, parts = windows_of(node, data, kernel), node.integer("offset_group")
    batch, channels, height, width = data.type.static_shape("data")
    outputs, inputs = weight.type.static_shape("weights")[:2]
    if offset.rank != 4:
        node.refuse(f"offsets {offset.type}")
    rows, columns = node.extent(2, offset), node.extent(3, offset)
    groups, elements = windows.groups, kernel[0] * kernel[1]
    if parts < 1 or channels % parts or channels != inputs * groups or outputs % groups:
        node.refuse(f"weights {weight.type} for {data.type} in {groups} groups, {parts} of offsets")
    if offset.shape != (batch, parts * elements * 2, rows, columns):
        node.refuse(f"offsets {offset.type}")
    # Offsets [N * parts, elements, rows, columns, 2] from the undisturbed positions.
    apart = node.reshape(offset, (batch * parts, elements, 2, rows, columns))
    apart = node.call("transpose", apart, to=Transpose((0, 1, 3, 4, 2)))
    tall = _starts(kernel[0], rows, windows.strides[0], windows.dilation[0], windows.padding[0])
    wide = _starts(kernel[1], columns, windows.strides[1], windows.dilation[1], windows.padding[1])
    full = (*kernel, rows, columns)
    base = np.stack(
        [
            np.broadcast_to(tall[:, np.newaxis, :, np.newaxis], full),
            np.broadcast_to(wide[np.newaxis, :, np.newaxis, :], full),
        ],
        -1,
    ).reshape(1, elements, rows, columns, 2)
    positions = node.call("add", apart, node.constant(base.astype(data.dtype.numpy)))
    images = node.reshape(data, (batch * parts, channels // parts, height, width))
    found = node.call("sample", images, positions, to=Sample(SampleMode.LINEAR, Border.ZEROS))
    if mask is not None:
        shown = node.reshape(mask, (batch * parts, 1, elements, rows, columns))
        found = node.call("multiply", found, shown)
    terms = node.reshape(found, (batch, groups, inputs * elements, rows * columns))
    factors = node.reshape(weight, (1, groups, outputs // groups, inputs * elements))
    result = node.call("matmul", factors, terms, to=Product())
    result = node.reshape(result, (batch, outputs, rows, columns))
    if bias is None:
        return result
    return node.call("add", result, node.reshape(bias, (outputs, 1, 1)))


def _starts(kernel: int, windows: int, stride: int, gap: int, before: int) -> Array:
    """The position of each element (row) of each window (column) along an axis."""
    return np.add.outer(np.arange(kernel) * gap, np.arange(windows) * stride - before)


def _roi_align(node: Node) -> Value:
    """The mean of samples in each cell of a grid over each region."""
    data, regions, numbers = node.input(0), node.input(1), node.input(2)
    if node.word("mode", ("avg", "max")) == "max":
        node.unsupported("mode max")
    ratio = node.integer("sampling_ratio")
    if ratio < 1:
        node.unsupported(f"sampling_ratio {ratio}: the number of samples depends on the regions")
    if data.rank != 4 or regions.rank != 2:
        node.refuse(f"data {data.type} and regions {regions.type}")
    halves = node.text("coordinate_transformation_mode", "output_half_pixel") == "half_pixel"
    cells = (node.integer("output_height"), node.integer("output_width"))
    if min(cells) < 1 or prod(cells) * ratio**2 > _MOST_SAMPLES:
        node.refuse(
            f"{cells[0]} times {cells[1]} cells of {ratio}² samples: one cell or more, and "
            f"{_MOST_SAMPLES} samples at most"
        )
    count = node.extent(0, regions)
    regions = node.call("multiply", regions, node.number(node.real("spatial_scale"), regions))
    if halves:
        regions = node.call("subtract", regions, node.number(0.5, regions))
    images = node.call("gather", data, numbers, to=Gather(0))
    along = []
    for axis, cell in enumerate(cells):
        # A region is x and y of its start, then of its end.
        first, last = (
            node.call("slice", regions, to=Slice((at,), (at + 1,), (1,)))
            for at in (1 - axis, 3 - axis)
        )
        length = node.call("subtract", last, first)
        if not halves:
            length = node.call("maximum", length, node.number(1, length))
        parts = (np.arange(cell * ratio) + 0.5) / (cell * ratio)
        steps = node.call(
            "multiply", length, node.constant(parts.astype(regions.dtype.numpy)[np.newaxis])
        )
        along.append(node.call("add", first, steps))
    extents = [node.extent(2, data), node.extent(3, data)]
    inside = [_near(node, *each) for each in zip(along, extents, strict=True)]
    clipped = [
        node.call("clip", places, to=Clip(0.0, float(extent - 1)))
        for places, extent in zip(along, extents, strict=True)
    ]
    tall, wide = (cell * ratio for cell in cells)
    positions = node.call(
        "concat",
        *(
            node.call("expand", node.reshape(places, shape), to=Expand((count, tall, wide, 1)))
            for places, shape in zip(
                clipped, ((count, tall, 1, 1), (count, 1, wide, 1)), strict=True
            )
        ),
        to=Concat(3),
    )
    found = node.call("sample", images, positions, to=Sample(SampleMode.LINEAR, Border.BORDER))
    both = node.call(
        "logical_and",
        node.reshape(inside[0], (count, 1, tall, 1)),
        node.reshape(inside[1], (count, 1, 1, wide)),
    )
    found = node.call("where", both, found, node.number(0, found))
    channels = node.extent(1, data)
    apart = node.reshape(found, (count, channels, cells[0], ratio, cells[1], ratio))
    return node.call("reduce_mean", apart, to=Reduction((3, 5), False))


def _near(node: Node, positions: Value, extent: int) -> Value:
    """Whether positions are at most one element outside of an axis."""
    return node.call(
        "logical_and",
        node.call("greater_or_equal", positions, node.number(-1, positions)),
        node.call("less_or_equal", positions, node.number(extent, positions)),
    )


_SHAPES = "shapes known at import"

CONVERTERS: tuple[Converter, ...] = (
    Converter("GridSample", (16, 20, 22), _grid_sample, "one to three spatial axes"),
    Converter("AffineGrid", (20,), _affine_grid, "the size known at import"),
    Converter("DeformConv", (19, 22), _deform_conv, f"two spatial axes, {_SHAPES}"),
    Converter("RoiAlign", (10, 16, 22), _roi_align, "mode avg, `sampling_ratio` of 1 or more"),
)
