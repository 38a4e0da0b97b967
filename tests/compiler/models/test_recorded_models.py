"""The small built-in networks stay what they were: nodes, attributes, weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from zlib import crc32

import numpy as np
from onnx import GraphProto, ModelProto, ValueInfoProto, helper, numpy_helper

from tandem.compiler.models import BUILT_IN, built_in

_LARGE = 64
"""Elements of a weight whose numbers are not listed."""


def _array(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> str:
    """Type and shape, with the numbers, or of many a checksum of the first digits."""
    kind = f"{array.dtype}{list(array.shape)}"
    if array.size <= _LARGE:
        return f"{kind} {np.array2string(array, precision=4)}"
    rounded = np.round(array.astype(np.float64), 4) + 0.0
    return f"{kind} {crc32(rounded.tobytes()):08x}"


def _info(info: ValueInfoProto) -> str:
    kind = info.type.tensor_type
    extents = [dim.dim_param or dim.dim_value for dim in kind.shape.dim]
    return f"{info.name} {kind.elem_type} {extents}"


def _lines(graph: GraphProto) -> Iterator[str]:
    yield from map(_info, (*graph.input, *graph.output))
    for node in graph.node:
        attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        bodies = [each for each in attributes.values() if isinstance(each, GraphProto)]
        numbers = {name: v for name, v in attributes.items() if not isinstance(v, GraphProto)}
        yield f"{node.name} {node.op_type} {[*node.input]} -> {[*node.output]} {numbers}"
        for body in bodies:
            yield from _lines(body)
    for weight in graph.initializer:
        yield f"{weight.name} {_array(numpy_helper.to_array(weight))}"


def _text(model: ModelProto) -> str:
    opsets = [(each.domain, each.version) for each in model.opset_import]
    return "\n".join([f"{model.graph.name} {opsets} {model.ir_version}", *_lines(model.graph)])


def test_models(recorded: Callable[[str, Mapping[str, str]], None]) -> None:
    names = [name for name in BUILT_IN if name.endswith("-tiny") or name == "digits"]
    found = {name: _text(built_in(name)) for name in names}
    recorded("recorded/models/built_in.txt", found)
