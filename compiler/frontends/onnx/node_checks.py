"""Checks of a model's nodes before they are converted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from onnx import GraphProto, ModelProto, NodeProto

from tandem.compiler.errors import FrontendError, UnsupportedError
from tandem.compiler.frontends.onnx.definitions import Definition, standard
from tandem.compiler.frontends.onnx.functions import Functions, definition, expanded, unused_prefix
from tandem.compiler.frontends.onnx.inputs import inputs_behind
from tandem.compiler.frontends.onnx.legality import legal
from tandem.compiler.frontends.onnx.node import describe, domain_of, qualified_name
from tandem.compiler.frontends.onnx.operators import CONVERTERS, EXPANDED
from tandem.compiler.frontends.onnx.operators.microsoft.domain import REMEDIES
from tandem.compiler.frontends.onnx.reading import all_graphs, all_nodes, graphs_of
from tandem.compiler.frontends.onnx.segments import (
    check_names,
    outside_choices,
    segment,
)
from tandem.compiler.frontends.onnx.values import Value

_STABLE: Final = 7
"""The first opset after the operators that were experimental, which have no definition now."""


def converter_definition(node: NodeProto, versions: Mapping[str, int]) -> Definition | None:
    """The definition of a node's operator; None if the operator is unsupported."""
    converter, domain = CONVERTERS.get(qualified_name(node)), domain_of(node)
    if converter is None or domain not in versions:
        return None
    found = converter.definition or standard(node.op_type, versions[domain], domain)
    return found if found is not None and found.version in converter.versions else None


class NodeChecks:
    """The checks of a model's nodes, run by run, and the nodes that were checked.

    Attributes
    ----------
    versions
        The opset version of each domain.
    used
        The names of all tensors that are operands or results, in the bodies of nodes too.
    """

    def __init__(
        self,
        model: ModelProto,
        versions: Mapping[str, int],
        inputs: Sequence[str],
    ) -> None:
        self.versions = versions
        self.used = _used(model.graph)
        self._model = model
        self._inputs = inputs
        self._prefix = unused_prefix(model.graph)
        self._nodes: list[NodeProto] = []

    def check_operators(self) -> None:
        """Raise an `UnsupportedError` that lists all operators that are not supported, and a
        `FrontendError` for a node with which ONNX's own checks would end the process.

        Of those that are not supported, branches of an `If` are left out: they may never be looked
        at.
        """
        nodes = list(outside_choices(self._model.graph.node))
        _check_supported(nodes, self.versions, EXPANDED)
        for node in all_nodes(self._model.graph.node):
            _check_fatal(node)

    def checked(
        self, nodes: Sequence[NodeProto], values: Mapping[str, Value], declared: Mapping[str, int]
    ) -> list[NodeProto]:
        """The nodes with functions in place of operators, checked as `segment` has them.

        Raises errors as `import_model`.
        """
        check_names(nodes, values)
        apart = segment(self._model, nodes, values, declared)
        if any(graph.sparse_initializer for graph in graphs_of(apart.graph.node)):
            raise UnsupportedError("sparse initialisers are not supported")
        apart = expanded(apart, EXPANDED, self._prefix)
        found = list(apart.graph.node)
        _check_supported(list(all_nodes(found)), self.versions)
        legal(apart)
        self.used |= _used(apart.graph)
        self._nodes += found
        return found

    def decided(self, node: NodeProto, taken: GraphProto) -> None:
        """Note the branch of an `If` that is taken."""
        names = [each.name for each in taken.output]
        self._nodes.append(NodeProto(op_type=node.op_type, input=names, output=node.output))

    def inputs_behind(self, name: str) -> tuple[str, ...]:
        """The inputs that determine a value."""
        return inputs_behind(self._nodes, self._inputs, name)


def _used(graph: GraphProto) -> set[str]:
    """The names of all tensors that are operands or results, in the bodies of nodes too."""
    graphs = list(all_graphs(graph))
    found = {name for each in graphs for node in each.node for name in node.input}
    return found | {out.name for each in graphs for out in each.output}


def _check_fatal(node: NodeProto) -> None:
    """Raise a `FrontendError` for a GatherND whose batch_dims are negative: ONNX's inference of
    shapes reads memory before the shape."""
    for attribute in node.attribute:
        if node.op_type == "GatherND" and attribute.name == "batch_dims" and attribute.i < 0:
            raise FrontendError(f"{describe(node)}: batch_dims {attribute.i}: 0 or more")


def _check_supported(
    nodes: Sequence[NodeProto],
    versions: Mapping[str, int],
    replaceable: Functions = MappingProxyType({}),
) -> None:
    """Raise an `UnsupportedError` that lists all unsupported operators, if there are any.

    Those in `replaceable` are supported.
    """
    found: dict[str, list[str]] = {}
    for node in nodes:
        name = qualified_name(node)
        is_replaced = definition(node, versions) in replaceable.get(name, ())
        if not is_replaced and converter_definition(node, versions) is None:
            opset = versions.get(domain_of(node), "none")
            called = node.name or next(filter(None, node.output), "without a name")
            found.setdefault(f"{name} of opset {opset}", []).append(called)
    if found:
        listed = [f"{name} (node {', '.join(nodes_)})" for name, nodes_ in found.items()]
        listed += [
            remedy
            for prefix, remedy in REMEDIES.items()
            if any(name.startswith(prefix) for name in found)
        ]
        if versions.get("", _STABLE) < _STABLE:
            listed.append(f"export the model again in opset {_STABLE} or newer")
        raise UnsupportedError(f"operators that are not supported: {'; '.join(listed)}")
