"""Runs of a model's nodes as models of their own, to be checked.

The values before a run have been converted, so that their types are known exactly, whatever the
model declares: of what it declares of values within, only element types are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper

from tandem.compiler.errors import FrontendError
from tandem.compiler.frontends.onnx.node import domain_of
from tandem.compiler.frontends.onnx.reading import MAX_SHAPE_ELEMENTS, all_nodes, graphs_of
from tandem.compiler.frontends.onnx.values import DTYPES, Value
from tandem.compiler.graph.extents import Dim

_NUMBERS: Final = MappingProxyType({dtype: number for number, dtype in DTYPES.items()})
"""ONNX's numbers of element types."""
_FIRST_WITH_CONSTANTS: Final = 4
"""The first IR version in which initialisers need not be inputs."""


def element_types(graph: GraphProto) -> dict[str, int]:
    """The element types that a graph declares for results of its nodes."""
    return {
        info.name: info.type.tensor_type.elem_type
        for info in (*graph.value_info, *graph.output)
        if info.type.HasField("tensor_type") and info.type.tensor_type.elem_type
    }


def segment(
    header: ModelProto,
    nodes: Sequence[NodeProto],
    values: Mapping[str, Value],
    declared: Mapping[str, int],
) -> ModelProto:
    """A model of nodes, whose inputs and initialisers are what the nodes use of `values`.

    Parameters
    ----------
    header
        Gives the versions.
    declared
        Element types of results.
    """
    found = ModelProto(
        ir_version=max(header.ir_version, _FIRST_WITH_CONSTANTS), opset_import=header.opset_import
    )
    graph = found.graph
    graph.name = "segment"
    graph.node.extend(nodes)
    for inner in graphs_of(graph.node):
        for info in (*inner.input, *inner.output, *inner.value_info):
            if info.type.HasField("tensor_type"):
                info.type.tensor_type.ClearField("shape")
    made = {name for node in graph.node for name in node.output}
    for name in dict.fromkeys(_used(graph.node)):
        if name not in values or name in made:
            continue
        value = values[name]
        known = value.known
        if known is not None and known.dtype != object and known.size <= MAX_SHAPE_ELEMENTS:
            graph.initializer.append(numpy_helper.from_array(known, name))
        else:
            graph.input.append(_info(name, value))
    for name in made & declared.keys():
        info = graph.value_info.add()
        info.name = name
        info.type.tensor_type.elem_type = declared[name]
    return found


def check_names(nodes: Iterable[NodeProto], values: Mapping[str, Value]) -> None:
    """Raise a `FrontendError` if a result of a node has the name of another value."""
    seen: set[str] = set()
    for node in nodes:
        for name in filter(None, node.output):
            if name in values or name in seen:
                raise FrontendError(f"the model is not legal: two values are called {name}")
            seen.add(name)


def is_choice(node: NodeProto) -> bool:
    """Whether a node is an `If` of ONNX."""
    return node.op_type == "If" and not domain_of(node)


def outside_choices(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """All nodes but those in the branches of an `If`, which may never be looked at."""
    for node in nodes:
        yield node
        if not is_choice(node):
            yield from all_nodes(each for inner in graphs_of([node]) for each in inner.node)


def _used(nodes: Iterable[NodeProto]) -> Iterator[str]:
    """The names that nodes use, in graphs inside them too."""
    listed = list(nodes)
    for node in all_nodes(listed):
        yield from filter(None, node.input)
    for graph in graphs_of(listed):
        yield from (info.name for info in graph.output)


def _info(name: str, value: Value) -> ValueInfoProto:
    shape: list[int | str | None] = []
    for axis, extent in enumerate(value.shape):
        if axis in value.counts:
            shape.append(None)
        else:
            shape.append(str(extent) if isinstance(extent, Dim) else extent)
    return helper.make_tensor_value_info(name, _NUMBERS[value.dtype], shape)
