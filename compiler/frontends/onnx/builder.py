"""Construction of a graph from nodes, with evaluation of known values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Final

import numpy as np

from tandem.compiler.errors import GraphError, UnsupportedError
from tandem.compiler.frontends.onnx.folding import fold, holds_symbols
from tandem.compiler.frontends.onnx.values import Array, Value
from tandem.compiler.graph.attributes import NO_ATTRIBUTES, Attributes
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.nodes import (
    Atom,
    Body,
    Call,
    Function,
    Global,
    Let,
    ModelNode,
    Param,
    TupleGet,
    Var,
)
from tandem.compiler.graph.nodes import Value as GraphValue
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.syntax import is_name, unique_name
from tandem.compiler.graph.types import FunctionType, TensorType, Type, tensors_of
from tandem.compiler.graph.visit import (
    map_bodies,
    names_defined,
    names_in,
    rename,
    renamed,
    substitute,
)
from tandem.compiler.ir.dtypes import INT64

_FOLDED: Final = 1 << 12
"""The maximum number of elements of a result that is folded although larger than its operands."""
MAX_ELEMENTS: Final = 1 << 40
"""The maximum number of elements of a tensor, which keeps sizes within 64 bits."""


def constant(array: Array) -> Value:
    """An array as a value; an array with symbols has no constant in the graph."""
    if array.dtype == object:
        if holds_symbols(array):
            return Value(TensorType(array.shape, INT64), None, array)
        array = array.astype(np.int64)
    made = Constant(array)
    return Value(made.type, made)


def legal_name(text: str) -> str:
    """The name in the graph of a tensor that ONNX calls `text`: letters, digits and `_`."""
    name = re.sub(r"[^0-9A-Za-z_]+", "_", text).strip("_")
    return name if is_name(name) else f"v_{name}"


MAIN: Final = "main"
"""The name of a model's own function."""


@dataclass(frozen=True, slots=True)
class Callee:
    """A function for calls by name.

    Attributes
    ----------
    captured
        The values around the function that it takes after its own arguments.
    """

    name: str
    captured: tuple[Var, ...]
    params: tuple[Param, ...]
    result: Type

    def call(self, args: Sequence[Atom]) -> Call:
        """A call with the function's own arguments."""
        type_ = FunctionType(tuple(each.type for each in self.params), self.result)
        return Call(Global(self.name, type_), (*args, *self.captured))


@dataclass(slots=True)
class _Program:
    """What the builders of a model's bodies share.

    Attributes
    ----------
    types
        The types of all values, by name.
    """

    taken: set[str]
    types: dict[str, Type] = field(default_factory=dict)
    functions: list[Function] = field(default_factory=list)
    count: int = 0


