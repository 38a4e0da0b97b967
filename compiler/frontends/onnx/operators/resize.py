"""Resizing of images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import floor
from types import MappingProxyType
from typing import Final

import numpy as np

from tandem.compiler.frontends.onnx.converter import Converter
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import Array, Value
from tandem.compiler.graph.operators.parts import Gather
from tandem.compiler.graph.operators.reductions import Reduction
from tandem.compiler.graph.operators.shapes import Upsample

_LARGEST: Final = 1 << 20
"""The maximum extent of an axis of the result."""
_TAPS: Final = {"nearest": 1, "linear": 2, "cubic": 4}
"""The number of elements along an axis that one of the result depends on, by mode."""
_MOST_TERMS: Final = 4
"""The maximum number of elements that are added in one expression."""
_CROPPING: Final = "tf_crop_and_resize"
"""The mode that resizes a region of the image."""
_PIXELS: Final = (2, 3)
"""The axes of rows and columns of images."""
_POLICIES: Final = ("stretch", "not_larger", "not_smaller")
"""Whether all axes have their own scale, the least or the greatest scale."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """The resizing of one axis.

    Attributes
    ----------
    size
        The extent of the result; None if the operand's extent, perhaps symbolic, is kept.
    start, end
        The part of the axis that is resized, as fractions of it.
    """

    axis: int
    scale: float
    size: int | None
    start: float = 0.0
    end: float = 1.0


@dataclass(frozen=True, slots=True)
class _Method:
    """How elements are interpolated: the operator's attributes, with their defaults."""

    mode: str
    place: str
    nearest: str = "floor"
    antialias: bool = False
    exclude_outside: bool = False
    cubic: float = -0.75
    outside: float = 0.0


def _upsample(node: Node) -> Value:
    data = node.input(0)
    # Up to opset 8 scales are attributes.
    if node.has("height_scale"):
        images = (1.0, 1.0, node.real("height_scale"), node.real("width_scale"))
        scales = _positive(node, images)
    elif node.has("scales"):
        scales = _positive(node, node.reals("scales"))
    else:
        scales = _scales(node, 1)
    axes = [
        _Axis(axis, scale, _scaled(node, data, axis, scale)) for axis, scale in enumerate(scales)
    ]
    return _resized(node, data, axes, _Method(node.word("mode", _TAPS), "asymmetric"))


def _resize(node: Node) -> Value:
    data = node.input(0)
    if node.version == 10:
        return _upsample(node)
    given = node.axes(node.integers("axes") or range(data.rank), data)
    axes = tuple(each % data.rank for each in given)
    wanted = node.numbers(3)
    sizes: list[int | None]
    if wanted:
        scales = [_ratio(node, data, *each) for each in zip(axes, wanted, strict=False)]
        sizes = list(wanted)
        policy = node.word("keep_aspect_ratio_policy", _POLICIES, "stretch")
        if policy != "stretch":
            scales = [(min if policy == "not_larger" else max)(scales)] * len(scales)
            sizes = [
                int(node.extent(axis, data) * scale + 0.5)
                for axis, scale in zip(axes, scales, strict=False)
            ]
    else:
        scales = _scales(node, 2)
        sizes = [_scaled(node, data, each, at) for each, at in zip(axes, scales, strict=False)]
    if not len(axes) == len(scales) == len(sizes):
        node.refuse(f"{len(scales)} scales for {len(axes)} axes of {data.type}")
    method = _Method(
        node.word("mode", _TAPS),
        node.text("coordinate_transformation_mode"),
        node.text("nearest_mode"),
        bool(node.integer("antialias", 0)),
        bool(node.integer("exclude_outside")),
        node.real("cubic_coeff_a"),
        node.real("extrapolation_value"),
    )
    regions = [(0.0, 1.0)] * len(axes)
    if method.place == _CROPPING:
        regions = _regions(node, len(axes))
    resized = [
        _Axis(axis, scale, size, start, end)
        for axis, scale, size, (start, end) in zip(axes, scales, sizes, regions, strict=True)
    ]
    return _resized(node, data, resized, method)


