from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import CapacityError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.lower.onchip import ChipMemory, footprint
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.hw.config_files import load_config
from tandem.hw.topology import MemoryId

SMALL8 = load_config("small8")
SCOPES = {MemoryId.INP: OnChip.INP, MemoryId.WGT: OnChip.WGT, MemoryId.ACC: OnChip.ACC}
LANES = {MemoryId.INP: 8, MemoryId.WGT: 64, MemoryId.ACC: 8}


def buffer(memory: MemoryId, elements: int, name: str = "b") -> Buffer:
    dtype = INT32 if memory is MemoryId.ACC else INT8
    return Buffer(name, (elements, LANES[memory]), dtype, SCOPES[memory])


def test_one_after_the_other_and_back() -> None:
    chip = ChipMemory(SMALL8)
    inp, wgt = MemoryId.INP, MemoryId.WGT
    assert chip.allocate(inp, buffer(inp, 10)) == 0
    assert chip.allocate(wgt, buffer(wgt, 64)) == 0
    assert chip.allocate(inp, buffer(inp, 100)) == 10
    chip.release(inp)
    assert chip.allocate(inp, buffer(inp, 118)) == 10


def test_from_the_top() -> None:
    chip = ChipMemory(SMALL8, from_top=True)
    assert chip.allocate(MemoryId.ACC, buffer(MemoryId.ACC, 28)) == 100
    assert chip.allocate(MemoryId.ACC, buffer(MemoryId.ACC, 100)) == 0


def test_what_does_not_fit_is_told_in_numbers() -> None:
    chip = ChipMemory(SMALL8)
    chip.allocate(MemoryId.INP, buffer(MemoryId.INP, 100, "A"))
    with pytest.raises(
        CapacityError,
        match=r"INP of small8 has 128 elements; A 100, B 1,000 are 1,100: 972 too many when B "
        r"\[1000, 8\] is added",
    ):
        chip.allocate(MemoryId.INP, buffer(MemoryId.INP, 1000, "B"))


def test_parts_of_elements_are_refused() -> None:
    with pytest.raises(
        CapacityError,
        match=r"B \[3, 7\] has 21 values, no multiple of the 64 in an element of WGT",
    ):
        ChipMemory(SMALL8).allocate(MemoryId.WGT, Buffer("B", (3, 7), INT8, OnChip.WGT))


@settings(max_examples=60)
@given(st.randoms(use_true_random=False), st.booleans())
def test_what_is_live_never_overlaps(rng: random.Random, from_top: bool) -> None:
    chip = ChipMemory(SMALL8, from_top)
    live: dict[MemoryId, list[range]] = {memory: [] for memory in SCOPES}
    for _ in range(40):
        memory = rng.choice(tuple(SCOPES))
        depth, mine = SMALL8.depth(memory), live[memory]
        if mine and rng.random() < 0.5:
            chip.release(memory)
            mine.pop()
            continue
        left = depth - sum(map(len, mine))
        size = rng.randint(0, left)
        at = chip.allocate(memory, buffer(memory, size))
        taken = {element for each in mine for element in each}
        assert 0 <= at <= depth - size
        assert not taken & set(range(at, at + size))
        mine.append(range(at, at + size))


def held(elements: int, inner: int) -> PrimFunc:
    """A program that keeps `elements` of ACC, and for a while `inner` more."""
    return parse(
        f"""
func f(a: int32[64, 8]) -> (b: int8[64, 8]):
  alloc x: int32[{elements}, 8] @ acc
  for i in 2:
    alloc y: int32[{inner}, 8] @ acc
    y[0, 0] = a[0, 0]
  for i in 2:
    alloc z: int32[3, 8] @ acc
    z[0, 0] = a[0, 0]
"""
    )


def test_a_footprint_is_the_most_that_is_live() -> None:
    target = AcceleratorTarget.of(SMALL8)
    assert footprint(held(20, 7), target) == {MemoryId.ACC: 27}
    assert footprint(held(20, 2), target) == {MemoryId.ACC: 23}


def test_what_does_not_fit_has_no_footprint() -> None:
    with pytest.raises(CapacityError, match="too many when y"):
        footprint(held(100, 64), AcceleratorTarget.of(SMALL8))
