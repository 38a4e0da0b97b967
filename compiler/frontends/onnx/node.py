"""Nodes of ONNX models: access to operands and attributes, and construction of the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NoReturn, TypeAlias, TypeVar

import numpy as np
from onnx import GraphProto, NodeProto

from tandem.compiler.errors import (
    FrontendError,
    GraphError,
    IRError,
    UnknownValueError,
    UnsupportedError,
)
from tandem.compiler.frontends.onnx.builder import Builder, constant
from tandem.compiler.frontends.onnx.definitions import Definition
from tandem.compiler.frontends.onnx.node_attributes import NodeAttributes
from tandem.compiler.frontends.onnx.values import (
    DTYPES,
    NO_COUNTS,
    Array,
    Count,
    Counts,
    Value,
    type_name,
)
from tandem.compiler.graph.attributes import NO_ATTRIBUTES, Attributes
from tandem.compiler.graph.extents import Dim, Extent, product, quotient
from tandem.compiler.graph.nodes import Atom, Call, Let, Var
from tandem.compiler.graph.operators.elementwise import Cast
from tandem.compiler.graph.operators.shapes import Reshape, Transpose
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.ir.dtypes import INT64, DType

A = TypeVar("A", bound=Attributes)
T = TypeVar("T")


def domain_of(node: NodeProto) -> str:
    """The domain of the node's operator; "" for ONNX's own."""
    return "" if node.domain == "ai.onnx" else node.domain


def qualified_name(node: NodeProto) -> str:
    """The name of the node's operator, with its domain unless the domain is ONNX's own."""
    domain = domain_of(node)
    return f"{domain}.{node.op_type}" if domain else node.op_type


def describe(node: NodeProto) -> str:
    """A node's description in error messages: `node conv1 (Conv)`, or its first result."""
    made = next(filter(None, node.output), "nothing")
    return f"node {node.name} ({node.op_type})" if node.name else f"node {node.op_type} of {made}"


@dataclass(frozen=True, slots=True)
class Section:
    """The graph of a node's attribute, converted: named bindings, and results."""

    lets: tuple[Let, ...]
    results: tuple[Value, ...]


Convert: TypeAlias = Callable[[GraphProto, Sequence[Value], Builder], Section]
"""Converts the graph of an attribute for given inputs, in a body within that of the builder."""


def _no_graphs(graph: GraphProto, inputs: Sequence[Value], builder: Builder) -> Section:
    raise FrontendError(f"graph {graph.name} is in no graph")


