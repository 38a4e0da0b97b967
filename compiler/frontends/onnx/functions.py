"""Replacement of operators by the functions that ONNX defines them as."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TypeProto,
    defs,
    shape_inference,
)
from onnx.helper import make_tensor_type_proto

from tandem.compiler.errors import FrontendError, UnsupportedError
from tandem.compiler.frontends.onnx.node import describe, domain_of, qualified_name
from tandem.compiler.frontends.onnx.reading import guarded, opsets

Functions: TypeAlias = Mapping[str, Collection[int]]
"""Versions of operators, by `qualified_name`, that are replaced."""

_Types: TypeAlias = Mapping[str, TypeProto]


def expanded(model: ModelProto, functions: Functions, prefix: str) -> ModelProto:
    """The model with nodes of `functions` replaced by the bodies of ONNX's definitions.

    Bodies may use other operators of `functions`, which are replaced too. Names of values within
    the bodies begin with `prefix`.

    Raises
    ------
    UnsupportedError
        ONNX defines no function for a node's operands.
    FrontendError
        ONNX's shape inference rejects the model.
    """
    expansion = _Expansion(functions, opsets(model), prefix)
    while expansion.finds(model.graph):
        model = _expanded_once(model, expansion)
    return model


def _expanded_once(model: ModelProto, expansion: _Expansion) -> ModelProto:
    """The model with the nodes replaced that it has now, not those in the bodies."""
    typed = guarded(lambda: shape_inference.infer_shapes(model, data_prop=True))
    result = ModelProto()
    result.CopyFrom(model)
    expansion.replace(result.graph, typed.graph, {})
    return result


def definition(node: NodeProto, versions: Mapping[str, int]) -> int | None:
    """The version of the definition of a node's operator: the opset in which it was last changed.

    None if the operator has no definition in the model's opset.
    """
    version = versions.get(domain_of(node), 0)
    if not defs.has(node.op_type, version, domain_of(node)):
        return None
    return defs.get_schema(node.op_type, version, domain_of(node)).since_version


@dataclass
class _Expansion:
    """The replacement of nodes, and the number of replaced nodes."""

    functions: Functions
    versions: Mapping[str, int]
    prefix: str
    count: int = 0

    def finds(self, graph: GraphProto) -> bool:
        """Whether the graph or a graph inside its nodes has nodes to replace."""
        return any(
            self._schema(node) is not None or any(map(self.finds, _graphs(node)))
            for node in graph.node
        )

    def replace(self, graph: GraphProto, typed: GraphProto, outer: _Types) -> None:
        """Replace nodes of `graph` in place; `typed` is the graph with inferred types."""
        types = {**outer, **_types(typed)}
        nodes = list(graph.node)
        del graph.node[:]
        for node, typed_node in zip(nodes, typed.node, strict=True):
            schema = self._schema(node)
            if schema is None:
                for inner, typed_inner in zip(_graphs(node), _graphs(typed_node), strict=True):
                    self.replace(inner, typed_inner, types)
                graph.node.append(node)
            else:
                body = _body(schema, node, types, self.versions[domain_of(node)])
                self.count += 1
                graph.node.extend(_instance(schema, body, node, f"{self.prefix}{self.count}_"))

    def _schema(self, node: NodeProto) -> defs.OpSchema | None:
        """The definition of a node's operator if the node is to be replaced."""
        known = self.functions.get(qualified_name(node), ())
        if not known or definition(node, self.versions) not in known:
            return None
        return defs.get_schema(node.op_type, self.versions[domain_of(node)], domain_of(node))


def _body(definition: defs.OpSchema, node: NodeProto, types: _Types, newest: int) -> FunctionProto:
    """The function that the newest definition up to opset `newest` gives for a node."""
    # The type hints of the `onnx` package leave out the methods for functions.
    schema: Any = definition
    plain = [each for each in schema.function_opset_versions if each <= newest]
    contexts = schema.context_dependent_function_opset_versions
    dependent = [each for each in contexts if each <= newest]
    if not plain and not dependent:
        raise UnsupportedError(f"{describe(node)}: not supported: ONNX's function is newer")
    _check_node(schema, node)
    content: bytes
    if plain:
        content = guarded(lambda: schema.get_function_with_opset_version(max(plain)))
    else:
        missing = [name for name in node.input if name and name not in types]
        if missing:
            raise UnsupportedError(
                f"{describe(node)}: not supported: the type of {missing[0]} is not known"
            )
        given = [
            types[name].SerializeToString() if name else TypeProto().SerializeToString()
            for name in node.input
        ]
        # The package's code relies on a legal node.
        content = guarded(
            lambda: schema.get_context_dependent_function_with_opset_version(
                max(dependent), node.SerializeToString(), given
            )
        )
    function = FunctionProto()
    function.ParseFromString(content)
    if not function.node:
        raise UnsupportedError(
            f"{describe(node)}: not supported: ONNX defines no function for these operands"
        )
    return function


