"""Sketches of products as a template: spaces, what fits, schedules of choices, and costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.compiler import te
from tandem.compiler.errors import Refusal, ReplayError
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.sketches.counts import ProductCounts
from tandem.compiler.machines.accelerator.sketches.cycles import IN_CYCLES, bound, columns
from tandem.compiler.machines.accelerator.sketches.product import product_of
from tandem.compiler.machines.accelerator.sketches.template import PRODUCT_SKETCHES, ProductCosts
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost, MemoryTiming
from tandem.compiler.plan.space import Choices
from tandem.compiler.te import compute, placeholder, reduce_axis
from tandem.compiler.te.build import program_of
from tandem.compiler.te.tree import allocated
from tandem.compiler.tune.sketches.computation import Computation
from tandem.hw.topology import MemoryId
from tests.support.compiler.machines.accelerator.sketches.small_products import TINY, matrices

LAYER = Computation.of(program_of([matrices(passes=True)]))
"""Axes i1 of 6 rows and i2 of 4 blocks, of sums over r0 of 6 blocks."""
COST = MachineCost(TINY.config, MemoryTiming(20, 3))


def without_weight_axis() -> Computation:
    """Each row has a weight of its own."""
    image, weight = placeholder((6, 5, 1, 4), INT8, "a"), placeholder((6, 5, 4, 4), INT8, "b")
    c, t = reduce_axis(5, "c"), reduce_axis(4, "t")
    sums = compute(
        (6, 1, 4),
        lambda m, b, e: te.sum(
            te.cast(image[m, c, b, t], INT32) * te.cast(weight[m, c, e, t], INT32), axis=(c, t)
        ),
        "sums",
    )
    y = compute(sums.shape, lambda *axes: te.cast(sums[axes], INT8), "y")
    return Computation.of(program_of([y]))


def tile(**settings: Any) -> dict[str, Any]:
    sizes = {"r0": 2, "i1": 3, "i2": 2}
    return {"threads": 2, **sizes, "stays": "steps", "along": "i1", **settings}


def slots(**settings: Any) -> dict[str, Any]:
    numbers = {"image_slots": 0, "weight_slots": 3, "sum_slots": 2}
    loops = {"part": 1, "order": "outputs", "along": "i1"}
    return {"threads": 1, "r0": 2, "i1": 3, "i2": 2, **loops, **numbers, **settings}


# Spaces ---------------------------------------------------------------------------------------


def test_both_spaces() -> None:
    tiles = PRODUCT_SKETCHES.space(LAYER, TINY)
    wide = PRODUCT_SKETCHES.wide_space(LAYER, TINY)
    assert wide is not None
    assert {*tiles.knobs} == {"threads", "r0", "i1", "i2", "stays", "along"}
    assert {*wide.knobs} == {*slots()}
    assert tiles.constraint(Choices.of([tile(), tile(stays="weight")])).tolist() == [True, False]
    assert wide.constraint(Choices.of([slots(), slots(image_slots=2)])).tolist() == [True, True]
    assert PRODUCT_SKETCHES.wide_space(without_weight_axis(), TINY) is None


@pytest.mark.parametrize(
    ("memory", "least"),
    [
        ("wgt", {"log_wgt_buffer": 7}),
        ("inp", {"log_inp_buffer": 5}),
        ("acc", {"log_acc_buffer": 8}),
    ],
)
def test_what_fits(memory: str, least: dict[str, int]) -> None:
    """All memories hold what a choice takes; one that is full, too."""
    roomy = {"log_wgt_buffer": 12, "log_inp_buffer": 10, "log_acc_buffer": 12}
    target = AcceleratorTarget.of(TINY.config.replace(**{**roomy, **least}))
    choices = PRODUCT_SKETCHES.space(LAYER, target).choices()
    usage = ProductCounts(product_of(LAYER, target), choices).usage()
    used = usage[MemoryId[memory.upper()]]
    depth = target.config.depth(MemoryId[memory.upper()])
    fits = PRODUCT_SKETCHES.fits(LAYER, choices, target)
    assert fits.tolist() == (used <= depth).tolist()
    assert not fits.all()
    assert (used == depth).any()


def test_refuses_matches() -> None:
    found: Any = None
    with pytest.raises(Refusal, match=r"^sketches match no pattern: they schedule whole comp"):
        PRODUCT_SKETCHES.bind(found, TINY)


# Schedules ------------------------------------------------------------------------------------


def test_schedules_of_choices() -> None:
    """Those with parts have slots, and one for each load of a tile where all are asked for."""
    tiles = PRODUCT_SKETCHES.schedule(LAYER, tile(), TINY).program
    parts = PRODUCT_SKETCHES.schedule(LAYER, slots(), TINY).program
    held = {name: buffer.slots for name, buffer in allocated(parts.body).items()}
    assert held == {"s0": 2, "s1": 2, "s2": 2, "s0_image": 3, "s0_weight": 3, "a2_acc": 1}
    assert {buffer.slots for buffer in allocated(tiles.body).values()} == {1}
    assert {*allocated(tiles.body)} == {*held}


def test_refuses_choices_that_no_schedule_has() -> None:
    choice = tile()
    del choice["i1"]
    with pytest.raises(ReplayError, match=r"^no choice for i1; choices for unknown knobs: none$"):
        PRODUCT_SKETCHES.schedule(LAYER, choice, TINY)
    with pytest.raises(Refusal, match=r"^no axis of weights alone: there is no schedule with slo"):
        PRODUCT_SKETCHES.schedule(without_weight_axis(), slots(), TINY)


# Costs ----------------------------------------------------------------------------------------


def test_costs_are_those_of_the_counts() -> None:
    choices = Choices.of([tile(), tile(threads=1), tile(r0=6, i1=6, i2=4)])
    counts = ProductCounts(product_of(LAYER, TINY), choices)
    few = MachineCost(TINY.config.replace(log_uop_buffer=5), MemoryTiming(20, 3))
    for cost in (COST, few):
        found = PRODUCT_SKETCHES.estimate(LAYER, choices, cost)
        assert found.tolist() == columns(counts, cost)["estimate"].tolist()
    least = bound(counts, COST)
    assert ProductCosts(COST).bounds(PRODUCT_SKETCHES, LAYER, choices).tolist() == least.tolist()
    # Cycles as multiples of the bound, and -1 for those of micro-ops that do not stay.
    assert np.isinf(found).tolist() == [True, False, True]
    features = ProductCosts(few).features(PRODUCT_SKETCHES, LAYER, choices)
    table = columns(counts, few)
    assert features.shape == (3, len(table))
    for number, (name, column) in enumerate(table.items()):
        wanted = column / least if name in IN_CYCLES else column
        finite = np.isfinite(column)
        assert features[finite, number].tolist() == wanted[finite].tolist()
        assert (features[~finite, number] == -1).all()
