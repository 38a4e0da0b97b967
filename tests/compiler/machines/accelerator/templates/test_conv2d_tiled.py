"""The base space of convolutions: which choices there are, what they take and move, by brute force;
and what their programs allocate and compute."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import ReplayError
from tandem.compiler.lower.lowering import lower
from tandem.compiler.machines.accelerator.lower.programs import accelerator_passes
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates import conv2d_tiled as tiled
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.epilogue import AluPass, OperandKind
from tandem.compiler.machines.accelerator.templates.parameter_passes import RequantisePass
from tandem.compiler.machines.accelerator.templates.work_counts import transfers_of
from tandem.compiler.plan.space import Choices
from tandem.compiler.te.knobs import knob
from tandem.compiler.te.schedule import Sketch
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId
from tests.compiler.machines.accelerator.templates.live_elements import live_elements
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.random_workloads import (
    RandomWorkload,
    draw_conv2d,
)
from tests.support.compiler.machines.accelerator.templates.tile_walks import walked

TINY = AcceleratorTarget.of(machine("tiny"))
"""4 lanes, 32 accumulators."""
BIAS = AluPass(AluOp.ADD, "bias", OperandKind.CHANNEL)
SCALE = AluPass(AluOp.MUL, "scale", OperandKind.CHANNEL)
LAYER = Conv2dWorkload(
    (2, 3, 7, 8, 1, 4), (4, 3, 3, 2, 4, 4), (2, 1), (1, 0, 1, 1), (1, 1), 1, (BIAS,)
)
"""4 blocks of 4 rows and 8 columns, of sums over 3 blocks and 6 taps."""
GROUPED = replace(LAYER, data=(2, 9, 7, 8, 1, 4), weight=(12, 3, 3, 2, 4, 4), groups=3)
"""Three groups of four blocks of outputs, of three blocks of inputs each."""
SKIP = AluPass(AluOp.ADD, "skip", OperandKind.ELEMENT)
PLAIN = replace(LAYER, padding=(0, 0, 0, 0), passes=())


def choice(**settings: Any) -> dict[str, Any]:
    sizes = {"ic": 1, "oc": 1, "x": 1, "y": 1}
    return {"threads": 1, **sizes, "order": "outputs", "along": "oc", **settings}


# Choices --------------------------------------------------------------------------------------


def test_the_knobs() -> None:
    found = tiled.space(LAYER, TINY)
    assert dict(found.knobs) == {
        "threads": (2, 1),
        "ic": (1, 2, 3),
        "oc": (1, 2, 4),
        "x": (1, 2, 3, 4, 8),
        "y": (1, 2, 4),
        "order": ("outputs", "weights", "image"),
        "along": ("oc", "y", "x"),
    }
    assert found.constraint is not None


@pytest.mark.parametrize(
    ("channels", "passes", "stay"),
    [(31, (BIAS,), True), (32, (BIAS,), False), (15, (BIAS, SCALE), True), (99, (), True)],
)
def test_operands_stay_where_they_do_not_fill_acc(channels: int, passes: Any, stay: bool) -> None:
    many = replace(LAYER, weight=(channels, *LAYER.weight[1:]), passes=passes)
    assert dict(tiled.space(many, TINY).knobs).get("resident") == (None if stay else (0,))
    conditions = [each for each in tiled.sketch(many, TINY) if "resident" in repr(each)]
    assert bool(conditions) is not stay


def test_refuses_a_choice_without_the_knob() -> None:
    many = replace(LAYER, weight=(32, *LAYER.weight[1:]))
    with pytest.raises(ReplayError, match=r"^no choice for resident;"):
        Conv2dOnArray().schedule(many, choice(), TINY)


def possible(of: Conv2dWorkload, row: dict[str, Any]) -> bool:
    """What stays is read by all threads, and for the whole sum; a tile has blocks of one group, or
    of whole groups whose channels are read at once."""
    shared = {"image": ["oc"], "weights": ["y", "x"], "outputs": ["oc", "y", "x"]}
    every = row["ic"] == of.weight[1]
    if row["along"] not in shared[row["order"]] or (row["order"] != "outputs" and not every):
        return False
    own = of.weight[0] // of.groups
    for start in range(0, of.weight[0], row["oc"]):
        blocks = range(start, min(start + row["oc"], of.weight[0]))
        groups = {block // own for block in blocks}
        whole = len(blocks) == own * len(groups)
        if len(groups) > 1 and not (whole and every):
            return False
    return True


@pytest.mark.parametrize("of", [LAYER, GROUPED, replace(GROUPED, groups=6)])
def test_which_choices_are_possible(of: Conv2dWorkload) -> None:
    rows = [
        choice(order=order, along=along, ic=ic, oc=oc)
        for order in tiled.ORDERS
        for along, ic, oc in product(("oc", "y", "x"), (1, 2, 3), range(1, of.weight[0] + 1))
    ]
    found = tiled.space(of, TINY).constraint(Choices.of(rows))
    assert found.tolist() == [possible(of, row) for row in rows]


# Traffic, by a walk over all tiles ------------------------------------------------------------


def drawn_rows(of: Conv2dWorkload, count: int) -> list[dict[str, Any]]:
    rng, rows = np.random.default_rng(5), []
    space = tiled.space(of, TINY).choices()
    for number in rng.permutation(len(space))[:count]:
        rows.append(dict(space.choice(int(number))))
    return rows


@pytest.mark.parametrize(
    "of", [LAYER, PLAIN, GROUPED, replace(GROUPED, dilation=(2, 2), padding=(2, 2, 0, 1))]
)
def test_loads_are_those_of_all_tiles(of: Conv2dWorkload) -> None:
    rows = drawn_rows(of, 80)
    weights, image = tiled.loads(of, Choices.of(rows))
    assert (weights.memory, image.memory) == (MemoryId.WGT, MemoryId.INP)
    for number, row in enumerate(rows):
        of_weights, of_image = walked(of, row)
        found = weights.elements[number], weights.instructions[number]
        assert found == pytest.approx(of_weights), row
        found = image.elements[number], image.instructions[number]
        assert found == pytest.approx(of_image), row


# Work -----------------------------------------------------------------------------------------


def test_threads_without_a_tile_of_their_own_repeat_one() -> None:
    """Loads of what stays are not repeated: all threads share it."""
    sizes = {"ic": 3, "oc": 2, "y": 2, "x": 8}
    rows = [
        choice(threads=3, along="oc", **sizes),
        choice(threads=3, along="oc", order="image", **sizes),
        choice(threads=3, along="y", order="weights", **sizes),
        choice(threads=2, along="y", **sizes),
    ]
    found = tiled.work_counts(LAYER, Choices.of(rows))
    weights, image = tiled.loads(LAYER, Choices.of(rows))
    times = np.array([1.5, 1.5, 1.5, 1])
    assert (found.products == 2 * 4 * 4 * 8 * 3 * 6 * times).all()
    assert (found.resets == 2 * 4 * 4 * 8 * times).all()
    assert (found.copies[0].elements == weights.elements * [1.5, 1.5, 1, 1]).all()
    assert (found.copies[1].elements == image.elements * [1.5, 1, 1.5, 1]).all()
    assert (found.tiles == 2 * 2 * 2).all()
    # A reset and one step for each tile, and a pass.
    assert (found.gemms == 8 * times * 2).all()
    assert (found.alus == 8).all()


def test_instructions_of_tiles_that_span_groups() -> None:
    """A GEMM for each block of outputs where groups have several."""
    rows = [choice(oc=oc, ic=3, y=4, x=8) for oc in (1, 2, 4, 12)]
    found = tiled.work_counts(GROUPED, Choices.of(rows))
    assert found.gemms.tolist() == [2 * 12 * 2, 2 * 6 * 2, 2 * 3 * 2, 2 * (1 + 12)]
    pairs = replace(GROUPED, data=(2, 18, 7, 8, 1, 4), groups=6)
    assert tiled.work_counts(pairs, Choices.of(rows[2:])).gemms.tolist() == [6 * 5, 2 * 13]
    alone = replace(GROUPED, weight=(12, 3, 3, 2, 4, 4), data=(2, 36, 7, 8, 1, 4), groups=12)
    found = tiled.work_counts(alone, Choices.of(rows))
    assert found.gemms.tolist() == [2 * 12 * 2, 2 * 6 * 2, 2 * 3 * 2, 2 * 2]
    stepped = tiled.work_counts(LAYER, Choices.of([choice(oc=4, ic=2, y=4, x=8)]))
    assert stepped.gemms.tolist() == [2 * (1 + 2)]


def test_kernels_are_all_loops_but_the_two_longest() -> None:
    """Products have loops over 3 x 2 taps, resets have loops over planes."""
    rows = Choices.of([choice(oc=2, y=4, x=3), choice(oc=4, y=4, x=8)])
    assert tiled.work_counts(LAYER, rows).kernel.tolist() == [2 * 2 * 3, 4 * 3 * 2]
    one = replace(LAYER, weight=(4, 3, 1, 1, 4, 4))
    for planes, kernel in ((0, [2, 4]), (3, [2 * 3, 3 * 4])):
        assert tiled.work_counts(one, rows, planes=planes).kernel.tolist() == kernel


def test_more_loads_and_planes() -> None:
    rows = Choices.of([choice(oc=4, y=4, x=8, ic=3)])
    more = transfers_of(MemoryId.ACC, [(np.array([1]), (np.array([5]),))], (5,))
    found = tiled.work_counts(LAYER, rows, more, planes=3)
    assert found.copies[2] is more
    size = 2 * 4 * 4 * 8
    # Products are those of a convolution, results those of three planes.
    assert found.products.tolist() == [size * 3 * 6]
    assert found.resets.tolist() == [size + 3 * size]
    assert found.copies[3].elements.tolist() == [3 * size]


# Programs -------------------------------------------------------------------------------------


ROOMY = AcceleratorTarget.of(machine("extended").replace(log_inp_buffer=14, log_wgt_buffer=16))
CHOSEN = [
    choice(threads=2, ic=2, oc=2, y=3, x=2, along="oc"),
    choice(threads=2, ic=2, oc=1, y=3, x=2, along="y"),
    choice(threads=2, ic=1, oc=9, y=9, x=9, along="x"),
    choice(threads=3, ic=9, oc=2, y=3, x=2, along="x", order="weights"),
    choice(threads=2, ic=9, oc=1, y=1, x=9, along="y", order="weights"),
    choice(threads=2, ic=9, oc=1, y=3, x=2, along="oc", order="image"),
    choice(threads=1, ic=9, oc=2, y=4, x=9, along="oc", order="image"),
    choice(threads=1, ic=2, oc=1, y=4, x=1, along="oc"),
]
"""Larger than an axis, too."""


def packed(of: Conv2dWorkload, target: AcceleratorTarget) -> Conv2dWorkload:
    config = target.config
    block = config.block_out, config.block_in
    return replace(
        of,
        data=(*of.data[:4], config.batch, block[1]),
        weight=(*of.weight[:4], *block),
    )


RESIDUAL = replace(PLAIN, passes=(RequantisePass("residual", resident=False),))
ALLOCATED = [
    *((LAYER, row) for row in (0, 2, 3, 6)),
    (replace(PLAIN, passes=(SKIP, BIAS)), 0),
    *((RESIDUAL, row) for row in (1, 4, 5)),
    *((replace(GROUPED, weight=(6, 3, 3, 2, 4, 4)), row) for row in (0, 3, 5)),
]


@pytest.mark.parametrize("case", range(len(ALLOCATED)))
def test_usage_is_what_programs_allocate(case: int) -> None:
    of, row = packed(ALLOCATED[case][0], ROOMY), CHOSEN[ALLOCATED[case][1]]
    program = Conv2dOnArray().schedule(of, row, ROOMY).program
    lowered = lower(program, accelerator_passes(ROOMY))
    found = tiled.usage(of, Choices.of([row]))
    wanted = live_elements(lowered.body, ROOMY)
    assert {at: int(each.item()) for at, each in found.items()} == wanted


@pytest.mark.parametrize("seed", range(3))
def test_programs_compute_convolutions(seed: int) -> None:
    rng, config = np.random.default_rng(seed), machine(("tiny", "extended")[seed % 2])
    while True:
        drawn: RandomWorkload = draw_conv2d(rng, config, 6)
        order = ("outputs", "weights", "image")[seed % 3]
        row = drawn.fitting(rng, config, 2)
        if row is None or row["order"] != order:
            continue
        drawn.check(row, config)
        return


# Parts of schedules ---------------------------------------------------------------------------


def test_loops_of_tiles() -> None:
    """Images are outside of all loops, or have tiles of their own."""
    assert tiled.loops_of_tiles("oc", "y", "x") == tuple(
        "n oc_o y_o x_o thread oc_i y_i x_i b bo".split()
    )
    assert tiled.loops_of_tiles("n", "x") == tuple("n_o x_o thread n_i oc y x_i b bo".split())
    assert tiled.loops_in_tile("y") == tuple("oc y_i x b bo".split())


def test_steps_of_a_sum() -> None:
    expected = Sketch().split("out_sum", "ic", knob("ic"), ("ic_o", "ic_i"))
    expected = expected.reorder("out_sum", *"ic_o n oc y x ic_i ky kx b bo bi".split())
    assert tiled.sum_in_steps(Sketch()) == expected


@pytest.mark.parametrize("side", range(4))
def test_what_windows_read_is_on_chip(side: int) -> None:
    padding = tuple(int(each == side) for each in range(4))
    _, name = tiled.image_on_chip(Sketch(), replace(LAYER, padding=padding))
    assert name == "out_pad"
    _, name = tiled.image_on_chip(Sketch(), PLAIN)
    assert name == "out_data"


def test_outer_loops_of_what_stays() -> None:
    """All loops over weights are inside of channels; all those over the image's parts are not."""
    for order, axes in (("outputs", ""), ("weights", "oc"), ("image", "y x")):
        assert tiled.ORDERS[order][: tiled.KEPT_LOOPS[order]] == tuple(axes.split())
