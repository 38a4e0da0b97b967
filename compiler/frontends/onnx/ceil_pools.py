"""Pools with `ceil_mode` of opset 21 and older, for shape inference.

Up to opset 21, ONNX's inference counts a last window that begins in the trailing padding, which
neither its reference evaluator nor ONNX Runtime computes. From opset 22 on it counts none.
"""

from __future__ import annotations

from typing import Final

from onnx import FunctionProto, ModelProto, NodeProto
from onnx.helper import make_node, make_operatorsetid

_CORRECTED: Final = 22
"""The opset whose shape inference is right."""
_DOMAIN: Final = "corrected.ceil_mode"


def with_corrected_pools(model: ModelProto) -> ModelProto | None:
    """A copy of the model, for shape inference alone, in which such pools are functions of opset
    22; None if there are none."""
    if all(each.version >= _CORRECTED for each in model.opset_import if each.domain == ""):
        return None
    if not any(map(_rounds_up, model.graph.node)):
        return None
    found = ModelProto()
    found.CopyFrom(model)
    for node in filter(_rounds_up, found.graph.node):
        function = _function(node, f"pool{len(found.functions)}")
        found.functions.append(function)
        node.op_type, node.domain = function.name, function.domain
        del node.attribute[:]
    found.opset_import.append(make_operatorsetid(_DOMAIN, 1))
    return found


def _rounds_up(node: NodeProto) -> bool:
    return node.op_type in ("AveragePool", "MaxPool") and any(
        attribute.name == "ceil_mode" and attribute.i for attribute in node.attribute
    )


def _function(pool: NodeProto, name: str) -> FunctionProto:
    outputs = [f"y{number}" for number in range(len(pool.output))]
    inner = make_node(pool.op_type, ["x"], outputs)
    inner.attribute.extend(pool.attribute)
    return FunctionProto(
        name=name,
        domain=_DOMAIN,
        input=["x"],
        output=outputs,
        node=[inner],
        opset_import=[make_operatorsetid("", _CORRECTED)],
    )