def _regions(node: Node, count: int) -> list[tuple[float, float]]:
    """The start and the end of the part of each axis."""
    found = node.needed(node.known(1), "the region of interest is missing").reshape(-1)
    if found.size != 2 * count or found.dtype == object:
        node.refuse(f"{found.size} numbers for the region of {count} axes")
    return [(float(found[each]), float(found[count + each])) for each in range(count)]


def _scales(node: Node, position: int) -> list[float]:
    found = node.known(position)
    if found is None or found.dtype == object:
        node.refuse("scales are missing")
    return _positive(node, found.reshape(-1))


def _positive(node: Node, found: Iterable[float]) -> list[float]:
    scales = [float(each) for each in found]
    if len(scales) == 0 or not all(0 < each < _LARGEST for each in scales):
        node.refuse(f"scales {scales}")
    return scales


def _scaled(node: Node, data: Value, axis: int, scale: float) -> int | None:
    """The extent of the result; None if the operand's extent, perhaps symbolic, is kept."""
    if axis >= data.rank:
        node.refuse(f"more scales than axes of {data.type}")
    return None if scale == 1.0 else floor(node.extent(axis, data) * scale)


def _ratio(node: Node, data: Value, axis: int, size: int) -> float:
    extent = node.extent(axis, data)
    if extent < 1:
        node.unsupported(f"axis {axis} of {data.type}: give its shape")
    return size / extent


def _resized(node: Node, data: Value, axes: Sequence[_Axis], method: _Method) -> Value:
    """Repeat rows and columns, if each is repeated equally often; else resize one axis after the
    other, by gathers with constant indices and weights."""
    repeated = _repetitions(node, data, axes, method)
    if repeated is not None:
        return node.call("upsample", data, to=repeated)
    for resized in axes:
        extent, whole = data.shape[resized.axis], (resized.start, resized.end) == (0.0, 1.0)
        if resized.size is None and whole:
            continue
        if resized.size == extent and resized.scale == 1.0 and whole:
            continue
        if not isinstance(extent, int):
            node.unsupported(f"axis {resized.axis} of {data.type}: give its shape")
        size = extent if resized.size is None else resized.size
        if not 0 < size <= _LARGEST or extent < 1:
            node.unsupported(f"{extent} elements to {size}")
        where = _places(node, extent, size, resized, method.place)
        data = _interpolated(node, data, resized, where, method)
        if method.place == _CROPPING:
            outside = (where < 0) | (where > extent - 1)
            shape = [size if axis == resized.axis else 1 for axis in range(data.rank)]
            mask = node.constant(outside.reshape(shape))
            data = node.call("where", mask, node.number(method.outside, data), data)
    return data


