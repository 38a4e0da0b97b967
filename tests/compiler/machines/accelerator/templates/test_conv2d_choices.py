"""Choices for convolutions: they fit, none is estimated better, and what cannot fit is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import Refusal
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.epilogue import AluPass, OperandKind
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost, MemoryTiming
from tandem.compiler.plan.planner import best_choice
from tandem.compiler.plan.space import Choices
from tandem.compiler.te.knobs import Choice
from tandem.hw.config import HardwareConfig
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine

TEMPLATE = Conv2dOnArray()
PYNQ = HardwareConfig()
WORKLOAD = Conv2dWorkload(
    data=(1, 4, 14, 14, 1, 16),
    weight=(4, 4, 3, 3, 16, 16),
    strides=(1, 1),
    padding=(1, 1, 1, 1),
    dilation=(1, 1),
    groups=1,
    passes=(
        AluPass(AluOp.ADD, "bias", OperandKind.CHANNEL),
        *(AluPass(op, op.name) for op in (AluOp.SHR, AluOp.MAX, AluOp.MIN)),
    ),
)
"""Workloads know the shapes of blocks only for their expressions: choices do not depend on them."""
GROUPED = replace(WORKLOAD, data=(1, 4, 14, 14, 1, 16), weight=(4, 2, 3, 3, 16, 16), groups=2)


def sized(oc: int, ic: int, size: int, kernel: int) -> Conv2dWorkload:
    """The same on other images, all of whose pixels have a result."""
    border = kernel // 2
    return replace(
        WORKLOAD,
        data=(1, ic, size, size, 1, 16),
        weight=(oc, ic, kernel, kernel, 16, 16),
        padding=(border,) * 4,
    )


def choose(
    workload: Conv2dWorkload,
    config: HardwareConfig,
    timing: MemoryTiming | None = None,
    **fixed: Any,
) -> dict[str, Any]:
    target = accelerator(config, timing)
    held = {name: (setting,) for name, setting in fixed.items()}
    return dict(best_choice(target, TEMPLATE, workload, held))


def fits(workload: Conv2dWorkload, choice: Choice, config: HardwareConfig) -> bool:
    """And is in the space."""
    one, target = Choices.of([choice]), AcceleratorTarget.of(config)
    allowed = TEMPLATE.space(workload, target).constraint(one)
    return bool((allowed & TEMPLATE.fits(workload, one, target)).all())


def cycles(workload: Conv2dWorkload, choice: Choice, cost: MachineCost) -> float:
    return float(TEMPLATE.estimate(workload, Choices.of([choice]), cost).item())


def tiles(oc: int, y: int, x: int, ic: int, **more: Any) -> dict[str, Any]:
    return {
        "threads": 1, "ic": ic, "oc": oc, "x": x, "y": y, "order": "outputs", "along": "y", **more
    }  # fmt: skip


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
    workload, cost = sized(oc, ic, size, kernel), MachineCost(machine(config))
    chosen = choose(workload, cost.config, threads=threads)
    assert fits(workload, chosen, cost.config)
    assert chosen["threads"] == threads
    plain = tiles(1, 1, 1, 1, threads=threads, along="oc")
    if fits(workload, plain, cost.config):
        assert cycles(workload, chosen, cost) <= cycles(workload, plain, cost)


def test_memory_that_answers_slowly_makes_tiles_larger() -> None:
    quick = choose(WORKLOAD, PYNQ, MemoryTiming(1, 1), threads=2)
    slow = choose(WORKLOAD, PYNQ, MemoryTiming(400, 1), threads=2)
    axes = ("oc", "y", "x", "ic")
    assert np.prod([slow[each] for each in axes]) > np.prod([quick[each] for each in axes])


def test_one_thread_where_there_is_little_to_do() -> None:
    assert choose(sized(1, 8, 1, 1), PYNQ)["threads"] == 1
    assert choose(WORKLOAD, PYNQ) == choose(WORKLOAD, PYNQ, threads=2)
    unhidden = accelerator(PYNQ, hiding=False)
    assert best_choice(unhidden, TEMPLATE, WORKLOAD)["threads"] == 1


def test_one_thread_where_two_do_not_fit() -> None:
    """A block's weights are 9 elements, and the memory holds 16."""
    tiny = machine("tiny")
    with pytest.raises(Refusal):
        choose(WORKLOAD, tiny, threads=2)
    either = best_choice(accelerator(tiny), TEMPLATE, WORKLOAD, {"threads": (2, 1)})
    assert either == choose(WORKLOAD, tiny, threads=1)


