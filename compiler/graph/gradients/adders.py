"""Functions that add gradients of a data type: as deep as both values are."""

from __future__ import annotations

from collections.abc import Callable

from tandem.compiler.graph.data_types import constructors_of
from tandem.compiler.graph.gradients.writer import GraphWriter, atom_of
from tandem.compiler.graph.nodes import Arm, Body, Function, Global, Let, Match, Param, Var
from tandem.compiler.graph.opspec import Registry
from tandem.compiler.graph.syntax import unique_name
from tandem.compiler.graph.types import Constructor, DataType, Type


def adder(
    name: str, type_: DataType, operators: Registry, of: Callable[[DataType], Global]
) -> Function:
    """The function of two gradients of a data type whose result is their sum.

    Parameters
    ----------
    type_
        A type of gradients, whose first form is zero (`data_gradients`).
    of
        The functions that add what the values hold.
    """
    taken = {"a", "b", "sum"}
    types: dict[str, Type] = {"a": type_, "b": type_}
    zero, *forms = constructors_of(type_)
    arms = [Arm(zero.name, (), Body((), Var("b")))]
    for form in forms:
        fields = _names(form, "x", taken, types)
        others = _names(form, "y", taken, types)
        writer = GraphWriter(operators, taken, types, "z", adder=of)
        pairs = zip(fields, others, strict=True)
        sums = [_sum(writer, one, other) for one, other in pairs]
        both = writer.construct(type_, form.name, sums)
        both_arm = Arm(form.name, others, Body(tuple(writer.lets), Var(both.value)))
        # The other gradient is zero: of one value there are no two forms.
        only = Arm(None, (), Body((), Var("a")))
        inner = unique_name("both", taken)
        match = Let(inner, Match(Var("b"), (both_arm, only)))
        arms.append(Arm(form.name, fields, Body((match,), Var(inner))))
    body = Body((Let("sum", Match(Var("a"), tuple(arms))),), Var("sum"))
    return Function(name, (Param("a", type_), Param("b", type_)), body, type_)


def _names(
    form: Constructor, stem: str, taken: set[str], types: dict[str, Type]
) -> tuple[str, ...]:
    """New names for a form's fields."""
    found = tuple(unique_name(stem, taken) for _ in form.fields)
    types.update(zip(found, form.fields, strict=True))
    return found


def _sum(writer: GraphWriter, one: str, other: str) -> Var:
    (left,), (right,) = writer.leaves(one), writer.leaves(other)
    total = atom_of(left + right)  # type: ignore[operator]  # of one type
    assert isinstance(total, Var), "a new value"
    return total
