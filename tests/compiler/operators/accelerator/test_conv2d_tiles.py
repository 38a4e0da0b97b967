"""Tiles for convolutions: they fit, none is estimated better, and what cannot fit is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.errors import CapacityError
from compiler.operators.accelerator.conv2d_cost import ConvShape, estimate
from compiler.operators.accelerator.conv2d_tiles import (
    choose_tiling,
    fits,
    tilings,
    usage,
    with_or_without_hiding,
)
from compiler.operators.accelerator.tiling import Order, Tiling
from compiler.templates.accelerator.machine_cost import MachineCost, MemoryTiming
from hw.config import HardwareConfig
from hw.memories import MemoryId
from tests.support.accelerator_operators import machine

SHAPE = ConvShape(
    batches=1,
    oc=4,
    y=14,
    x=14,
    ic=4,
    image=(14, 14),
    kernel=(3, 3),
    stride=(1, 1),
    reach=(3, 3),
    tensor_passes=1,
    number_passes=3,
    element_operands=0,
    channel_operands=1,
)


@settings(max_examples=25)
@given(
    oc=st.integers(1, 6),
    ic=st.integers(1, 6),
    size=st.integers(1, 20),
    kernel=st.sampled_from([1, 3]),
    threads=st.sampled_from([1, 2]),
    config=st.sampled_from(["small8", "pynq", "batch2"]),
)
def test_the_choice_fits_and_is_no_worse_than_others(
    oc: int, ic: int, size: int, kernel: int, threads: int, config: str
) -> None:
    shape = replace(
        SHAPE, oc=oc, ic=ic, y=size, x=size, image=(size, size), kernel=(kernel,) * 2,
        reach=(kernel,) * 2,
    )  # fmt: skip
    cost = MachineCost(machine(config))
    chosen = choose_tiling(shape, cost, threads)
    assert fits(shape, chosen, cost.config)
    assert chosen.threads == threads
    plain = Tiling(1, 1, 1, 1, Order.OUTPUTS, threads, "oc")
    if fits(shape, plain, cost.config):
        assert estimate(shape, chosen, cost) <= estimate(shape, plain, cost)


def test_memory_that_answers_slowly_makes_tiles_larger() -> None:
    pynq = HardwareConfig()
    quick = choose_tiling(SHAPE, MachineCost(pynq, MemoryTiming(1, 1)))
    slow = choose_tiling(SHAPE, MachineCost(pynq, MemoryTiming(400, 1)))
    assert slow.oc * slow.y * slow.x * slow.ic > quick.oc * quick.y * quick.x * quick.ic


def test_one_thread_where_there_is_little_to_do() -> None:
    cost = MachineCost(HardwareConfig())
    pixel = replace(SHAPE, oc=1, ic=8, y=1, x=1, image=(1, 1), kernel=(1, 1), reach=(1, 1))
    assert with_or_without_hiding(pixel, cost, 2).threads == 1
    chosen = with_or_without_hiding(SHAPE, cost, 2)
    assert chosen == choose_tiling(SHAPE, cost, 2)
    assert with_or_without_hiding(SHAPE, cost, 1).threads == 1


def test_one_thread_where_two_do_not_fit() -> None:
    """A block's weights are 9 elements, and there is room for 16."""
    cost = MachineCost(machine("tiny"))
    with pytest.raises(CapacityError):
        choose_tiling(SHAPE, cost, 2)
    chosen = with_or_without_hiding(SHAPE, cost, 2)
    assert chosen == choose_tiling(SHAPE, cost, 1)


def test_the_estimate_in_full_finds_little_that_the_guess_had_left_out() -> None:
    """The first layer of a residual network: few input channels, a large image."""
    shape = replace(SHAPE, oc=4, ic=10, y=112, x=112, image=(112, 112), kernel=(1, 1), reach=(1, 1))
    cost = MachineCost(HardwareConfig())
    best = min(estimate(shape, each, cost) for each in tilings(shape, cost, 2, most=800))
    assert estimate(shape, choose_tiling(shape, cost), cost) <= 1.02 * best


def test_what_a_tiling_takes() -> None:
    """2 threads of 2 x 7 x 14 outputs; 9 x 16 pixels; 9 taps; one operand for each channel."""
    taken = usage(SHAPE, Tiling(2, 7, 14, 1, Order.OUTPUTS, 2, "y"))
    assert taken[MemoryId.ACC] == 2 * 2 * 7 * 14 + 4
    assert taken[MemoryId.INP] == 2 * 9 * 16
    assert taken[MemoryId.WGT] == 2 * 2 * 9


def test_what_a_tiling_of_groups_takes() -> None:
    """Four output blocks in two groups: a tile of four reads both groups, one of two only one."""
    shape = replace(SHAPE, ic=2, groups=2)
    for oc, blocks in ((1, 2), (2, 2), (4, 4)):
        taken = usage(shape, Tiling(oc, 7, 14, 2, Order.OUTPUTS, 1, "y"))
        assert taken[MemoryId.INP] == blocks * 9 * 16
    assert usage(shape, Tiling(1, 7, 14, 2, Order.IMAGE, 2, "oc"))[MemoryId.INP] == 4 * 9 * 16


def test_a_tile_reads_groups_in_one_piece() -> None:
    """A step of half a group of each of two groups would have a hole; so has a tile of three."""
    shape = replace(SHAPE, ic=2, groups=2)
    tiling = Tiling(4, 1, 1, 2, Order.OUTPUTS, 1, "y")
    assert fits(shape, tiling, HardwareConfig())
    assert not fits(shape, replace(tiling, ic=1), HardwareConfig())
    assert not fits(shape, replace(tiling, oc=3), HardwareConfig())
    assert fits(shape, replace(tiling, oc=2, ic=1), HardwareConfig())
    for each in tilings(shape, MachineCost(HardwareConfig()), 2):
        assert fits(shape, each, HardwareConfig())


def test_candidates_fit_and_are_different() -> None:
    pynq = HardwareConfig()
    found = tilings(SHAPE, MachineCost(pynq), 2, most=1000)
    assert len(found) == len(set(found)) > 100
    assert all(fits(SHAPE, each, pynq) for each in found)


def test_refuses_what_cannot_fit_with_numbers() -> None:
    with pytest.raises(
        CapacityError,
        match=r"^tiny is too small for this convolution: WGT has 16 and the smallest tile takes 18",
    ):
        choose_tiling(SHAPE, MachineCost(machine("tiny")))
