"""The writer of gradients: values that are appended to a body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.gradient_query import gradient_dtype
from tandem.compiler.graph.nodes import Atom, Body, Call, Let, Tuple, TupleGet, Value, Var
from tandem.compiler.graph.operators.gradients.shaping import zeros_like
from tandem.compiler.graph.opspec import Registry
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.terms import Term, TermWriter
from tandem.compiler.graph.types import TensorType, TupleType, Type
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
    """

    operators: Registry
    taken: set[str]
    types: dict[str, Type]
    stem: str = "gradient"
    lets: list[Let] = field(default_factory=list)

    def inner(self) -> GraphWriter:
        """A writer of a body within this one, of the same function."""
        return GraphWriter(self.operators, self.taken, self.types, self.stem)

    def call(
        self, operator: str, operands: Sequence[Term], attributes: Mapping[str, Any]
    ) -> tuple[Term, ...]:
        """The results of an operator, each a name of its own."""
        spec = self.operators[operator]
        given = spec.attributes(**attributes)
        types = [each.type for each in operands]
        type_ = spec.result(self.stem, types, given)
        name = self.let(Call(spec, tuple(map(atom_of, operands)), given), type_)
        return tuple(self.leaves(name))

    def let(self, value: Value, type_: Type) -> str:
        """The name of a new value."""
        name = unique_name(self.stem, self.taken)
        self.lets.append(Let(name, value))
        self.types[name] = type_
        return name

    def tuple_of(self, terms: Sequence[Atom], types: Sequence[Type]) -> Var:
        """A tuple of values."""
        return Var(self.let(Tuple(tuple(terms)), TupleType(tuple(types))))

    def leaves(self, name: str) -> list[Term]:
        """The tensors of a value of the body, in order, items of tuples as new names."""
        type_ = self.types[name]
        if isinstance(type_, TensorType):
            return [self.term(Var(name))]
        if not isinstance(type_, TupleType):
            return []
        found: list[Term] = []
        for index, item in enumerate(type_.items):
            found += self.leaves(self.let(TupleGet(Var(name), index), item))
        return found

    def zeros(self, like: Term) -> Term:
        """Zeros that are the gradient of a float."""
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


def atom_of(term: Term) -> Atom:
    """The operand that a term is."""
    return Var(term.value) if isinstance(term.value, str) else term.value


def with_names(body: Body, names: Mapping[str, str]) -> Body:
    """The body with new names of its own values."""
    changed = substitute(body, {old: Var(new) for old, new in names.items()})
    lets = (replace(let, name=names.get(let.name, let.name)) for let in changed.lets)
    return Body(tuple(lets), changed.result)
