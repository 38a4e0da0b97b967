"""Models of float32 as models of float16: inputs, weights and results."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, numpy_helper


def in_float16(model: ModelProto) -> ModelProto:
    """The model with float16 in place of float32 everywhere; its numbers are rounded."""
    found = ModelProto()
    found.CopyFrom(model)
    graph = found.graph
    for tensor in graph.initializer:
        _round(tensor)
    _retype((*graph.input, *graph.output, *graph.value_info))
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                _round(attribute.t)
            if attribute.type == AttributeProto.GRAPH:
                raise ValueError(f"{node.name}: {node.op_type} has a graph of its own")
            if _is_type(node, attribute) and attribute.i == TensorProto.FLOAT:
                attribute.i = TensorProto.FLOAT16
    return found


def _is_type(node: NodeProto, attribute: AttributeProto) -> bool:
    return (node.op_type, attribute.name) == ("Cast", "to") or attribute.name == "dtype"


def _round(tensor: TensorProto) -> None:
    if tensor.data_type == TensorProto.FLOAT:
        array = numpy_helper.to_array(tensor)
        with np.errstate(over="ignore"):
            tensor.CopyFrom(numpy_helper.from_array(array.astype(np.float16), tensor.name))


def _retype(values: Iterable[ValueInfoProto]) -> None:
    for value in values:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.FLOAT16
