"""Tiles on three units, against instructions one by one (`tiles_on_units`), and by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost, MemoryTiming
from tandem.compiler.machines.accelerator.templates.parameter_passes import RequantisePass
from tandem.compiler.machines.accelerator.templates.tile_pipeline import simulated
from tandem.compiler.machines.accelerator.templates.tile_stages import StageCosts, TileCosts
from tandem.compiler.plan.space import Choices
from tandem.hw.config_files import load_config
from tests.support.compiler.machines.accelerator.templates.tiles_on_units import Units

WHOLE = 1 << 40
"""More steps than any program has."""


def layer(rng: np.random.Generator, early: bool) -> Conv2dWorkload:
    """A convolution of a few small tiles, with padding that tiles may lie in, and groups."""
    groups = int(rng.choice([1, 1, 2]))
    kernel, strides, dilation = (rng.integers(1, 4, 2).tolist() for _ in range(3))
    if rng.random() < 0.3:
        kernel = [1, 1]
    padding = rng.integers(0, 3, 4).tolist() if rng.random() < 0.6 else [0] * 4
    size = [dilation[axis] * (kernel[axis] - 1) + int(rng.integers(1, 8)) for axis in (0, 1)]
    depth, own = int(rng.integers(1, 6)), int(rng.integers(1, 7 // groups))
    return Conv2dWorkload(
        data=(int(rng.integers(1, 3)), groups * depth, *size, 1, 16),
        weight=(groups * own, depth, *kernel, 16, 16),
        strides=tuple(strides),
        padding=tuple(padding),
        dilation=tuple(dilation),
        groups=groups,
        passes=(RequantisePass(),) if early else (),
    )


def choice(rng: np.random.Generator, of: Conv2dWorkload) -> dict[str, Any]:
    """What stays serves all threads, and the whole sum."""
    order = str(rng.choice(["outputs", "weights", "image"]))
    along = {"outputs": ["oc", "y", "x"], "weights": ["y", "x"], "image": ["oc"]}[order]
    sizes = {axis: int(rng.integers(1, of.extents[axis] + 1)) for axis in ("oc", "y", "x", "ic")}
    if order != "outputs":
        sizes["ic"] = of.weight[1]
    threads = int(rng.integers(1, 4))
    return {"threads": threads, "order": order, "along": str(rng.choice(along)), **sizes}


def case(seed: int, fine: int, early: bool, longest: int) -> None:
    """Choices of a random layer on a random machine, with stages of random lengths."""
    rng = np.random.default_rng(seed)
    of, count = layer(rng, early), 12
    rows = [choice(rng, of) for _ in range(count)]
    overwrites = "pynq-x" if rng.random() < 0.5 else "pynq"
    timing = MemoryTiming(9, int(rng.choice([1, 2, 5])))
    cost = MachineCost(load_config(overwrites), timing)
    most = int(rng.choice([3, 30, 200]))
    names = "load", "store", "behind_products", "behind_results", "acknowledged", "last"
    lengths = {name: int(rng.integers(0, most)) for name in names}
    stages = StageCosts(**lengths, fine=fine, longest=longest)

    def table(cycles: int) -> Any:
        return rng.integers(0, cycles, (count, 2, 2, 2)) * (rng.random() < 0.8)

    tiles = TileCosts(
        begin=(rng.integers(0, most, count), rng.integers(0, most, count)),
        passes=table(most),
        operands=table(most),
        before=table(most),
        after=table(most),
        image_loads=rng.integers(0, 2, count),
        whole_tile=rng.integers(0, 2, count),
        fits=rng.integers(0, 2, count),
    )
    found = simulated(of, Choices.of(rows), cost, stages, tiles)
    for row, settings in enumerate(rows):
        wanted = Units(of, settings, cost, stages, tiles, row).cycles()
        assert found[row] == pytest.approx(wanted, rel=1e-12), (of, settings, cost, stages)


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("fine", [0, 1])
@pytest.mark.parametrize("longest", [5, 40, WHOLE])
def test_random_programs(longest: int, fine: int, early: bool) -> None:
    for seed in range(10):
        case(seed + 1000 * fine + 100 * early, fine, early, longest)


ONE = Conv2dWorkload((1, 2, 4, 5, 1, 16), (3, 2, 1, 1, 16, 16), (1, 1), (0,) * 4, (1, 1), 1, ())
WHOLE_LAYER = Choices.of(
    [{"threads": 1, "order": "outputs", "along": "oc", "oc": 3, "y": 4, "x": 5, "ic": 2}]
)
STAGES = StageCosts(1000, 10, 0, 200, 50, 7, 0, WHOLE)
COST = MachineCost(load_config("pynq"), MemoryTiming(9, 2))
"""8 bytes of the bus in two cycles; resets."""


def test_a_single_tile_by_hand() -> None:
    """6 weights of 256 bytes; 40 elements of 16 bytes in two LOADs; 60 resets and 120 products."""
    begin = np.array([100]), np.array([30])
    passes = np.full((1, 2, 2, 2), 400)
    (found,) = simulated(ONE, WHOLE_LAYER, COST, STAGES, TileCosts(begin, passes))
    loads = 30 + (1000 + 6 * 32 * 2) + 2 * (1000 + 20 * 2 * 2)
    stores = 3 * (10 + 20 * 2 * 2)
    assert found == loads + 120 + 400 + 200 + stores + 50


def test_compute_may_end_last() -> None:
    begin = np.array([100_000]), np.array([30])
    stages = STAGES._replace(last=10_000)
    (found,) = simulated(
        ONE, WHOLE_LAYER, COST, stages, TileCosts(begin, np.zeros((1, 2, 2, 2), np.int64))
    )
    assert found == 100_000 + 60 + 120 + 10_000


def test_what_is_not_said_of_tiles() -> None:
    """No operands, no passes around products, a LOAD for each block, several instructions."""
    begin, passes = (np.array([7]), np.array([8])), np.full((1, 2, 2, 2), 9)
    table, flag = np.zeros_like(passes), np.zeros(1, np.int64)
    said = TileCosts(begin, passes, table, table, table, flag + 1, flag, flag)
    early = replace(ONE, passes=(RequantisePass(),))
    cost, fine = MachineCost(load_config("pynq-x")), STAGES._replace(fine=1)
    for of, stages in ((ONE, STAGES), (early, fine)):
        found = simulated(of, WHOLE_LAYER, cost, stages, TileCosts(begin, passes))
        assert found.tolist() == simulated(of, WHOLE_LAYER, cost, stages, said).tolist()
