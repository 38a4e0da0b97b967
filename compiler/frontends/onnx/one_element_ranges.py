"""Operands of Range with one element and axes, for shape inference.

ONNX's inference refuses them once their shape is known; its reference evaluator and ONNX Runtime
take them, and ONNX's own definition of AffineGrid makes them.
"""

from __future__ import annotations

from typing import Final

from onnx import GraphProto, ModelProto
from onnx.helper import make_node

from tandem.compiler.frontends.onnx.reading import all_graphs

_SCALAR: Final = "range operand "
"""How names of operands without axes begin."""


def with_scalar_ranges(model: ModelProto) -> ModelProto | None:
    """A copy of the model, for shape inference alone, in which operands of Range have no axes of
    extent 1; None if there is no Range."""
    if not any(_has_range(each) for each in all_graphs(model.graph)):
        return None
    found = ModelProto()
    found.CopyFrom(model)
    for graph in all_graphs(found.graph):
        if _has_range(graph):
            _squeeze(graph)
    return found


def _has_range(graph: GraphProto) -> bool:
    return any(node.op_type == "Range" for node in graph.node)


def _squeeze(graph: GraphProto) -> None:
    nodes = list(graph.node)
    del graph.node[:]
    for node in nodes:
        if node.op_type == "Range":
            scalars = [f"{_SCALAR}{at} of {node.output[0]}" for at in range(len(node.input))]
            for name, scalar in zip(node.input, scalars, strict=True):
                graph.node.append(make_node("Squeeze", [name], [scalar]))
            node.input[:] = scalars
        graph.node.append(node)
