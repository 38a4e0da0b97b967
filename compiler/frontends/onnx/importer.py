"""Conversion of ONNX models to graphs."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from onnx import GraphProto, ModelProto, NodeProto, defs

from compiler.errors import FrontendError, UnknownValueError, UnsupportedError
from compiler.frontends.onnx.bounded import counted
from compiler.frontends.onnx.builder import MAIN, Builder, constant
from compiler.frontends.onnx.functions import expanded
from compiler.frontends.onnx.inputs import input_types, inputs_behind
from compiler.frontends.onnx.node import Node, Section, describe, domain_of, qualified_name
from compiler.frontends.onnx.operators import CONVERTERS, EXPANDED
from compiler.frontends.onnx.reading import all_graphs, legal, opsets, without_weights
from compiler.frontends.onnx.stored_floats import narrowed, widened
from compiler.frontends.onnx.values import Array, Value, array_of
from compiler.graph.evaluate import NestedArray
from compiler.graph.nodes import Atom, Body, Function, Let, Module, Tuple, Var
from compiler.graph.syntax import unique_name
from compiler.graph.types import TensorType, TupleType
from compiler.graph.verify import verify
from compiler.graph.visit import program
from runtime.artifact import cut


@dataclass(frozen=True, slots=True)
class Imported:
    """A model as a graph.

    Attributes
    ----------
    function
        Maps the inputs to the output, or to a tuple of several outputs and what `counts` names.
    inputs, outputs
        The ONNX names of the inputs and outputs, in order.
    names
        Maps ONNX names of tensors, which are any text, to names of the graph's values, which are
        letters, digits and `_`.
    counts
        Where outputs have extents that are known only when the network runs: by output and axis,
        the number of the function's result that is the extent. The output is as large as it can
        be, with padding behind its extent.
    bound
        Inputs of the model that became constants, by name.
    """

    function: Function
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    names: Mapping[str, str]
    counts: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    bound: Mapping[str, Array] = field(default_factory=dict)

    def by_name(self, found: NestedArray) -> dict[str, Array]:
        """The outputs by name, of the model's shapes, from the function's result.

        Raises
        ------
        RunError
            A count is out of range.
        """
        several = found if isinstance(found, tuple) else (found,)
        arrays = [each for each in several if not isinstance(each, tuple)]
        return {
            name: cut(
                f"output {name}",
                array,
                {axis: int(arrays[at]) for axis, at in self.counts.get(name, {}).items()},
            )
            for name, array in zip(self.outputs, arrays, strict=False)
        }


def import_model(
    model: ModelProto,
    *,
    shapes: Mapping[str, Sequence[int]] = MappingProxyType({}),
    values: Mapping[str, Array] = MappingProxyType({}),
    offered: Mapping[str, Array] = MappingProxyType({}),
) -> Imported:
    """A legal graph that is equivalent to the model.

    Parameters
    ----------
    shapes
        Shapes of inputs, by name, whose numbers replace symbolic extents.
    values
        Arrays for inputs that become constants, by name.
    offered
        Arrays for inputs that become constants if their values have to be known, by name.

    Raises
    ------
    UnsupportedError
        Operators, attributes or operands are not supported; the message names all unsupported
        operators with their nodes, and inputs whose values have to be known.
    FrontendError
        The model is not legal, or shapes or values do not fit the model.
    """
    bound = dict(values)
    while True:
        try:
            return _imported(model, shapes, bound)
        except UnknownValueError as error:
            new = offered.keys() & set(error.inputs) - bound.keys()
            if not new:
                raise
            bound |= {name: offered[name] for name in new}


def _imported(
    model: ModelProto, shapes: Mapping[str, Sequence[int]], values: Mapping[str, Array]
) -> Imported:
    versions = opsets(model)
    small = expanded(without_weights(model), EXPANDED)
    _supported([node for each in all_graphs(small.graph) for node in each.node], versions)
    if any(each.sparse_initializer for each in all_graphs(small.graph)):
        raise UnsupportedError("sparse initialisers are not supported")
    legal(small)
    known = {
        tensor.name: array_of(tensor, f"initialiser {tensor.name}")
        for tensor in model.graph.initializer
    }
    inputs = [each for each in model.graph.input if each.name not in known]
    types = input_types(inputs, {**shapes, **{name: each.shape for name, each in values.items()}})
    for name, array in values.items():
        if array.dtype != types[name].dtype.numpy:
            raise FrontendError(f"input {name} is {types[name]}, and is given {array.dtype}")
    known |= values
    try:
        imported = _converted(small.graph, versions, types, known)
    except UnknownValueError as error:
        sources = inputs_behind(small.graph, types, error.operand)
        raise UnknownValueError(f"{error}: {', '.join(sources)}", error.operand, sources) from error
    return replace(imported, bound=MappingProxyType(dict(values)))


def _converted(
    model: GraphProto,
    versions: Mapping[str, int],
    types: Mapping[str, TensorType],
    known: Mapping[str, Array],
) -> Imported:
    """The graph of a model whose inputs have these types, with arrays for those that are known."""
    taken: set[str] = set()
    builder = Builder(taken)
    names = tuple(name for name in types if name not in known)
    params = tuple(builder.param(name, types[name]) for name in names)
    found = {name: constant(each) for name, each in known.items()}
    for name, param in zip(names, params, strict=True):
        found[name] = Value(types[name], Var(param.name))
    used = _used(model)
    outputs = tuple(each.name for each in model.output)
    if not outputs:
        raise FrontendError("the model has no outputs")
    graph = _Graph(versions, used, found, builder)
    graph.nodes(model.node)
    values = [graph.output(name) for name in outputs]
    sizes = {
        builder.atom(count.size): count.size.type
        for value in values
        for count in value.counts.values()
    }
    atoms = (*(builder.atom(value) for value in values), *sizes)
    result: Atom = atoms[0]
    lets = builder.lets
    if len(atoms) > 1:
        result = Var(unique_name("results", taken))
        types_ = (*(value.type for value in values), *sizes.values())
        lets.append(Let(result.name, Tuple(atoms), TupleType(types_)))
    function = Function(
        MAIN, params, Body(tuple(lets), result), definitions=_in_use(lets, builder.functions)
    )
    verify(function)
    graph_names = {
        name: value.atom.name for name, value in found.items() if isinstance(value.atom, Var)
    }
    counts = {
        name: MappingProxyType(
            {
                axis: len(outputs) + [*sizes].index(builder.atom(count.size))
                for axis, count in value.counts.items()
            }
        )
        for name, value in zip(outputs, values, strict=True)
        if value.counts
    }
    return Imported(function, names, outputs, MappingProxyType(graph_names), counts)


def _in_use(lets: Sequence[Let], functions: Sequence[Function]) -> tuple[Function, ...]:
    """The functions that are called; attempts of an import may leave others."""
    whole = Module((*functions, Function(MAIN, (), Body(tuple(lets), Var("")))))
    return program(whole, MAIN).definitions


def _used(graph: GraphProto) -> frozenset[str]:
    """The names of all tensors that are operands or results, in the bodies of nodes too."""
    found = {name for each in all_graphs(graph) for node in each.node for name in node.input}
    return frozenset(found | {out.name for each in all_graphs(graph) for out in each.output})


class _Graph:
    """Conversion of a graph, node by node."""

    def __init__(
        self,
        versions: Mapping[str, int],
        used: frozenset[str],
        values: MutableMapping[str, Value],
        builder: Builder,
    ) -> None:
        self._versions = versions
        self._used = used
        self._values = values
        self._builder = builder

    def nodes(self, nodes: Iterable[NodeProto]) -> None:
        """Convert nodes in order."""
        for node in nodes:
            self._node(node, self._used)

    def section(self, graph: GraphProto, inputs: Sequence[Value], builder: Builder) -> Section:
        """Convert the graph of a node's attribute, in the scope of the nodes before that node."""
        values = ChainMap[str, Value]({}, self._values)
        for tensor in graph.initializer:
            values[tensor.name] = constant(array_of(tensor, f"initialiser {tensor.name}"))
        names = [each.name for each in graph.input if each.name not in values.maps[0]]
        if len(names) != len(inputs):
            raise FrontendError(
                f"graph {graph.name} has {len(names)} inputs, and {len(inputs)} are given"
            )
        values.update(zip(names, inputs, strict=True))
        inner = _Graph(self._versions, self._used, values, builder.inner())
        inner.nodes(graph.node)
        results = tuple(values[each.name] for each in graph.output)
        for info, result in zip(graph.output, results, strict=True):
            for axis, count in result.counts.items():
                raise UnknownValueError(
                    f"result {info.name} of graph {graph.name}: not supported: its extent along "
                    f"axis {axis}, up to {result.shape[axis]}, has to be known when the "
                    "model is imported, and depends on inputs",
                    count.source,
                )
        return Section(tuple(inner._builder.lets), results)

    def _node(self, proto: NodeProto, used: frozenset[str]) -> None:
        version = _version(proto, self._versions)
        assert version is not None, "`_supported` has checked it"
        operands = [self._values[name] if name else None for name in proto.input]
        converter = CONVERTERS[qualified_name(proto)]
        given = operands
        if not converter.takes_stored_floats:
            given = [None if each is None else widened(self._builder, each) for each in operands]
        node = Node(proto, version, given, used, self._builder, self.section)

        def convert() -> tuple[Value, ...]:
            found = converter.results(node)
            return found if converter.takes_stored_floats else narrowed(node, operands, found)

        results = counted(node, convert)
        named = {name: value for name, value in zip(proto.output, results, strict=False) if name}
        missing = set(proto.output[len(results) :]) & used
        assert not missing, f"{describe(proto)} has no {missing}"
        self._values.update(self._builder.end_node(proto.op_type, named))

    def output(self, name: str) -> Value:
        """A result of the graph; raises `UnsupportedError` if it is not in the graph."""
        value = self._values[name]
        if value.atom is None:
            raise UnsupportedError(
                f"output {name} is computed from shapes that are not known: give shapes for the "
                "inputs"
            )
        return value


def _version(node: NodeProto, versions: Mapping[str, int]) -> int | None:
    """The version of the definition of a node's operator; None if the operator is unsupported."""
    name, domain = qualified_name(node), domain_of(node)
    if name not in CONVERTERS or domain not in versions:
        return None
    try:
        version: int = defs.get_schema(node.op_type, versions[domain], domain).since_version
    except defs.SchemaError:
        return None
    return version if version in CONVERTERS[name].versions else None


def _supported(nodes: Sequence[NodeProto], versions: Mapping[str, int]) -> None:
    """Raise an `UnsupportedError` that lists all unsupported operators, if there are any."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        if _version(node, versions) is None:
            opset = versions.get(domain_of(node), "none")
            called = node.name or next(filter(None, node.output), "without a name")
            found.setdefault(f"{qualified_name(node)} of opset {opset}", []).append(called)
    if found:
        listed = "; ".join(f"{name} (node {', '.join(nodes_)})" for name, nodes_ in found.items())
        raise UnsupportedError(f"operators that are not supported: {listed}")
