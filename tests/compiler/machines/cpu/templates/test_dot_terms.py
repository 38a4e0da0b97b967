"""Terms of dot products lie side by side, for one or for several that share data."""

from __future__ import annotations

import pytest

from tandem.compiler.ir.expr import Var
from tandem.compiler.ir.ops import index
from tandem.compiler.machines.cpu.intrinsics import CPU_INTRINSICS
from tandem.compiler.machines.cpu.templates.dot_terms import SINGLE_TERMS, DotTerms


@pytest.mark.parametrize(
    ("name", "terms", "extents"),
    [
        ("vnni_u8s8_16x4", 64, (4,)),
        ("sdot_s8s8_4x4", 64, (4, 4)),
        ("sdot_s8s8_4x4", 3, (4,)),  # 16 terms would be padding, for the most part
        ("sdot_s8s8_4x4", 24, (4,)),
        ("sdot_s8s8_4x4", 28, (4, 4)),
        ("smull_s8s8_4x2", 64, (4, 2)),
        ("smull_s8s8_4x2", 3, (2,)),
    ],
)
def test_several_share_data_where_few_terms_are_padding(
    name: str, terms: int, extents: tuple[int, ...]
) -> None:
    assert DotTerms.of(CPU_INTRINSICS[name].function, terms).extents == extents


def test_extents_of_operands() -> None:
    several = DotTerms((4, 2))
    assert several.count == 8
    assert several.data_extents == (8,)
    assert several.weight_extents(16) == (4, 16, 2)
    assert several.weight_names == ("s", "l", "k")
    assert [axis.extent for axis in several.axes()] == [4, 2]
    one = DotTerms((4,))
    assert (one.data_extents, one.weight_extents(16)) == ((4,), (16, 4))
    assert (SINGLE_TERMS.data_extents, SINGLE_TERMS.weight_extents(16)) == ((), (16,))
    assert SINGLE_TERMS.axes() == ()


def test_indices_of_an_element() -> None:
    s, at, k = (Var(name) for name in "slk")
    assert DotTerms((4, 2)).split((s, at, k)) == (at, s * 2 + k)
    assert DotTerms((4,)).split((at, k)) == (at, k)
    assert SINGLE_TERMS.split((at,)) == (at, index(0))


def test_terms_of_a_sum() -> None:
    group, term = Var("ci"), Var("k")
    assert DotTerms((4, 2)).index(group, term) == group * 8 + term
    assert SINGLE_TERMS.index(group, index(0)) == group
    several = DotTerms((4, 2))
    s, k = several.axes()
    assert several.data_index((s, k)) == s * 2 + k
    assert several.weight_indices(group, (s, k)) == (s, group, k)
