"""The domain of ONNX Runtime's own operators."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from onnx import GraphProto, ModelProto, NodeProto, defs
from onnx.helper import make_operatorsetid

from tandem.compiler.frontends.onnx.converter import Convert, Converter
from tandem.compiler.frontends.onnx.definitions import Definition
from tandem.compiler.frontends.onnx.node import domain_of
from tandem.compiler.frontends.onnx.reading import all_graphs

DOMAIN: Final = "com.microsoft"

_STRAYS: Final = ("LayerNormalization", "SimplifiedLayerNormalization")
"""ONNX Runtime's operators that its optimiser writes into the standard's domain."""

REMEDIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        f"{DOMAIN}.nchwc.": "ONNX Runtime laid this model out for one machine: save it with "
        "ORT_ENABLE_EXTENDED instead of ORT_ENABLE_ALL",
    }
)
"""What helps, by the beginning of the names of operators that are not supported."""


def own_converter(
    operator: str, convert: Convert, definition: Definition, limits: str = ""
) -> Converter:
    """The converter of one of ONNX Runtime's operators, all of which are of version 1."""
    return Converter(f"{DOMAIN}.{operator}", (1,), convert, limits, definition=definition)


def is_own(node: NodeProto) -> bool:
    """Whether the `onnx` package does not know a node's operator, which is ONNX Runtime's."""
    return domain_of(node) == DOMAIN


def with_own_domain(model: ModelProto) -> ModelProto:
    """The model with all of ONNX Runtime's operators in their domain, as ONNX's checker wants.

    ONNX Runtime takes models that do not import the domain, and its optimiser writes layer
    normalisations of opset 16 and older into the standard's.
    """
    versions = {
        "" if it.domain == "ai.onnx" else it.domain: it.version for it in model.opset_import
    }
    if DOMAIN in versions and not _strays(model.graph, versions.get("", 1)):
        return model
    found = ModelProto()
    found.CopyFrom(model)
    strays = _strays(found.graph, versions.get("", 1))
    used = {domain_of(node) for each in all_graphs(found.graph) for node in each.node}
    if DOMAIN not in versions and (strays or DOMAIN in used):
        found.opset_import.append(make_operatorsetid(DOMAIN, 1))
    for node in strays:
        node.domain = DOMAIN
    return found


def _strays(graph: GraphProto, opset: int) -> list[NodeProto]:
    """The nodes of ONNX Runtime's operators in the standard's domain."""
    return [
        node
        for inner in all_graphs(graph)
        for node in inner.node
        if node.op_type in _STRAYS
        and domain_of(node) == ""
        and not defs.has(node.op_type, opset, "")
    ]
