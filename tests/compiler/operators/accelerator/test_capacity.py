"""The search for tile sizes: the cheapest of all that fit, by trying every one."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.errors import CapacityError
from compiler.operators.accelerator.capacity import (
    Sizes,
    Space,
    cheapest,
    pieces,
    resident_or_not,
    shared_axis,
)
from hw.config_files import load_config
from hw.memories import MemoryId

TINY = load_config("tiny")
ACC = TINY.depth(MemoryId.ACC)


def _count(extents: dict[str, int], sizes: Sizes) -> int:
    return math.prod(map(pieces, extents.values(), sizes))


@given(
    st.dictionaries(st.sampled_from("abc"), st.integers(1, 12), min_size=1),
    st.integers(1, 6),
    st.integers(1, 12),
)
def test_fewest_tiles_of_all_that_fit(extents: dict[str, int], weight: int, most: int) -> None:
    """Sizes that leave out some of all still have the fewest tiles of all."""
    axis = next(iter(extents))
    space = Space(
        "it",
        extents,
        use=lambda sizes: {MemoryId.ACC: weight * math.prod(sizes)},
        cost=lambda sizes: (_count(extents, sizes),),
        most={axis: most},
    )
    found = cheapest(space, TINY)
    assert weight * math.prod(found) <= ACC
    assert found[0] <= most
    every = product(*(range(1, min(n, most if at == axis else n) + 1) for at, n in extents.items()))
    assert _count(extents, found) == min(
        _count(extents, sizes) for sizes in every if weight * math.prod(sizes) <= ACC
    )


def test_refuses_with_all_numbers() -> None:
    space = Space(
        "a thing",
        {"a": 4},
        use=lambda sizes: {MemoryId.ACC: 2000, MemoryId.INP: 3, MemoryId.WGT: 17},
        cost=lambda sizes: sizes,
        most={},
    )
    with pytest.raises(
        CapacityError,
        match=r"^a thing does not fit on tiny: the smallest tiles take 2,000 elements of ACC, "
        r"which has 32; 17 elements of WGT, which has 16$",
    ):
        cheapest(space, TINY)


@pytest.mark.parametrize(
    ("extents", "threads", "found"),
    [
        ({"oc": 4, "y": 9}, 4, ("oc", 4)),
        ({"oc": 3, "y": 9}, 4, ("y", 4)),
        ({"oc": 3, "y": 2}, 4, ("oc", 3)),
        ({"oc": 1, "y": 1}, 2, ("oc", 1)),
    ],
)
def test_what_threads_share(extents: dict[str, int], threads: int, found: tuple[str, int]) -> None:
    assert shared_axis(extents, threads) == found


@pytest.mark.parametrize(("operands", "resident"), [(0, True), (8, True), (9, False)])
def test_operands_stay_up_to_a_quarter(operands: int, resident: bool) -> None:
    assert resident_or_not(lambda stays: stays, operands, TINY) is resident


@pytest.mark.parametrize("operands", [0, 32])
def test_what_does_not_fit_one_way_is_tried_the_other(operands: int) -> None:
    preferred = operands == 0

    def choose(resident: bool) -> bool:
        if resident is preferred:
            raise CapacityError("full")
        return resident

    assert resident_or_not(choose, operands, TINY) is not preferred
