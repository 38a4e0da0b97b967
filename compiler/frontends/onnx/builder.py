"""Construction of a graph from nodes, with evaluation of known values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Final

import numpy as np

from compiler.errors import GraphError, UnsupportedError
from compiler.frontends.onnx.folding import fold, holds_symbols
from compiler.frontends.onnx.values import Array, Value
from compiler.graph.attributes import NO_ATTRIBUTES, Attributes
from compiler.graph.constant import Constant
from compiler.graph.nodes import Atom, Call, Let, TupleGet, Var
from compiler.graph.operators import OPERATORS
from compiler.graph.syntax import is_name, unique_name
from compiler.graph.types import TensorType, Type, tensors_of
from compiler.graph.visit import rename, renamed
from compiler.ir.dtypes import INT64

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


class Builder:
    """The bindings of a graph, added one by one.

    Bindings of a node have numbers as names until `end_node` derives names from its results.
    """

    def __init__(self, taken: set[str]) -> None:
        self.lets: list[Let] = []
        self._taken = taken
        self._open: list[Let] = []
        self._count = 0

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

    def end_node(self, operator: str, results: Mapping[str, Value]) -> dict[str, Value]:
        """Names the bindings of a node after its results; returns the results by ONNX name."""
        own = {each.name for each in self._open}
        names: dict[str, Var] = {}
        for name, value in results.items():
            if isinstance(value.atom, Var) and value.atom.name in own - names.keys():
                names[value.atom.name] = Var(unique_name(legal_name(name), self._taken))
        stem = legal_name(next(iter(results), operator))
        for let in self._open:
            if let.name not in names:
                names[let.name] = Var(unique_name(f"{stem}_{operator.lower()}", self._taken))
            named = rename(let.value, names)
            self.lets.append(replace(let, name=names[let.name].name, value=named))
        self._open = []
        return {
            name: replace(value, atom=None if value.atom is None else renamed(value.atom, names))
            for name, value in results.items()
        }

    def _let(self, value: Call | TupleGet, type_: Type) -> Var:
        self._count += 1
        # The dot keeps the name distinct from those that `legal_name` returns.
        name = f"{self._count}."
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
