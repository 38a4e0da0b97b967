"""Elements that threads access, counted one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import INT32
from tandem.compiler.ir.expr import Var
from tandem.compiler.machines.gpu.check.accesses import (
    NOTHING,
    Access,
    Numbering,
    Touched,
    visited,
)
from tandem.compiler.machines.gpu.launch import BLOCK, THREAD

BUFFER = Buffer("B", (4, 30), INT32)
small = st.integers(0, 3)


@given(st.tuples(small, small, small), st.integers(1, 3), st.integers(1, 4), st.integers(1, 12))
def test_all_iterations(
    factors: tuple[int, int, int], blocks: int, threads: int, limit: int
) -> None:
    a, b, c = factors
    index = THREAD * a + Var("i") * b + BLOCK * c
    access = Access(BUFFER, (Var("i"), index), True, {"i": 3}, (index < limit,))
    found = visited(access, blocks, threads, {}, Numbering.GRID)
    assert found is not None
    wanted = [
        (i * 30 + thread * a + i * b + block * c, block * threads + thread)
        for i in range(3)
        for block in range(blocks)
        for thread in range(threads)
        if thread * a + i * b + block * c < limit
    ]
    assert sorted(zip(*(each.tolist() for each in found), strict=True)) == sorted(wanted)


numbers = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1)


@given(numbers, numbers)
def test_elements_in_common(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    first, second = (
        Touched.of(*(np.array(each, np.int64) for each in zip(*pairs, strict=True)))
        for pairs in (one, other)
    )
    races = {
        key
        for key, number in one
        for other_key, another in other
        if key == other_key and len({each for at, each in (*one, *other) if at == key}) > 1
    }
    found = first.shared_with(second)
    assert (found is None) == (not races)
    assert found is None or found in races
    assert first.merged(second).keys.tolist() == sorted({key for key, _ in (*one, *other)})
    assert (first.contested() is None) == (len(dict(one)) == len(set(one)))
    assert first.shared_with(NOTHING) is None


def test_too_many_iterations() -> None:
    """One block of 1,024 threads more than is looked at; the threads of a block are few."""
    buffer = Buffer("B", ((1 << 25) + 1024,), INT32)
    access = Access(buffer, (BLOCK * 1024 + THREAD,), True, {}, ())
    blocks = (1 << 15) + 1
    assert visited(access, blocks, 1024, {}, Numbering.GRID) is None
    one_block = Access(buffer, (THREAD,), True, {}, ())
    found = visited(one_block, blocks, 1024, {})
    assert found is not None
    np.testing.assert_array_equal(found, [np.arange(1024), np.arange(1024)])
