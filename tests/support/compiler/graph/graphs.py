"""Graphs in tests: passes from text to text, random graphs, and comparison by evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tandem.compiler.graph import (
    Atom,
    Body,
    Call,
    Constant,
    Dim,
    Extent,
    Function,
    If,
    Let,
    Param,
    TensorType,
    Tuple,
    TupleGet,
    TupleType,
    Type,
    Value,
    Var,
)
from tandem.compiler.graph.attributes import NO_ATTRIBUTES, Attributes
from tandem.compiler.graph.evaluate import NestedArray, Runner, evaluate
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.operators.parts import Concat, Split
from tandem.compiler.graph.operators.reductions import Reduction
from tandem.compiler.graph.operators.shapes import Transpose
from tandem.compiler.graph.parser import parse_function
from tandem.compiler.graph.passes import GraphPass, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.types import specialised, symbols_of
from tandem.compiler.graph.verify import verify
from tandem.compiler.ir import BOOL, FLOAT32, INT32, DType


def graph(program: str) -> Function:
    """The last function of a module's text, verified."""
    function = parse_function(program, OPERATORS)
    verify(function)
    return function


def inputs(function: Function, seed: int = 0, size: int = 2) -> list[NestedArray]:
    """Random small values for the parameters; each symbolic extent is `size`."""
    generator = np.random.default_rng(seed)

    def given(type_: Type) -> NestedArray:
        if isinstance(type_, TupleType):
            return tuple(given(each) for each in type_.items)
        whole = specialised(type_, dict.fromkeys(symbols_of(type_), size))
        assert isinstance(whole, TensorType)
        shape, dtype = whole.stored.static_shape("an input"), whole.stored.dtype
        if dtype.is_float:
            return generator.standard_normal(shape).astype(dtype.numpy)
        low, high = (0, 2) if dtype == BOOL else (-4, 5)
        return generator.integers(low, high, shape).astype(dtype.numpy)

    return [given(each.type) for each in function.params]


def same_values(one: NestedArray, other: NestedArray, tolerance: float = 0.0) -> None:
    """Assert equal structure, types and values (bit for bit, or floats within `tolerance`)."""
    if isinstance(one, tuple) or isinstance(other, tuple):
        assert isinstance(one, tuple)
        assert isinstance(other, tuple)
        for left, right in zip(one, other, strict=True):
            same_values(left, right, tolerance)
        return
    assert one.dtype == other.dtype
    if tolerance and one.dtype.kind == "f":
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(one, other)


def agree(
    one: Function, other: Function, tolerance: float = 0.0, run: Runner | None = None
) -> None:
    """Assert that two functions give the same results."""
    given = inputs(one)
    same_values(evaluate(one, given, run), evaluate(other, given, run), tolerance)


def becomes(work: GraphPass, before: str, after: str, tolerance: float = 0.0) -> None:
    """Assert that the pass rewrites `before` to exactly `after`, with the same results."""
    start, wanted = graph(before), graph(after)
    found = transform(start, [work])
    assert text(found) == text(wanted)
    agree(start, found, tolerance)


def keeps_meaning(work: GraphPass, function: Function, given: Sequence[NestedArray]) -> Function:
    """Assert that the pass keeps the function legal, its signature, and its results bit for bit."""
    found = transform(function, [work])
    assert found.params == function.params
    same_values(evaluate(found, given), evaluate(function, given))
    return found


# Random graphs ------------------------------------------------------------------------------------

_UNARY = ("relu", "negative", "absolute", "identity")
_BINARY = ("add", "subtract", "multiply", "maximum")


