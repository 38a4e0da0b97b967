"""The writer of gradients: values that are appended to a body."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.gradient_query import gradient_dtype
from tandem.compiler.graph.gradients.cotangents import DataTerm, Leaf
from tandem.compiler.graph.gradients.data_gradients import gradient_of, zero_form
from tandem.compiler.graph.nodes import (
    Atom,
    Body,
    Call,
    Construct,
    Global,
    Let,
    Tuple,
    TupleGet,
    Value,
    Var,
)
from tandem.compiler.graph.operators.gradients.shaping import zeros_like
from tandem.compiler.graph.opspec import Registry
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.terms import Term, TermWriter
from tandem.compiler.graph.types import DataType, TensorType, TupleType, Type
from tandem.compiler.graph.visit import substitute


@dataclass(slots=True)
class GraphWriter(TermWriter):
    """Appends values to the bindings of a body.

    Attributes
    ----------
    operators
        The operators that rules name.
    taken
        The names in use in the function, to which new names are added.
    types
        The types of the function's names, to which those of new names are added.
    stem
        What new names begin with.
    lets
        The values so far.
    adder
        The function that adds two gradients of a data type; None where there are none.
    """

    operators: Registry
    taken: set[str]
    types: dict[str, Type]
    stem: str = "gradient"
    lets: list[Let] = field(default_factory=list)
    adder: Callable[[DataType], Global] | None = None

    def inner(self) -> GraphWriter:
        """A writer of a body within this one, of the same function."""
        return GraphWriter(self.operators, self.taken, self.types, self.stem, adder=self.adder)

    def call(
        self, operator: str, operands: Sequence[Term], attributes: Mapping[str, Any]
    ) -> tuple[Term, ...]:
        """The results of an operator, each a name of its own."""
        spec = self.operators[operator]
        given = spec.attributes(**attributes)
        types = [each.type for each in operands]
        type_ = spec.result(self.stem, types, given)
        name = self.let(Call(spec, tuple(map(atom_of, operands)), given), type_)
        return tuple(it for it in self.leaves(name) if isinstance(it, Term))

    def let(self, value: Value, type_: Type) -> str:
        """The name of a new value."""
        name = unique_name(self.stem, self.taken)
        self.lets.append(Let(name, value))
        self.types[name] = type_
        return name

    def tuple_of(self, terms: Sequence[Atom], types: Sequence[Type]) -> Var:
        """A tuple of values."""
        return Var(self.let(Tuple(tuple(terms)), TupleType(tuple(types))))

    def leaves(self, name: str) -> list[Leaf]:
        """The tensors and values of data types of a value of the body, in order, items of tuples as
        new names."""
        type_ = self.types[name]
        if isinstance(type_, TensorType):
            return [self.term(Var(name))]
        if isinstance(type_, DataType):
            return [self.data(name, type_)]
        if not isinstance(type_, TupleType):
            return []
        found: list[Leaf] = []
        for index, item in enumerate(type_.items):
            found += self.leaves(self.let(TupleGet(Var(name), index), item))
        return found

    def data(self, name: str, type_: DataType) -> DataTerm:
        """The term of a value of a data type."""
        return DataTerm(name, type_, self._sum)

    def _sum(self, one: DataTerm, other: DataTerm) -> DataTerm:
        assert self.adder is not None, "given where data types are"
        call = Call(self.adder(one.type), (Var(one.value), Var(other.value)))
        return self.data(self.let(call, one.type), one.type)

    def construct(self, type_: DataType, constructor: str, args: Sequence[Atom]) -> DataTerm:
        """A value of a data type without arguments."""
        assert type_.declared is not None, "of a program"
        value = Construct(constructor, type_.declared, tuple(args))
        return self.data(self.let(value, type_), type_)

    def here(self, leaf: Leaf) -> Leaf:
        """The term of another body, in scope here, to be read here."""
        if isinstance(leaf, DataTerm):
            return self.data(leaf.value, leaf.type)
        return Term(leaf.value, leaf.type, self)

    def zeros(self, like: Leaf) -> Leaf:
        """Zeros that are the gradient of a float, or of a value of a data type."""
        if isinstance(like, DataTerm):
            gradient = gradient_of(like.type)
            assert gradient is not None, "with floats"
            return self.construct(gradient, zero_form(gradient), ())
        dtype = gradient_dtype(like.type.dtype)
        assert dtype is not None, "a float"
        return zeros_like(like.with_dtype(dtype))

    def term(self, atom: Atom) -> Term:
        """The term of a tensor."""
        if isinstance(atom, Constant):
            return Term(atom, atom.type, self)
        type_ = self.types[atom.name]
        assert isinstance(type_, TensorType), "operands of operators are tensors"
        return Term(atom.name, type_, self)


def atom_of(term: Leaf) -> Atom:
    """The operand that a term is."""
    return Var(term.value) if isinstance(term.value, str) else term.value


def with_names(body: Body, names: Mapping[str, str]) -> Body:
    """The body with new names of its own values."""
    changed = substitute(body, {old: Var(new) for old, new in names.items()})
    lets = (replace(let, name=names.get(let.name, let.name)) for let in changed.lets)
    return Body(tuple(lets), changed.result)