def _check_node(schema: Any, node: NodeProto) -> None:
    """Raise a `FrontendError` unless a node has the operands and attributes of its definition."""
    given = {each.name: each for each in node.attribute}
    reason = ""
    if not schema.min_input <= len(node.input) <= schema.max_input:
        reason = f"{len(node.input)} operands"
    if not schema.min_output <= len(node.output) <= schema.max_output:
        reason = f"{len(node.output)} results"
    required = (name for name, declared in schema.attributes.items() if declared.required)
    for name in (*given, *required):
        if name not in schema.attributes or name not in given:
            reason = f"attribute {name}"
        elif int(given[name].type) != int(schema.attributes[name].type.value):
            reason = f"the type of attribute {name}"
    if reason:
        raise FrontendError(f"the model is not legal: {describe(node)}: {reason}")


def _instance(
    schema: defs.OpSchema, body: FunctionProto, node: NodeProto, prefix: str
) -> Iterator[NodeProto]:
    """The nodes of a function's body, on the operands and attributes of a node."""
    names = {own: "" for own in body.input} | dict(zip(body.input, node.input, strict=False))
    names |= {own: name for own, name in zip(body.output, node.output, strict=False) if name}
    attributes = {
        name: declared.default_value
        for name, declared in schema.attributes.items()
        if declared.default_value.type != AttributeProto.UNDEFINED
    } | {each.name: each for each in node.attribute}

    def renamed(name: str) -> str:
        return names.get(name, f"{prefix}{name}" if name else "")

    for inner in body.node:
        made = _rewritten(inner, renamed, attributes)
        # Errors name the node that the model has.
        made.name = node.name or next(filter(None, node.output), "")
        yield made


def _rewritten(
    node: NodeProto, renamed: Callable[[str], str], attributes: Mapping[str, AttributeProto]
) -> NodeProto:
    """A node of a body with the caller's names and attributes, also in graphs inside the node."""
    result = NodeProto()
    result.CopyFrom(node)
    result.input[:] = map(renamed, node.input)
    result.output[:] = map(renamed, node.output)
    result.name = ""
    del result.attribute[:]
    for attribute in node.attribute:
        given = attribute
        if attribute.ref_attr_name:
            if attribute.ref_attr_name not in attributes:
                continue
            given = attributes[attribute.ref_attr_name]
        made = result.attribute.add()
        made.CopyFrom(given)
        made.name = attribute.name
        if given is attribute:
            for graph in _graphs_of(made):
                _rename_graph(graph, renamed, attributes)
    return result


def _rename_graph(
    graph: GraphProto, renamed: Callable[[str], str], attributes: Mapping[str, AttributeProto]
) -> None:
    for info in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        info.name = renamed(info.name)
    nodes = [_rewritten(each, renamed, attributes) for each in graph.node]
    del graph.node[:]
    graph.node.extend(nodes)


def _graphs(node: NodeProto) -> Iterator[GraphProto]:
    """The graphs inside a node."""
    for attribute in node.attribute:
        yield from _graphs_of(attribute)


def _graphs_of(attribute: AttributeProto) -> Sequence[GraphProto]:
    return (attribute.g, *attribute.graphs) if attribute.HasField("g") else (*attribute.graphs,)


def _types(graph: GraphProto) -> dict[str, TypeProto]:
    """The types of a graph's values, as far as they were inferred."""
    found = {
        tensor.name: make_tensor_type_proto(tensor.data_type, tensor.dims)
        for tensor in graph.initializer
    }
    for info in (*graph.input, *graph.value_info, *graph.output):
        found[info.name] = info.type
    return found


def unused_prefix(graph: GraphProto) -> str:
    """The start of names that no value of the graph has."""
    taken = [name for node in graph.node for name in (*node.input, *node.output)]
    taken += [each.name for each in (*graph.input, *graph.initializer)]
    prefix = "body"
    while any(name.startswith(prefix) for name in taken):
        prefix += "_"
    return prefix