class Node(NodeAttributes):
    """A node: operands, attributes with ONNX's defaults, and calls of the graph's operators.

    Attributes
    ----------
    version
        The version of the operator's definition: the opset in which it was last changed.
    """

    def __init__(
        self,
        proto: NodeProto,
        definition: Definition,
        inputs: Sequence[Value | None],
        used: Set[str],
        builder: Builder,
        convert: Convert = _no_graphs,
    ) -> None:
        given = {each.name: each for each in proto.attribute}
        super().__init__(describe(proto), given, definition.attributes)
        self.version = definition.version
        self.builder = builder
        self._convert = convert
        self.operator: str = proto.op_type
        self.outputs: tuple[str, ...] = tuple(proto.output)
        self._operands: tuple[str, ...] = tuple(proto.input)
        self._inputs = tuple(each and replace(each, counts=NO_COUNTS) for each in inputs)
        self._counts = tuple(NO_COUNTS if each is None else each.counts for each in inputs)
        self._used = used
        self._names = tuple(each.name for each in definition.operands)
        self._operand_types = tuple(each.type for each in definition.operands)
        self._result_types = tuple(each.type for each in definition.results)

    # Operands -------------------------------------------------------------------------------------

    @property
    def inputs(self) -> tuple[Value, ...]:
        """All operands; none may be missing."""
        return tuple(self.input(position) for position in range(len(self._inputs)))

    @property
    def operands(self) -> int:
        """The number of operands, missing ones included."""
        return len(self._inputs)

    def optional(self, position: int) -> Value | None:
        """An operand, or None if it is missing."""
        return self._inputs[position] if position < len(self._inputs) else None

    def input(self, position: int) -> Value:
        """A required operand."""
        return self.needed(self.optional(position), f"{self._name(position)} is missing")

    def counts(self, position: int) -> Counts:
        """The extents of an operand's bounded axes; `input` has the operand without them."""
        return self._counts[position] if position < len(self._counts) else NO_COUNTS

    def count(self, size: Value, position: int) -> Count:
        """An extent that is known only when the network runs, and that an operand determines."""
        return Count(self.cast(self.reshape(size, ()), INT64), self._operands[position])

    def refuse_bounded(self, position: int, axis: int) -> NoReturn:
        """Raise an error: an operand has a bounded axis, and its extent has to be known."""
        raise UnknownValueError(
            f"{self._where}: not supported: the extent of axis {axis} of {self._name(position)}, "
            f"up to {self.input(position).shape[axis]}, has to be known when the model is "
            "imported, and depends on inputs",
            self.counts(position)[axis].source,
        )

    def known(self, position: int) -> Array | None:
        """The elements, numbers or extents, of an operand that must be known; None if missing."""
        value = self.optional(position)
        if value is None:
            return None
        if value.known is None:
            raise UnknownValueError(
                f"{self._where}: not supported: {self._name(position)} has to be known when the "
                "model is imported, and depends on inputs",
                self._operands[position],
            )
        return value.known

    def numbers(self, position: int) -> tuple[int, ...] | None:
        """The elements of an operand of integers that must be known; None if it is missing."""
        extents = self.extents(position)
        if extents is None:
            return None
        found = tuple(each for each in extents if isinstance(each, int))
        if len(found) != len(extents):
            shown = ", ".join(map(str, extents))
            self.unsupported(
                f"{self._name(position)} is [{shown}], which are no numbers yet: give shapes for "
                "the inputs"
            )
        return found

    def extents(self, position: int) -> tuple[Extent, ...] | None:
        """The elements, possibly symbolic, of an operand that must be known; None if missing."""
        found = self.known(position)
        if found is None:
            return None
        if found.dtype.kind not in "iuO" or found.ndim > 1:
            self.refuse(f"{self._name(position)} is {self.input(position).type}, and no integers")
        return tuple(each if isinstance(each, Dim) else int(each) for each in found.flat)

    def scalar(self, position: int) -> int | float | bool | None:
        """The only element of an operand that must be known; None if it is missing."""
        found = self.known(position)
        if found is None:
            return None
        if found.size != 1 or found.dtype == object:
            self.refuse(f"{self._name(position)} is {self.input(position).type}, and no number")
        return found.reshape(-1)[0].item()

    def only_first(self) -> None:
        """Raise an error if a result other than the first is used."""
        for number, name in enumerate(self.outputs[1:], 2):
            if name and name in self._used:
                self.unsupported(f"its result {name}, number {number}")

    def operand_type(self, position: int) -> str:
        """The name of an operand's type in the operator's definition, such as `T`."""
        return self._operand_types[min(position, len(self._operand_types) - 1)]

    def result_type(self, position: int) -> str:
        """The name of a result's type in the operator's definition."""
        return self._result_types[min(position, len(self._result_types) - 1)]

    def operand_name(self, position: int) -> str:
        """The name of an operand in the operator's definition."""
        return self._names[min(position, len(self._names) - 1)]

    def uses(self, result: int) -> bool:
        """Whether a result is named, and used by another node or by the model."""
        name = self.outputs[result] if result < len(self.outputs) else ""
        return bool(name) and name in self._used

    # Construction of the graph --------------------------------------------------------------------

    def call(self, operator: str, *operands: Value | None, to: Attributes = NO_ATTRIBUTES) -> Value:
        """The result of a graph operator with attributes `to`; a missing operand is None."""
        (found,) = self.calls(operator, *operands, to=to)
        return found

    def calls(
        self, operator: str, *operands: Value | None, to: Attributes = NO_ATTRIBUTES
    ) -> tuple[Value, ...]:
        """The results of a graph operator with attributes `to`; a missing operand is None."""
        given = [each for each in operands if each is not None]
        try:
            return self.builder.call(operator, given, to)
        except (GraphError, IRError) as error:
            self.refuse(str(error).removeprefix("it = "))
        except UnsupportedError as error:
            self.unsupported(str(error))

    def constant(self, array: Array) -> Value:
        """An array of numbers or extents as a value."""
        return constant(array)

    def number(self, number: float, like: Value) -> Value:
        """A scalar of the element type of `like`."""
        return constant(np.array(number, like.dtype.numpy))

    def cast(self, value: Value, to: DType) -> Value:
        """The value converted to element type `to`."""
        return value if value.dtype == to else self.call("cast", value, to=Cast(to))

    def reshape(self, value: Value, shape: Sequence[Extent]) -> Value:
        """The value reshaped; at most one extent may be -1, which is inferred from the size."""
        wanted = list(shape)
        if -1 in wanted:
            others = product(each for each in wanted if each != -1)
            left = quotient(value.type.size, others)
            if left is not None and wanted.count(-1) == 1:
                wanted[wanted.index(-1)] = left
        if tuple(wanted) == value.shape:
            return value
        asked = []
        for axis, extent in enumerate(wanted):
            if isinstance(extent, Dim):
                same = axis < value.rank and value.shape[axis] == extent
                asked.append(0 if same else -1)
            else:
                asked.append(extent)
        # In a graph's reshape 0 means the old extent, unless `allow_zero` is set.
        empty = any(isinstance(each, int) and each == 0 for each in wanted)
        if asked.count(-1) > 1 or (empty and any(isinstance(each, Dim) for each in wanted)):
            into = ", ".join(map(str, wanted))
            self.unsupported(f"{value.type} into [{into}] is not known to be possible")
        return self.call("reshape", value, to=Reshape(tuple(asked), empty))

    def permuted(self, value: Value, order: Sequence[int]) -> Value:
        """The value with its axes in another order; the inverse order before it is undone."""
        found = self.permutation(value)
        if found is not None and [found[1][axis] for axis in order] == [*range(value.rank)]:
            return found[0]
        return self.call("transpose", value, to=Transpose(tuple(order)))

    def permutation(self, value: Value) -> tuple[Value, tuple[int, ...]] | None:
        """What a value is with its axes in another order, and this order; None for other values."""
        match self.builder.call_of(value):
            case Call(
                callee=OpSpec(name="transpose"),
                args=(Var() as before,),
                attributes=Transpose(perm=(*perm,)),
            ):
                return self.builder.value(before), tuple(perm)
        return None

    def axes(self, axes: Sequence[int], value: Value) -> tuple[int, ...]:
        """The axes; raises an error unless all are axes of the value."""
        if any(not -value.rank <= each < value.rank for each in axes):
            self.refuse(f"axes {list(axes)} of {value.type}")
        return tuple(axes)

    def extent(self, axis: int, value: Value) -> int:
        """The extent of a value along an axis, which must be a number."""
        extent = value.shape[axis]
        if not isinstance(extent, int):
            self.unsupported(f"axis {axis} of {value.type}: give its shape")
        return extent

    def static_shape(self, value: Value, what: str) -> tuple[int, ...]:
        """The shape of a value, all of which must be numbers."""
        try:
            return value.type.static_shape(what)
        except GraphError as error:
            self.unsupported(f"{error}: give shapes for the inputs")

    def element_type(self, number: int) -> DType:
        """An element type by its number in ONNX."""
        if number not in DTYPES:
            self.unsupported(f"the type {type_name(number)}")
        return DTYPES[number]

    # Bodies ---------------------------------------------------------------------------------------

    def section(self, graph: GraphProto, inputs: Sequence[Value] = ()) -> Section:
        """A graph of an attribute, converted for these inputs, to be a body or part of this one."""
        return self._convert(graph, inputs, self.builder)

    def insert(self, section: Section) -> tuple[Value, ...]:
        """The results of a section, computed here."""
        self.builder.add(section.lets)
        return section.results

    @contextmanager
    def within(self, builder: Builder) -> Iterator[None]:
        """A context in which the node's calls are added to the body of another builder."""
        outer, self.builder = self.builder, builder
        try:
            yield
        finally:
            self.builder = outer

    def atoms(self, values: Sequence[Value]) -> tuple[Atom, ...]:
        """Values as operands in the graph."""
        try:
            return tuple(map(self.builder.atom, values))
        except UnsupportedError as error:
            self.unsupported(str(error))

    def _name(self, position: int) -> str:
        last = len(self._names) - 1
        return f"operand {self._names[min(position, last)]}" if self._names else "an operand"