@dataclass
class _Drawing:
    """A function body under construction, with the tensors and tuples in scope."""

    draw: st.DrawFn
    count: list[int]
    types: dict[str, Type]
    lets: list[Let] = field(default_factory=list)

    def tensors(self) -> list[str]:
        return [name for name, type_ in self.types.items() if isinstance(type_, TensorType)]

    def let(self, value: Value, type_: Type) -> str:
        self.count[0] += 1
        name = f"v{self.count[0]}"
        said = type_ if self.draw(st.booleans()) else None
        self.lets.append(Let(name, value, said))
        self.types[name] = type_
        return name

    def tensor(self) -> tuple[Atom, TensorType]:
        """A tensor in scope or, sometimes, a constant."""
        if self.draw(st.integers(0, 4)) == 0:
            constant = self.draw(_constants())
            return constant, constant.type
        return self.named(st.sampled_from(self.tensors()))

    def named(self, names: st.SearchStrategy[str]) -> tuple[Var, TensorType]:
        name = self.draw(names)
        type_ = self.types[name]
        assert isinstance(type_, TensorType)
        return Var(name), type_

    def call(self, name: str, args: Sequence[tuple[Atom, Type]], attributes: Attributes) -> None:
        spec = OPERATORS[name]
        type_ = spec.result("drawn", [each for _, each in args], attributes)
        self.let(Call(spec, tuple(atom for atom, _ in args), attributes), type_)

    def step(self, depth: int) -> None:
        """Add a random value."""
        kinds = ["unary", "binary", "binary", "shape", "split", "tuple", "get", "if", "twice"]
        match self.draw(st.sampled_from(kinds)):
            case "unary":
                self.call(self.draw(st.sampled_from(_UNARY)), [self.tensor()], NO_ATTRIBUTES)
            case "binary":
                self._binary()
            case "shape":
                self._shape()
            case "split":
                self._split()
            case "tuple":
                parts = [self.tensor() for _ in range(self.draw(st.integers(0, 3)))]
                value = Tuple(tuple(atom for atom, _ in parts))
                self.let(value, TupleType(tuple(type_ for _, type_ in parts)))
            case "get":
                self._get()
            case "if" if depth < 2:
                self._if(depth)
            case _:
                self._twice()

    def _binary(self) -> None:
        atom, type_ = self.tensor()
        matching = [name for name in self.tensors() if self.types[name] == type_]
        other = self.named(st.sampled_from(matching)) if matching else (atom, type_)
        self.call(self.draw(st.sampled_from(_BINARY)), [(atom, type_), other], NO_ATTRIBUTES)

    def _shape(self) -> None:
        atom, type_ = self.tensor()
        axes = range(len(type_.shape))
        if self.draw(st.booleans()):
            perm = tuple(self.draw(st.permutations(axes)))
            self.call("transpose", [(atom, type_)], Transpose(perm))
        elif 0 not in type_.shape:
            over = tuple(self.draw(st.sets(st.sampled_from(axes)))) if axes else ()
            self.call("reduce_sum", [(atom, type_)], Reduction(over, self.draw(st.booleans())))

    def _split(self) -> None:
        atom, type_ = self.tensor()
        axes = [axis for axis, extent in enumerate(type_.shape) if isinstance(extent, int)]
        if axes:
            axis = self.draw(st.sampled_from(axes))
            extent = type_.shape[axis]
            assert isinstance(extent, int)
            first = self.draw(st.integers(0, extent))
            self.call("split", [(atom, type_)], Split((first, extent - first), axis))
            self.call("concat", [(atom, type_), (atom, type_)], Concat(axis))

    def _get(self) -> None:
        found = [
            (name, at, item)
            for name, type_ in self.types.items()
            if isinstance(type_, TupleType)
            for at, item in enumerate(type_.items)
        ]
        if found:
            name, at, item = self.draw(st.sampled_from(found))
            self.let(TupleGet(Var(name), at), item)

    def _if(self, depth: int) -> None:
        condition: list[Atom] = [Var("c"), Var("truth"), Constant(np.array(True))]
        wanted = self.draw(st.sampled_from(self.tensors()))
        then, otherwise = (self._inner(wanted, depth) for _ in range(2))
        value = If(self.draw(st.sampled_from(condition)), then, otherwise)
        self.let(value, self.types[wanted])

    def _inner(self, wanted: str, depth: int) -> Body:
        """A nested body whose result has the type of the value `wanted`."""
        inner = _Drawing(self.draw, self.count, dict(self.types))
        for _ in range(self.draw(st.integers(0, 3))):
            inner.step(depth + 1)
        alike = [name for name, type_ in inner.types.items() if type_ == self.types[wanted]]
        return Body(tuple(inner.lets), Var(self.draw(st.sampled_from(alike))))

    def _twice(self) -> None:
        """Repeat a random call, for common-subexpression elimination."""
        calls = [it for it in self.lets if isinstance(it.value, Call) and it.name in self.types]
        if calls:
            let = self.draw(st.sampled_from(calls))
            self.let(let.value, self.types[let.name])
        atom, type_ = self.tensor()
        if type_.dtype.is_float:
            alpha = self.draw(st.sampled_from([0.0, -0.0, 0.5]))
            self.call("elu", [(atom, type_)], OPERATORS["elu"].attributes(alpha))


_TRUTH = TensorType((), BOOL)
_EXTENTS: list[Extent] = [0, 1, 2, 3, Dim(("N",)), Dim(("N",), 2)]


def _types(dtypes: Sequence[DType] = (FLOAT32, INT32)) -> st.SearchStrategy[TensorType]:
    shapes = st.lists(st.sampled_from(_EXTENTS), max_size=3).map(tuple)
    return st.builds(TensorType, shapes, st.sampled_from(dtypes))


@st.composite
def _constants(draw: st.DrawFn) -> Constant:
    shape = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    dtype = draw(st.sampled_from(["float32", "int32"]))
    numbers: list[Any] = [0, 1, -3, 5] if dtype == "int32" else [0.0, -0.0, 0.1, 2.5, np.inf]
    values = draw(st.lists(st.sampled_from(numbers), min_size=9, max_size=9))
    return Constant(np.resize(np.array(values, dtype), shape))


@st.composite
def graphs(draw: st.DrawFn, steps: int = 8) -> Function:
    """A legal function of float32 and int32 tensors, with nested bodies."""
    params = draw(st.lists(_types(), min_size=1, max_size=3))
    types: dict[str, Type] = {f"x{number}": type_ for number, type_ in enumerate(params)}
    types["c"] = _TRUTH
    drawing = _Drawing(draw, [0], dict(types))
    drawing.types.pop("c")
    drawing.lets.append(Let("truth", Call(OPERATORS["logical_not"], (Var("c"),)), None))
    for _ in range(draw(st.integers(1, steps))):
        drawing.step(0)
    result: Atom = Var(draw(st.sampled_from([*drawing.types])))
    if draw(st.booleans()):
        tuple_type = TupleType(tuple(drawing.types.values()))
        result = Var(drawing.let(Tuple(tuple(Var(name) for name in drawing.types)), tuple_type))
    body = Body(tuple(drawing.lets), result)
    return Function("main", tuple(Param(*each) for each in types.items()), body)
