"""Operators that change the shape or the order of elements."""

from __future__ import annotations

from tandem.compiler.frontends.onnx.converter import Converter, direct
from tandem.compiler.frontends.onnx.node import Node
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.extents import Extent, product
from tandem.compiler.graph.operators.shapes import (
    DepthToSpace,
    Expand,
    SpaceToDepth,
    Squeeze,
    Tile,
    Transpose,
    Unsqueeze,
)

_MODES = ("DCR", "CRD")
"""The orders of a channel's parts: depth, column, row (DCR) or column, row, depth (CRD)."""

_SHAPE = "the shape has to be known at import"


def _reshape(node: Node) -> Value:
    data = node.input(0)
    given = node.integers("shape") if node.has("shape") else node.extents(1)
    shape: tuple[Extent, ...] = node.needed(given, "the shape is missing")
    wanted = list(shape)
    if not node.integer("allowzero", 0):
        for axis, extent in enumerate(wanted):
            if extent == 0:
                if axis >= data.rank:
                    node.refuse(f"the shape {list(map(str, shape))} has a 0 beyond {data.type}")
                wanted[axis] = data.shape[axis]
    return node.reshape(data, wanted)


def _flatten(node: Node) -> Value:
    data, axis = node.input(0), node.integer("axis")
    if not -data.rank <= axis <= data.rank:
        node.refuse(f"axis {axis} of {data.type}")
    at = axis + data.rank if axis < 0 else axis
    return node.reshape(data, (product(data.shape[:at]), product(data.shape[at:])))


def _axes(node: Node) -> tuple[int, ...] | None:
    """The axes: an attribute up to opset 12, an operand from opset 13 on."""
    return node.integers("axes") if node.has("axes") else node.numbers(1)


def _squeeze(node: Node) -> Value:
    return node.call("squeeze", node.input(0), to=Squeeze(_axes(node)))


def _unsqueeze(node: Node) -> Value:
    axes = node.needed(_axes(node), "axes are missing")
    return node.call("unsqueeze", node.input(0), to=Unsqueeze(axes))


def _expand(node: Node) -> Value:
    data, shape = node.input(0), node.needed(node.extents(1), "the shape is missing")
    wanted: list[int] = []
    for back, extent in enumerate(reversed(shape), 1):
        own: Extent = data.shape[-back] if back <= data.rank else 1
        if isinstance(extent, int):
            wanted.insert(0, extent)
        elif own == extent:
            # Broadcasting with 1 keeps any extent.
            wanted.insert(0, 1)
        else:
            node.unsupported(f"{data.type} to {', '.join(map(str, shape))}: give shapes")
    return node.call("expand", data, to=Expand(tuple(wanted)))


def _tile(node: Node) -> Value:
    data = node.input(0)
    if node.version == 1:
        times, axis = (int(node.scalar(position) or 0) for position in (1, 2))
        (axis,) = node.axes((axis,), data)
        repeats = tuple(times if each == axis % data.rank else 1 for each in range(data.rank))
    else:
        repeats = node.needed(node.numbers(1), "repeats are missing")
    return node.call("tile", data, to=Tile(repeats))


def _depth_to_space(node: Node) -> Value:
    mode = node.word("mode", _MODES, "DCR")
    to = DepthToSpace(node.integer("blocksize"), mode == "CRD")
    return node.call("depth_to_space", node.input(0), to=to)


def _space_to_depth(node: Node) -> Value:
    data, block = node.input(0), node.integer("blocksize")
    if node.word("mode", _MODES, "DCR") == "DCR":
        return node.call("space_to_depth", data, to=SpaceToDepth(block))
    batch, channels, *image = data.shape if data.rank == 4 else (1, 1, None, None)
    if block < 1:
        node.refuse(f"blocks of {block}")
    height, width = (each if isinstance(each, int) and each % block == 0 else 0 for each in image)
    if not height or not width:
        node.refuse(f"{data.type} is not made of blocks of {block}")
    rows = (batch, channels, height // block, block, width // block, block)
    moved = node.call("transpose", node.reshape(data, rows), to=Transpose((0, 1, 3, 5, 2, 4)))
    depth = product((channels, block, block))
    return node.reshape(moved, (batch, depth, height // block, width // block))


CONVERTERS: tuple[Converter, ...] = (
    Converter(
        "Reshape", (1, 5, 13, 14, 19, 21, 23, 24, 25), _reshape, _SHAPE, takes_stored_floats=True
    ),
    Converter("Flatten", (1, 9, 11, 13, 21, 23, 24, 25), _flatten, takes_stored_floats=True),
    Converter(
        "Squeeze",
        (1, 11, 13, 21, 23, 24, 25),
        _squeeze,
        "axes known at import",
        takes_stored_floats=True,
    ),
    Converter(
        "Unsqueeze",
        (1, 11, 13, 21, 23, 24, 25),
        _unsqueeze,
        "axes known at import",
        takes_stored_floats=True,
    ),
    Converter("Transpose", (1, 13, 21, 23, 24, 25), direct("transpose"), takes_stored_floats=True),
    Converter("Expand", (8, 13), _expand, _SHAPE, takes_stored_floats=True),
    Converter("Tile", (1, 6, 13), _tile, "repeats known at import", takes_stored_floats=True),
    Converter("DepthToSpace", (1, 11, 13, 28), _depth_to_space, takes_stored_floats=True),
    Converter("SpaceToDepth", (1, 13, 28), _space_to_depth, takes_stored_floats=True),
)
