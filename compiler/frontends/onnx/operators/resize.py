"""Resizing of images."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import floor
from types import MappingProxyType
from typing import Final

import numpy as np

from compiler.frontends.onnx.converter import Converter
from compiler.frontends.onnx.node import Node
from compiler.frontends.onnx.values import Array, Value
from compiler.graph.operators.parts import Gather

_LARGEST: Final = 1 << 20
"""The maximum extent of an axis of the result."""


def _upsample(node: Node) -> Value:
    data = node.input(0)
    # Up to opset 8 scales are an attribute.
    scales = _positive(node, node.reals("scales")) if node.has("scales") else _scales(node, 1)
    sizes = [_scaled(node, data, axis, scale) for axis, scale in enumerate(scales)]
    return _resized(node, data, range(data.rank), scales, sizes, "asymmetric", "floor")


def _resize(node: Node) -> Value:
    data = node.input(0)
    if node.version == 10:
        return _upsample(node)
    if node.integer("antialias", 0):
        node.unsupported("antialias")
    if node.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        node.unsupported("keep_aspect_ratio_policy")
    given = node.axes(node.integers("axes") or range(data.rank), data)
    axes = tuple(each % data.rank for each in given)
    wanted = node.numbers(3)
    sizes: list[int | None]
    if wanted:
        scales = [_ratio(node, data, *each) for each in zip(axes, wanted, strict=False)]
        sizes = list(wanted)
    else:
        scales = _scales(node, 2)
        sizes = [_scaled(node, data, each, at) for each, at in zip(axes, scales, strict=False)]
    if not len(axes) == len(scales) == len(sizes):
        node.refuse(f"{len(scales)} scales for {len(axes)} axes of {data.type}")
    place = node.text("coordinate_transformation_mode")
    return _resized(node, data, axes, scales, sizes, place, node.text("nearest_mode"))


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


def _resized(
    node: Node,
    data: Value,
    axes: Sequence[int],
    scales: Sequence[float],
    sizes: Sequence[int | None],
    place: str,
    nearest: str,
) -> Value:
    """Resize one axis after the other, by gathers with constant indices and weights."""
    mode = node.text("mode")
    if mode not in ("nearest", "linear"):
        node.unsupported(f"mode {mode}")
    for axis, scale, size in zip(axes, scales, sizes, strict=True):
        extent = data.shape[axis]
        if size is None or (size == extent and scale == 1.0):
            continue
        assert isinstance(extent, int), "it was multiplied"
        if not 0 < size <= _LARGEST or extent < 1:
            node.unsupported(f"{extent} elements to {size}")
        where = _places(node, extent, size, scale, place)
        if mode == "nearest":
            if nearest not in _NEAREST:
                node.refuse(f"nearest_mode is {nearest!r}")
            at = np.clip(_NEAREST[nearest](where), 0, extent - 1)
            data = _taken(node, data, at, axis)
            continue
        low = np.floor(where)
        part = (where - low).astype(data.dtype.numpy)
        shape = [size if each == axis else 1 for each in range(data.rank)]
        first, second = (_taken(node, data, np.clip(low + k, 0, extent - 1), axis) for k in (0, 1))
        weights = [node.constant(each.reshape(shape)) for each in (1 - part, part)]
        terms = [node.call("multiply", x, w) for x, w in zip((first, second), weights, strict=True)]
        data = node.call("add", *terms)
    return data


def _taken(node: Node, data: Value, at: Array, axis: int) -> Value:
    return node.call("gather", data, node.constant(at.astype(np.int64)), to=Gather(axis))


def _places(node: Node, extent: int, size: int, scale: float, mode: str) -> Array:
    """The coordinate of each element of the result in the operand."""
    new = np.arange(size, dtype=np.float64)
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


_LIMITS = "modes nearest and linear, no antialias, sizes or scales known at import"

CONVERTERS: tuple[Converter, ...] = (
    Converter("Resize", (10, 11, 13, 18, 19), _resize, _LIMITS),
    Converter("Upsample", (7, 9), _upsample, "scales known at import"),
)