def _repetitions(
    node: Node, data: Value, axes: Sequence[_Axis], method: _Method
) -> Upsample | None:
    """How often resizing repeats each row and column of images; None if it does something else."""
    if data.rank != 4 or method.mode != "nearest" or method.place == _CROPPING:
        return None
    factors = [1, 1, 1, 1]
    for axis in axes:
        extent = data.shape[axis.axis]
        size = extent if axis.size is None else axis.size
        if size == extent and axis.scale == 1.0:
            continue
        if not isinstance(extent, int) or not isinstance(size, int) or size > _LARGEST:
            return None
        factor = size // max(extent, 1)
        if axis.axis not in _PIXELS or not factor or method.nearest not in _NEAREST:
            return None
        read = _nearest(_places(node, extent, size, axis, method.place), extent, method)
        if not np.array_equal(read, np.arange(size) // factor):
            return None
        factors[axis.axis] = factor
    return Upsample((factors[2], factors[3])) if max(factors) > 1 else None


def _interpolated(node: Node, data: Value, axis: _Axis, where: Array, method: _Method) -> Value:
    """The elements at positions along an axis."""
    extent = node.extent(axis.axis, data)
    if method.mode == "nearest":
        if method.nearest not in _NEAREST:
            node.refuse(f"nearest_mode is {method.nearest!r}")
        return _taken(node, data, _nearest(where, extent, method), axis.axis)
    indices, weights = _taps(where, axis.scale, method)
    if method.exclude_outside:
        weights = np.where((indices < 0) | (indices >= extent), 0.0, weights)
    if method.exclude_outside or method.antialias:
        total = weights.sum(0)
        weights = weights / np.where(total == 0, 1.0, total)
    indices = np.clip(indices, 0, extent - 1)
    weights = weights.astype(data.dtype.numpy)
    shape = [len(where) if each == axis.axis else 1 for each in range(data.rank)]
    if len(indices) > _MOST_TERMS:
        taken = _taken(node, data, indices, axis.axis)
        shape.insert(axis.axis, len(indices))
        weighted = node.call("multiply", taken, node.constant(weights.reshape(shape)))
        return node.call("reduce_sum", weighted, to=Reduction((axis.axis,), False))
    terms = [
        node.call(
            "multiply",
            _taken(node, data, at, axis.axis),
            node.constant(weight.reshape(shape)),
        )
        for at, weight in zip(indices, weights, strict=True)
    ]
    return reduce(lambda a, b: node.call("add", a, b), terms)


def _nearest(where: Array, extent: int, method: _Method) -> Array:
    """The index of the element nearest to each position, of `extent` elements."""
    return np.clip(_NEAREST[method.nearest](where), 0, extent - 1)


def _taps(where: Array, scale: float, method: _Method) -> tuple[Array, Array]:
    """The indices around positions, perhaps outside, and their weights: [taps, positions].

    Shrinking with `antialias` stretches the filter by the scale.
    """
    stretch = min(scale, 1.0) if method.antialias else 1.0
    reach = int(np.ceil(_TAPS[method.mode] / 2 / stretch))
    low = np.floor(where)
    indices = low + np.arange(1 - reach, reach + 1)[:, np.newaxis]
    far = np.abs(where - indices) * stretch
    if method.mode == "linear":
        return indices, np.clip(1 - far, 0, 1)
    # The cubic convolution of Keys (1981).
    a = method.cubic
    near = ((a + 2) * far - (a + 3)) * far * far + 1
    beyond = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a
    return indices, np.where(far <= 1, near, np.where(far < 2, beyond, 0.0))


def _taken(node: Node, data: Value, at: Array, axis: int) -> Value:
    return node.call("gather", data, node.constant(at.astype(np.int64)), to=Gather(axis))


def _places(node: Node, extent: int, size: int, axis: _Axis, mode: str) -> Array:
    """The coordinate of each element of the result in the operand."""
    new, scale = np.arange(size, dtype=np.float64), axis.scale
    match mode:
        case "half_pixel":
            found = (new + 0.5) / scale - 0.5
        case "half_pixel_symmetric":
            # The rounding error of the size is split between both ends.
            adjusted = size / (scale * extent)
            found = extent / 2 * (1 - adjusted) + (new + 0.5) / scale - 0.5
        case "pytorch_half_pixel":
            found = (new + 0.5) / scale - 0.5 if size > 1 else np.zeros(1)
        case "align_corners":
            # Uses the size before rounding, as ONNX's reference implementation does.
            last = scale * extent - 1
            found = new * (extent - 1) / last if last else np.zeros(size)
        case "asymmetric":
            found = new / scale
        case "tf_crop_and_resize":
            part = (axis.end - axis.start) * (extent - 1)
            last = scale * extent - 1
            steps = new * (part / last) if last else np.full(size, part / 2)
            found = axis.start * (extent - 1) + steps
        case _:
            node.unsupported(f"coordinate_transformation_mode {mode}")
    return np.asarray(found)


_NEAREST: Final[Mapping[str, Callable[[Array], Array]]] = MappingProxyType(
    {
        "round_prefer_floor": lambda where: np.ceil(where - 0.5),
        "round_prefer_ceil": lambda where: np.floor(where + 0.5),
        "floor": np.floor,
        "ceil": np.ceil,
    }
)


_LIMITS = "sizes or scales, and regions, known at import"

CONVERTERS: tuple[Converter, ...] = (
    Converter("Resize", (10, 11, 13, 18, 19), _resize, _LIMITS),
    Converter("Upsample", (1, 7, 9), _upsample, "scales known at import"),
)
