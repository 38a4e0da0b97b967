"""Conversion of ONNX models to graphs."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, MutableMapping, Sequence, Set
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto

from tandem.compiler.errors import FrontendError, UnknownValueError, UnsupportedError
from tandem.compiler.frontends.onnx.bindings import StatedShape
from tandem.compiler.frontends.onnx.bounded import counted
from tandem.compiler.frontends.onnx.builder import MAIN, Builder, constant
from tandem.compiler.frontends.onnx.inputs import input_names, input_types, is_switch
from tandem.compiler.frontends.onnx.loops import known_truth
from tandem.compiler.frontends.onnx.node import Node, Section, describe, qualified_name
from tandem.compiler.frontends.onnx.node_checks import NodeChecks, converter_definition
from tandem.compiler.frontends.onnx.operators import CONVERTERS
from tandem.compiler.frontends.onnx.operators.microsoft.domain import is_own, with_own_domain
from tandem.compiler.frontends.onnx.reading import opsets, without_weights
from tandem.compiler.frontends.onnx.segments import check_names, element_types, is_choice
from tandem.compiler.frontends.onnx.stored_floats import narrowed, widened
from tandem.compiler.frontends.onnx.values import DTYPES, Array, Value, array_of, type_name
from tandem.compiler.graph.evaluate import NestedArray
from tandem.compiler.graph.nodes import Atom, Body, Function, Let, Module, Tuple, Var
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import TensorType, TupleType
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import program
from tandem.compiler.ir.dtypes import BOOL
from tandem.runtime.artifact import cut


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
    stated: Sequence[StatedShape] = (),
    values: Mapping[str, Array] = MappingProxyType({}),
    offered: Mapping[str, Array] = MappingProxyType({}),
    open_batch_is_one: bool = False,
) -> Imported:
    """A legal graph that is equivalent to the model.

    An `If` whose condition is known becomes the branch that is taken, and nobody looks at the
    other. What the model declares of shapes within is not relied on: shapes are inferred.

    Parameters
    ----------
    shapes, stated
        Shapes of inputs, by name, whose numbers replace open extents.
    values
        Arrays for inputs that become constants, by name.
    offered
        Arrays for inputs that become constants if their values have to be known, by name. A single
        integer or truth value becomes one if the condition of an `If` depends on it.
    open_batch_is_one
        Whether first extents that are left open are 1.

    Raises
    ------
    UnsupportedError
        Operators, attributes or operands are not supported; the message names all unsupported
        operators with their nodes, and inputs whose values have to be known.
    FrontendError
        The model is not legal, or shapes or values do not fit the model.
    """
    said = (*stated, *(StatedShape(name, tuple(shape)) for name, shape in shapes.items()))
    bound = dict(values)
    while True:
        try:
            return _imported(model, said, bound, offered, open_batch_is_one=open_batch_is_one)
        except UnknownValueError as error:
            new = offered.keys() & set(error.inputs) - bound.keys()
            if not new:
                raise
            bound |= {name: offered[name] for name in new}


def _imported(
    model: ModelProto,
    stated: Sequence[StatedShape],
    values: Mapping[str, Array],
    offered: Mapping[str, Array],
    *,
    open_batch_is_one: bool,
) -> Imported:
    small = with_own_domain(without_weights(model))
    versions = opsets(small)
    if small.graph.sparse_initializer:
        raise UnsupportedError("sparse initialisers are not supported")
    checks = NodeChecks(small, versions, input_names(model))
    checks.check_operators()
    known = {
        tensor.name: array_of(tensor, f"initialiser {tensor.name}")
        for tensor in model.graph.initializer
    }
    inputs = [each for each in model.graph.input if each.name not in known]
    shapes = [StatedShape(name, array.shape, "its value") for name, array in values.items()]
    types = input_types(inputs, [*stated, *shapes], open_batch_is_one=open_batch_is_one)
    for name, array in values.items():
        if array.dtype != types[name].dtype.numpy:
            raise FrontendError(f"input {name} is {types[name]}, and is given {array.dtype}")
    switches = frozenset(name for name in types if is_switch(offered.get(name))) - values.keys()
    try:
        imported = _converted(small.graph, checks, types, known | dict(values), switches)
    except UnknownValueError as error:
        sources = error.inputs or checks.inputs_behind(error.operand)
        advice = "; --input gives a value" if sources else ""
        said = f"{error}: {', '.join(sources)}{advice}"
        raise UnknownValueError(said, error.operand, sources) from error
    return replace(imported, bound=MappingProxyType(dict(values)))


def _converted(
    model: GraphProto,
    checks: NodeChecks,
    types: Mapping[str, TensorType],
    known: Mapping[str, Array],
    switches: Set[str],
) -> Imported:
    """The graph of a model whose inputs have these types, with arrays for those that are known."""
    taken: set[str] = set()
    builder = Builder(taken)
    names = tuple(name for name in types if name not in known)
    params = tuple(builder.param(name, types[name]) for name in names)
    found = {name: constant(each) for name, each in known.items()}
    for name, param in zip(names, params, strict=True):
        found[name] = Value(types[name], Var(param.name))
    outputs = tuple(each.name for each in model.output)
    if not outputs:
        raise FrontendError("the model has no outputs")
    graph = _Graph(checks, switches, found, builder)
    graph.check_and_convert(model)
    values = [graph.output(each) for each in model.output]
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
    main = Function(MAIN, (), Body(tuple(lets), Var("")))
    return program(Module((*functions, main)), MAIN).definitions


class _Graph:
    """Conversion of a graph, node by node.

    Parameters
    ----------
    switches
        Inputs of a single integer or truth value, which may become constants.
    """

    def __init__(
        self,
        checks: NodeChecks,
        switches: Set[str],
        values: MutableMapping[str, Value],
        builder: Builder,
    ) -> None:
        self._checks = checks
        self._switches = switches
        self._values = values
        self._builder = builder

    def check_and_convert(self, proto: GraphProto) -> None:
        """Check and convert nodes in order, but for branches of an `If` that are never taken."""
        declared = element_types(proto)
        waiting: list[NodeProto] = []
        for node in proto.node:
            if not is_choice(node):
                waiting.append(node)
                if is_own(node):
                    # `onnx` infers no types of its results, but conversion does.
                    self._checked(waiting, declared)
                    waiting = []
                continue
            self._checked(waiting, declared)
            waiting = []
            truth = self._truth(node)
            if truth is None:
                self._undecided(node, declared)
            else:
                check_names([node], self._values)
                for attribute in node.attribute:
                    if attribute.name == ("then_branch" if truth else "else_branch"):
                        self._checks.decided(node, attribute.g)
                self._node(node, self._unchecked_section)
        self._checked(waiting, declared)

    def _checked(self, nodes: Sequence[NodeProto], declared: Mapping[str, int]) -> None:
        """Check nodes together, whose results have declared element types, and convert them."""
        for node in self._checks.checked(nodes, self._values, declared) if nodes else ():
            self._node(node, self.section)

    def _truth(self, node: NodeProto) -> bool | None:
        """The condition of an `If` if it is known."""
        value = self._values.get(node.input[0]) if node.input else None
        is_truth = value is not None and value.dtype == BOOL and value.type.size == 1
        return known_truth(value) if is_truth else None

    def _undecided(self, node: NodeProto, declared: Mapping[str, int]) -> None:
        """Check and convert an `If` whose condition depends on inputs.

        If that fails, the condition has to be known.
        """
        sources = self._checks.inputs_behind(node.input[0]) if node.input else ()
        switches = tuple(each for each in sources if each in self._switches)
        what = f"the condition of {describe(node)}"
        if switches:
            raise UnknownValueError(f"{what} depends on", node.input[0], switches)
        try:
            self._checked([node], declared)
        except UnknownValueError:
            raise
        except FrontendError as error:
            if not sources:
                raise
            raise UnknownValueError(
                f"{error}; or, if only one branch is meant, {what} has to be known when the model "
                "is imported, and depends on inputs",
                node.input[0],
            ) from error

    def section(self, graph: GraphProto, inputs: Sequence[Value], builder: Builder) -> Section:
        """Convert the graph of a node's attribute, in the scope of the nodes before that node."""
        return self._section(graph, inputs, builder, is_checked=True)

    def _unchecked_section(
        self, graph: GraphProto, inputs: Sequence[Value], builder: Builder
    ) -> Section:
        """The same for a graph that is checked only now."""
        if graph.sparse_initializer:
            raise UnsupportedError("sparse initialisers are not supported")
        return self._section(graph, inputs, builder, is_checked=False)

    def _section(
        self, graph: GraphProto, inputs: Sequence[Value], builder: Builder, *, is_checked: bool
    ) -> Section:
        values = ChainMap[str, Value]({}, self._values)
        for tensor in graph.initializer:
            values[tensor.name] = constant(array_of(tensor, f"initialiser {tensor.name}"))
        names = [each.name for each in graph.input if each.name not in values.maps[0]]
        if len(names) != len(inputs):
            raise FrontendError(
                f"graph {graph.name} has {len(names)} inputs, and {len(inputs)} are given"
            )
        values.update(zip(names, inputs, strict=True))
        inner = _Graph(self._checks, self._switches, values, builder.inner())
        if is_checked:
            for node in graph.node:
                inner._node(node, inner.section)
        else:
            inner.check_and_convert(graph)
        results = tuple(inner._made(each.name) for each in graph.output)
        for info, result in zip(graph.output, results, strict=True):
            for axis, count in result.counts.items():
                raise UnknownValueError(
                    f"result {info.name} of graph {graph.name}: not supported: its extent along "
                    f"axis {axis}, up to {result.shape[axis]}, has to be known when the "
                    "model is imported, and depends on inputs",
                    count.source,
                )
        return Section(tuple(inner._builder.lets), results)

    def _node(
        self,
        proto: NodeProto,
        section: Callable[[GraphProto, Sequence[Value], Builder], Section],
    ) -> None:
        used = self._checks.used
        definition = converter_definition(proto, self._checks.versions)
        assert definition is not None, "`NodeChecks` has checked it"
        operands = [self._values[name] if name else None for name in proto.input]
        converter = CONVERTERS[qualified_name(proto)]
        types = [None if each is None else each.dtype for each in operands]
        definition.check(proto, types, describe(proto))
        given = operands
        if not converter.takes_stored_floats:
            given = [None if each is None else widened(self._builder, each) for each in operands]
        node = Node(proto, definition, given, used, self._builder, section)

        def convert() -> tuple[Value, ...]:
            found = converter.results(node)
            return found if converter.takes_stored_floats else narrowed(node, operands, found)

        results = counted(node, convert)
        named = {name: value for name, value in zip(proto.output, results, strict=False) if name}
        missing = set(proto.output[len(results) :]) & used
        assert not missing, f"{describe(proto)} has no {missing}"
        self._values.update(self._builder.end_node(proto.op_type, proto.name, named))

    def _made(self, name: str) -> Value:
        """A value of the graph or around it; raises `FrontendError` if there is none."""
        if name not in self._values:
            raise FrontendError(f"the model is not legal: no node makes {name}")
        return self._values[name]

    def output(self, info: ValueInfoProto) -> Value:
        """A result of the model.

        Raises
        ------
        UnsupportedError
            It is not in the graph.
        FrontendError
            No node makes it, or it is of another element type than the model says.
        """
        name = info.name
        value = self._made(name)
        number = info.type.tensor_type.elem_type
        if info.type.HasField("tensor_type") and number and DTYPES.get(number) != value.dtype:
            raise FrontendError(
                f"the model is not legal: output {name} is {value.type}, and declared as "
                f"{type_name(number)}"
            )
        if value.atom is None:
            raise UnsupportedError(
                f"output {name} is computed from shapes that are not known: say them with --shape"
            )
        return value