def test_the_estimate_in_full_finds_little_that_the_guess_had_left_out() -> None:
    """The first layer of a residual network: few input channels, a large image."""
    workload, cost = sized(4, 10, 112, 1), MachineCost(PYNQ)
    target = AcceleratorTarget.of(PYNQ)
    choices = TEMPLATE.space(workload, target).choices({"threads": (2,)})
    choices = choices.where(TEMPLATE.fits(workload, choices, target))
    guess = TEMPLATE.shortlist(workload, choices, cost)
    assert 0 < len(guess) < 100 < len(choices)
    some = choices.where(np.random.default_rng(0).permutation(len(choices))[:800])
    best = TEMPLATE.estimate(workload, some, cost).min()
    assert TEMPLATE.estimate(workload, guess, cost).min() <= 1.02 * best


def usage(workload: Conv2dWorkload, choice: Choice) -> Mapping[MemoryId, int]:
    found = TEMPLATE.usage(workload, Choices.of([choice]))
    return {memory: int(each.item()) for memory, each in found.items()}


def test_what_a_choice_takes() -> None:
    """2 threads of 2 x 7 x 14 outputs; 9 x 16 pixels; 9 taps; one operand for each channel."""
    assert usage(WORKLOAD, tiles(2, 7, 14, 1, threads=2)) == {
        MemoryId.ACC: 2 * 2 * 7 * 14 + 4,
        MemoryId.INP: 2 * 9 * 16,
        MemoryId.WGT: 2 * 2 * 9,
    }


def test_what_a_choice_of_groups_takes() -> None:
    """Four output blocks in two groups: a tile of four reads both groups, one of two only one."""
    for oc, blocks in ((1, 2), (2, 2), (4, 4)):
        assert usage(GROUPED, tiles(oc, 7, 14, 2))[MemoryId.INP] == blocks * 9 * 16
    stays = tiles(1, 7, 14, 2, order="image", threads=2, along="oc")
    assert usage(GROUPED, stays)[MemoryId.INP] == 4 * 9 * 16


def test_a_tile_reads_groups_in_one_piece() -> None:
    """A step of half a group of each of two groups would have a hole; so has a tile of three."""
    assert fits(GROUPED, tiles(4, 1, 1, 2), PYNQ)
    assert not fits(GROUPED, tiles(4, 1, 1, 1), PYNQ)
    assert not fits(GROUPED, tiles(3, 1, 1, 2), PYNQ)
    assert fits(GROUPED, tiles(2, 1, 1, 1), PYNQ)


def test_the_space_has_no_contradictions() -> None:
    """What stays is not what threads share, and is there for the whole sum; all are different."""
    found = TEMPLATE.space(WORKLOAD, AcceleratorTarget.of(PYNQ)).choices()
    rows = {tuple(each.tolist()) for each in np.stack([*found.columns.values()], axis=1)}
    assert len(rows) == len(found) > 100
    along = {
        (order, axis)
        for order in ("outputs", "weights", "image")
        for axis in ("oc", "y", "x")
        if (found.equals("order", order) & found.equals("along", axis)).any()
    }
    assert along == {
        *(("outputs", axis) for axis in ("oc", "y", "x")),
        ("weights", "y"),
        ("weights", "x"),
        ("image", "oc"),
    }
    assert (found.equals("order", "outputs") | (found["ic"] == 4)).all()


def test_refuses_what_cannot_fit_with_numbers() -> None:
    with pytest.raises(
        Refusal,
        match=r"^tiny is too small for the smallest tiles: WGT has 16 elements and they take 18, "
        r"for which log_wgt_buffer would have to be 9$",
    ):
        choose(WORKLOAD, machine("tiny"), threads=2)


def test_operands_of_many_channels_come_with_each_tile() -> None:
    """An operand of 2,048 blocks takes all of ACC."""
    target = AcceleratorTarget.of(PYNQ)
    few, many = sized(2047, 1, 4, 1), sized(2048, 1, 4, 1)
    assert "resident" not in TEMPLATE.space(few, target).knobs
    assert TEMPLATE.space(many, target).knobs["resident"] == (0,)
    chosen = choose(many, PYNQ)
    assert fits(many, chosen, PYNQ)
    used = TEMPLATE.usage(many, Choices.of([chosen]))[MemoryId.ACC].item()
    tile = chosen["threads"] * chosen["oc"] * chosen["y"] * chosen["x"]
    assert used == tile + chosen["threads"] * chosen["oc"]
