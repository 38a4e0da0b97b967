"""What symbols stand for in a call."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.graph import Dim, Extent, TensorType, TupleType, Type
from tandem.compiler.graph.binding import bind
from tandem.compiler.graph.types import specialised
from tandem.compiler.ir import FLOAT32, INT8

M, N = Dim(("M",)), Dim(("N",))
MN = Dim(("M", "N"))
EXTENTS = st.sampled_from([2, 3, 4, M, N, MN, Dim(("N",), 2), Dim(("N", "N"))])


def tensor(*shape: Extent) -> TensorType:
    return TensorType(shape, FLOAT32)


@given(
    st.lists(st.lists(EXTENTS, max_size=3).map(tuple), max_size=3),
    st.fixed_dictionaries({"M": st.integers(1, 4), "N": st.sampled_from([1, 5, M, N, MN])}),
)
def test_what_is_found_makes_the_types_agree(
    shapes: list[tuple[Extent, ...]], sizes: dict[str, Extent]
) -> None:
    declared: list[Type] = [tensor(*each) for each in shapes]
    given_: list[Type] = [specialised(each, sizes) for each in declared]
    found = bind(declared, given_)
    plain = {str(each) for shape in shapes for each in shape} >= {"M", "N"}
    if plain:
        assert found is not None
    if found is not None:
        assert [specialised(each, found) for each in declared] == given_


def test_by_hand() -> None:
    assert bind([tensor(N, 3)], [tensor(4, 3)]) == {"N": 4}
    assert bind([tensor(N, N)], [tensor(M, M)]) == {"N": M}
    assert bind([tensor(Dim(("N",), 2))], [tensor(6)]) == {"N": 3}
    # The second tells what the first leaves open.
    assert bind([tensor(MN), tensor(M)], [tensor(6), tensor(2)]) == {"M": 2, "N": 3}
    assert bind([tensor(MN)], [tensor(MN)]) == {"M": M, "N": N}
    assert bind([TupleType((tensor(N), tensor()))], [TupleType((tensor(2), tensor()))]) == {"N": 2}


def test_what_cannot_be_passed() -> None:
    for declared, given_ in (
        (tensor(3), tensor(N)),
        (tensor(N), tensor(0)),
        (tensor(N, N), tensor(2, 3)),
        (tensor(Dim(("N",), 2)), tensor(5)),
        (tensor(MN), tensor(6)),
        (tensor(N), tensor(N, 1)),
        (tensor(N), TensorType((N,), INT8)),
        (tensor(N), TupleType((tensor(N),))),
        (TupleType((tensor(N),)), TupleType(())),
    ):
        assert bind([declared], [given_]) is None
    assert bind([tensor(N)], []) is None