class Builder:
    """The bindings of a body, added one by one.

    Bindings of a node have numbers as names until `end_node` derives names from its results.
    """

    def __init__(self, taken: set[str], program: _Program | None = None) -> None:
        self.lets: list[Let] = []
        self._taken = taken
        self._program = program or _Program(taken)
        self._open: list[Let] = []

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions of the program so far, for calls by name."""
        return tuple(self._program.functions)

    def inner(self) -> Builder:
        """A builder of a body within this one."""
        return Builder(self._taken, self._program)

    def param(self, name: str, type_: Type) -> Param:
        """A parameter with a new name, after `name`."""
        found = Param(unique_name(legal_name(name), self._taken), type_)
        self._program.types[found.name] = type_
        return found

    def add(self, lets: Sequence[Let]) -> None:
        """Adds bindings that another builder has named."""
        self._open += lets

    def bind(self, value: GraphValue, type_: Type) -> Var:
        """The name of a value of the graph that is no call of an operator."""
        return self._let(value, type_)

    def atom(self, value: Value) -> Atom:
        """The value in the graph; raises `UnsupportedError` if it contains symbols."""
        return _in_graph(value)

    def call_of(self, value: Value) -> Call | None:
        """The call in this body whose result a value is; None for other values."""
        for let in (*reversed(self._open), *reversed(self.lets)):
            if isinstance(value.atom, Var) and let.name == value.atom.name:
                return let.value if isinstance(let.value, Call) else None
        return None

    def value(self, var: Var) -> Value:
        """A tensor of the graph as a value of the import."""
        type_ = self._program.types[var.name]
        assert isinstance(type_, TensorType), "no tuple"
        return Value(type_, var)

    def function(
        self, stem: str, params: Sequence[Param], body: Callable[[Callee], Body], result: Type
    ) -> Callee:
        """A new function for calls by name. Values around it that it uses become parameters.

        Parameters
        ----------
        body
            Makes the body, of named bindings; takes the function itself, for recursive calls.
        """
        name = unique_name(legal_name(stem), {each.name for each in self._program.functions})
        if name == MAIN:
            name = f"{MAIN}_"
        own = {each.name for each in params}
        # The captured values are known only when there is a body.
        draft = body(Callee(name, (), tuple(params), result))
        free = dict.fromkeys(_free(draft, own))
        types = self._program.types
        captured = [self.param(each, types[each]) for each in free]
        callee = Callee(name, tuple(map(Var, free)), (*params, *captured), result)
        names = {old: Var(new.name) for old, new in zip(free, captured, strict=True)}
        whole = substitute(body(callee), names)
        self._program.functions.append(Function(name, callee.params, whole, result))
        return callee

    def call(
        self, operator: str, operands: Sequence[Value], attributes: Attributes = NO_ATTRIBUTES
    ) -> tuple[Value, ...]:
        """The results of a graph operator, computed at import if all operands are known.

        Raises
        ------
        GraphError
            The operator does not take these operands.
        UnsupportedError
            An operand contains symbols, and so is no value of the graph.
        """
        spec = OPERATORS[operator]
        result = spec.result("it", [each.type for each in operands], attributes)
        types = tensors_of(result)
        for type_ in types:
            _check_size(type_)
        if not spec.several:
            known = self._known(operator, operands, attributes, types[0])
            if known is not None:
                return (constant(known),)
        whole = self._let(Call(spec, tuple(map(_in_graph, operands)), attributes), result)
        if not spec.several:
            return (Value(types[0], whole),)
        return tuple(
            Value(type_, self._let(TupleGet(whole, index), type_))
            for index, type_ in enumerate(types)
        )

    def end_node(self, operator: str, name: str, results: Mapping[str, Value]) -> dict[str, Value]:
        """Names the bindings of a node, called `name`, after its results; returns the results by
        ONNX name."""
        parts = sum(isinstance(let.value, Call) for let in self._open)
        node = ModelNode(operator, name, parts)
        self._open = [replace(let, node=let.node or node) for let in self._open]
        own = {each.name for each in self._open}
        names: dict[str, Var] = {}
        for result, value in results.items():
            if isinstance(value.atom, Var) and value.atom.name in own - names.keys():
                if not is_name(value.atom.name):
                    names[value.atom.name] = Var(unique_name(legal_name(result), self._taken))
        stem = legal_name(next(iter(results), operator))
        names = self._name(f"{stem}_{operator.lower()}", names)
        return {result: value.renamed(names) for result, value in results.items()}

    def end_body(self, stem: str, results: Sequence[Value]) -> tuple[Value, ...]:
        """Names all bindings that have no name yet, after `stem`; returns the named results."""
        names = self._name(legal_name(stem), {})
        return tuple(result.renamed(names) for result in results)

    def body(self, stem: str, result: Atom) -> Body:
        """The body of all bindings; those that have no name yet are named after `stem`."""
        result = renamed(result, self._name(legal_name(stem), {}))
        return Body(tuple(self.lets), result)

    def _name(self, stem: str, names: dict[str, Var]) -> dict[str, Var]:
        """Name the open bindings, by `names` or after `stem`; returns the names of all."""
        types = self._program.types
        for let in self._open:
            if let.name not in names:
                # Bindings of other builders have their names.
                done = is_name(let.name)
                names[let.name] = Var(let.name if done else unique_name(stem, self._taken))
            new = names[let.name].name
            value = map_bodies(rename(let.value, names), lambda body: substitute(body, names))
            self.lets.append(replace(let, name=new, value=value))
            types[new] = types[let.name]
        self._open = []
        return names

    def _let(self, value: GraphValue, type_: Type) -> Var:
        self._program.count += 1
        # The dot keeps the name distinct from those that `legal_name` returns.
        name = f"{self._program.count}."
        self._program.types[name] = type_
        self._open.append(Let(name, value, type_))
        return Var(name)

    def _known(
        self, operator: str, operands: Sequence[Value], attributes: Attributes, result: TensorType
    ) -> Array | None:
        """The result if all operands are known and it is not too large to fold, else None."""
        arrays = [each.known for each in operands]
        found = [each for each in arrays if each is not None]
        if len(found) != len(arrays) or not all(isinstance(each, int) for each in result.shape):
            return None
        size = result.size
        largest = max((each.size for each in found), default=0)
        if not isinstance(size, int) or size > max(_FOLDED, largest):
            return None
        return fold(operator, attributes, found, result)


def _free(body: Body, own: set[str]) -> Iterator[str]:
    """The names that a body uses and does not define."""
    defined = own | {*names_defined(body)}
    return (name for name in names_in(body) if name not in defined)


def _in_graph(value: Value) -> Atom:
    if value.atom is None:
        assert value.symbols is not None
        shown = ", ".join(map(str, value.symbols.flat))
        raise UnsupportedError(
            f"a tensor computed from shapes holds [{shown}], which are no numbers yet: give shapes "
            "for the inputs"
        )
    return value.atom


def _check_size(type_: TensorType) -> None:
    if prod(each for each in type_.shape if isinstance(each, int) and each) > MAX_ELEMENTS:
        raise GraphError(f"a tensor {type_}: of more than {MAX_ELEMENTS} elements")
