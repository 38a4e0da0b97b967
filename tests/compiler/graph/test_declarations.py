"""Random declarations of data types: what their text is read as, and what they reach."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import GraphError
from tandem.compiler.graph import (
    Body,
    Constructor,
    DataType,
    Declaration,
    Function,
    FunctionType,
    Param,
    TensorType,
    TupleType,
    Type,
    Var,
)
from tandem.compiler.graph.data_types import (
    constructors_of,
    data_types_in,
    declare,
    reached,
)
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.verify import verify
from tandem.compiler.ir.dtypes import FLOAT32


@st.composite
def declarations(draw: st.DrawFn) -> tuple[Declaration, ...]:
    """Random data types that name one another, without symbols."""
    arities = draw(st.lists(st.integers(0, 2), min_size=1, max_size=4))
    found = []
    for number, arity in enumerate(arities):
        params = tuple(f"P{at}" for at in range(arity))
        plain: list[Type] = [
            TensorType((), FLOAT32),
            TensorType((2, 3), FLOAT32),
            *map(DataType, params),
        ]
        types = st.recursive(st.sampled_from(plain), lambda inner: _larger(inner, arities))
        fields = st.lists(types, max_size=3).map(tuple)
        forms = draw(st.lists(fields, min_size=1, max_size=3))
        constructors = (Constructor(f"C{number}{at}", each) for at, each in enumerate(forms))
        found.append(Declaration(f"A{number}", params, tuple(constructors)))
    return tuple(found)


def _larger(inner: st.SearchStrategy[Type], arities: Sequence[int]) -> st.SearchStrategy[Type]:
    def of(number: int) -> st.SearchStrategy[Type]:
        given_ = st.tuples(*[inner] * arities[number])
        return st.builds(DataType, st.just(f"A{number}"), given_)

    lists = st.lists(inner, max_size=2).map(tuple)
    return st.one_of(
        st.sampled_from(range(len(arities))).flatmap(of),
        st.builds(TupleType, lists),
        st.builds(FunctionType, lists, inner),
    )


@given(declarations())
def test_declarations_are_read_back(types: tuple[Declaration, ...]) -> None:
    try:
        declared = declare(types)
    except GraphError as error:
        if "whose arguments grow" not in str(error):
            raise
        return
    arguments = (TensorType((), FLOAT32),) * len(types[0].params)
    whole = DataType(types[0].name, arguments, declared)
    function = Function("f", (Param("x", whole),), Body((), Var("x")))
    verify(function)
    found = parse(text(function), OPERATORS)
    assert found.declared == declared
    assert found.declared.types == types
    assert found.functions == (function,)
    every = reached(whole)
    inside = (it for data in every for form in constructors_of(data) for it in form.fields)
    assert {data for own in inside for data in data_types_in(own)} <= {*every}
    assert all(data.declared == declared for data in every)
