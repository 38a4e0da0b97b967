"""No two tensors that live at the same time share a byte."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.memory import LiveRange, peak, plan_memory


@st.composite
def tenants(draw: st.DrawFn) -> list[LiveRange]:
    found = []
    for number in range(draw(st.integers(0, 24))):
        first = draw(st.integers(0, 12))
        last = draw(st.integers(first, 14))
        found.append(LiveRange(f"t{number}", draw(st.integers(0, 300)), first, last))
    return found


@settings(max_examples=150)
@given(tenants(), st.sampled_from([1, 8, 64]))
def test_bytes_belong_to_one_at_a_time(given_: list[LiveRange], alignment: int) -> None:
    plan = plan_memory(given_, alignment)
    owners: dict[tuple[int, int], str] = {}
    for tenant, offset in zip(given_, plan.offsets, strict=True):
        assert offset % alignment == 0
        assert 0 <= offset <= offset + tenant.size <= plan.size
        for moment in range(tenant.first, tenant.last + 1):
            for byte in range(offset, offset + tenant.size):
                assert owners.setdefault((moment, byte), tenant.name) == tenant.name
    least = peak(given_, alignment)
    rounded = [-(-each.size // alignment) * alignment for each in given_]
    most = max(
        (
            sum(r for e, r in zip(given_, rounded, strict=True) if e.first <= moment <= e.last)
            for moment in range(15)
        ),
        default=0,
    )
    assert least == most
    assert least <= plan.size <= min(sum(rounded), 2 * least)


def test_a_chain_takes_two_places() -> None:
    chain = [LiveRange(f"t{number}", 100, number, number + 1) for number in range(20)]
    plan = plan_memory(chain)
    assert plan.size == 256
    assert all(one != other for one, other in pairwise(plan.offsets))


def test_a_gap_is_found() -> None:
    large, small = LiveRange("large", 512, 0, 1), LiveRange("small", 64, 0, 3)
    late, last = LiveRange("late", 512, 2, 3), LiveRange("last", 64, 3, 3)
    plan = plan_memory([small, large, late, last])
    assert plan.size == peak([small, large, late, last]) == 640


def test_nothing_takes_nothing() -> None:
    assert plan_memory([]).size == 0
    plan = plan_memory([LiveRange("a", 0, 0, 5), LiveRange("b", 1, 0, 5)], alignment=16)
    assert plan.size == 16


def test_refusals() -> None:
    for size, first, last in ((-1, 0, 0), (1, 3, 2)):
        with pytest.raises(
            GraphError, match=f"t has {size} bytes and is live from {first} to {last}"
        ):
            LiveRange("t", size, first, last)
    with pytest.raises(GraphError, match="an alignment of 0: 1 or more is allowed"):
        plan_memory([], 0)
