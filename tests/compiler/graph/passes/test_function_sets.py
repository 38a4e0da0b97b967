"""What represents a function of a set."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.errors import GraphError
from tandem.compiler.graph import Constant, TensorType, TupleType
from tandem.compiler.graph.passes.function_sets import (
    MAX_FUNCTIONS,
    MAX_NESTED,
    TAG,
    FunctionSet,
    Held,
    Member,
    function_set,
    given_key,
    held_by,
    joined,
    parts_held,
    represented,
    slots_of,
)
from tandem.compiler.graph.types import tensors_of
from tandem.compiler.ir.dtypes import FLOAT32, INT8

A, B = TensorType((), FLOAT32), TensorType((3,), INT8)
ONE = Constant(np.ones((), np.float32))


def sets(members: st.SearchStrategy[Member]) -> st.SearchStrategy[FunctionSet]:
    return st.lists(members, max_size=3).map(function_set)


def members(held: st.SearchStrategy[Held]) -> st.SearchStrategy[Member]:
    given_ = st.lists(st.one_of(held, st.just(ONE)), max_size=3).map(tuple)
    return st.builds(Member, st.sampled_from("fg"), given_)


HELD = st.recursive(
    st.sampled_from([A, B]),
    lambda inner: st.one_of(sets(members(inner)), st.tuples(inner, inner)),
    max_leaves=8,
)
SETS = sets(members(HELD))


@given(SETS, SETS)
def test_members_of_a_set_have_slots_of_their_own(one: FunctionSet, other: FunctionSet) -> None:
    whole = joined(one, other)
    assert isinstance(whole, FunctionSet)
    assert joined(other, one) == whole
    assert joined(whole, one) == whole
    assert {*one.members, *other.members} == {*whole.members}
    for member in whole.members:
        slots = slots_of(member, whole)
        assert len({*slots}) == len(slots)
        assert tuple(whole.slots[at] for at in slots) == parts_held(member)
    # None is more than a member needs.
    needed = [[*parts_held(each)] for each in whole.members]
    for type_ in (A, B, TAG):
        most = max((each.count(type_) for each in needed), default=0)
        assert whole.slots.count(type_) == most


@given(SETS)
def test_representation(whole: FunctionSet) -> None:
    tensors = tensors_of(represented(whole))
    match whole.members:
        case ():
            assert tensors == ()
        case (member,):
            assert tensors == parts_held(member)
        case _:
            assert tensors == (TAG, *whole.slots)


@given(HELD, HELD)
def test_keys_tell_apart(one: Held, other: Held) -> None:
    assert (given_key(one) == given_key(other)) == (one == other)


def test_constants_are_part_of_a_function() -> None:
    one, two = (Member("f", (Constant(np.array(value, np.float32)), B)) for value in (1, 2))
    assert one != two
    assert one.captured == (B,)
    assert represented(function_set([one, two])) == TupleType((TAG, B))
    assert represented(held_by(TupleType((A, B)))) == TupleType((A, B))


def test_functions_that_hold_too_much() -> None:
    member = Member("f", ())
    for _ in range(MAX_NESTED - 1):
        member = Member("f", (FunctionSet((member,)),))
    with pytest.raises(GraphError, match=f"f holds functions .* at most {MAX_NESTED} may hold one"):
        Member("f", (FunctionSet((member,)),))
    with pytest.raises(GraphError, match=f"g holds functions .* and {MAX_FUNCTIONS} in all"):
        Member("g", (A,) * MAX_FUNCTIONS)
