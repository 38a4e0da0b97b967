"""The stages of tiles of the wide space of convolutions, added up by hand."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest

from tandem.compiler.machines.accelerator.templates.conv2d_pipelined import ALL
from tandem.compiler.machines.accelerator.templates.conv2d_pipelined_cycles import (
    PipelinedCycles,
    Prices,
    TileCycles,
    estimate,
    load_overhead,
    products_of,
    tiles_of_kinds,
    tiles_of_pixels,
)
from tandem.compiler.machines.accelerator.templates.conv2d_pipelined_simulation import HANDOVER
from tandem.compiler.machines.accelerator.templates.conv2d_workload import (
    Conv2dWorkload,
    RowsWorkload,
)
from tandem.compiler.machines.accelerator.templates.epilogue import AluPass, OperandKind
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost, MemoryTiming
from tandem.compiler.plan.space import Choices
from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId

PYNQ = HardwareConfig()
"""Beats of 8 bytes: an element of INP has 2, of OUT 2, of ACC 8, of WGT 32, an instruction 2."""
COST = MachineCost(PYNQ)
"""A latency of 16, and a beat a cycle: 24 cycles of a LOAD or STORE besides its data."""
CLIP = tuple(AluPass(op, op.name) for op in (AluOp.SHR, AluOp.MAX, AluOp.MIN))
WORKLOAD = Conv2dWorkload(
    data=(1, 4, 5, 6, 1, 16),
    weight=(2, 4, 3, 3, 16, 16),
    strides=(1, 1),
    padding=(1, 1, 1, 1),
    dilation=(1, 1),
    groups=1,
    passes=CLIP,
)
CHOICE: dict[str, Any] = {
    **{"threads": 1, "ic": 2, "oc": 2, "part": 1, "ky": 3, "x": 4, "y": 3},
    **{"order": "outputs", "along": "oc", "image_slots": 2, "weight_slots": 2, "sum_slots": 2},
}
"""Two by two tiles: 3 and 2 rows, 4 and 2 columns."""


def choices(*changes: dict[str, Any]) -> Choices:
    return Choices.of([{**CHOICE, **change} for change in changes or ({},)])


def stages(
    workload: Conv2dWorkload = WORKLOAD, cost: MachineCost = COST, **change: Any
) -> TileCycles:
    return TileCycles.of(workload, choices(change), cost)


def test_numbers_of_tiles() -> None:
    given = choices({}, {"y": 5}, {"x": 2, "y": 1})
    assert tiles_of_pixels(WORKLOAD, given).tolist() == [4, 2, 15]
    # [y, x], index 1 of whole tiles, 0 of the last one.
    assert tiles_of_kinds(WORKLOAD, given).tolist() == [
        [[1, 1], [1, 1]],
        [[1, 1], [0, 0]],
        [[1, 2], [4, 8]],
    ]
    three = replace(WORKLOAD, data=(3, *WORKLOAD.data[1:]))
    assert tiles_of_kinds(three, given)[2].tolist() == [[3, 6], [12, 24]]
    # A tile has two steps of channels, each of two parts.
    assert products_of(WORKLOAD, given).tolist() == [16, 8, 60]
    assert products_of(three, choices({"part": 2, "ky": 1, "oc": 2})).tolist() == [3 * 4 * 2 * 3]
    assert products_of(WORKLOAD, choices({"oc": 1})).tolist() == [2 * 4 * 2]


def test_what_a_load_takes_besides_its_data() -> None:
    """From its start four cycles, the latency, and one to the next; beats are counted apart."""
    assert load_overhead(COST) == 16 + 4 + 1 - 1
    assert load_overhead(MachineCost(PYNQ, MemoryTiming(50, 4))) == 50 + 4 + 1 - 4


def test_stages_of_each_kind_of_tile() -> None:
    """[y, x], index 0 the last tile of 2 rows or columns, 1 the whole one of 3 rows, 4 columns."""
    image, resets, products, passes, residual, stores, fetch, queue = stages().durations[0].tolist()
    # Two LOADs, 22 cycles each; 3 or 4 rows and 3 or 5 columns are no padding, of 4 or 5 and 6, of
    # which an element takes two cycles and padding one: a narrow tile's rows are as long.
    assert image == [
        [44 + 2 * (9 + 24), 44 + 2 * (15 + 24)],
        [44 + 2 * (12 + 30), 44 + 2 * (20 + 30)],
    ]
    assert resets == [[4, 8], [6, 12]]
    assert products == [[4 * 18, 8 * 18], [6 * 18, 12 * 18]]
    assert passes == [[12, 24], [18, 36]]
    assert residual == [[0, 0], [0, 0]]
    # Of a narrower tile each row is a STORE: 8 cycles, and two for each element.
    assert stores == [[16 + 8, 8 + 16], [24 + 12, 8 + 24]]
    # Those, and three passes, two cycles each.
    assert fetch == [[10, 8], [12, 8]]
    assert queue == [[0, 0], [0, 0]]


def test_what_a_choice_takes_of_the_bus_and_of_compute() -> None:
    found = stages()
    # A LOAD of two blocks of nine taps, adjacent in DRAM.
    assert found.of_weights.tolist() == [18 * 32 + 22]
    assert found.weights.tolist() == [4 * 598]
    assert found.image.tolist() == [2 * (110 + 122 + 128 + 144)]
    # Two parts: their STOREs and passes; of each tile two first products and four products.
    assert found.others.tolist() == [2 * (10 + 8 + 12 + 8) + 4 * (2 * 2 + 4 * 2)]
    assert (found.product_fetch, found.first_fetch.tolist(), found.operands) == (2, [2], 0)
    # For each pixel: 4 products of 18 terms, and for 2 parts a reset and three passes.
    assert found.rates.tolist() == [80]
    # The first loads, but for two resets of the largest tile, and the last STORE.
    first = 110 + 598 + HANDOVER - 24 - 2 * 12
    assert found.rest.tolist() == [first + 30 * 80 + 24 + HANDOVER + 24]
    assert found.extra.tolist() == [0]
    assert TileCycles.of(WORKLOAD, choices(), COST, Prices(1.5)).extra.tolist() == [24]


def test_resets_are_none_where_first_products_overwrite() -> None:
    cost = MachineCost(PYNQ.replace(name="own", features=frozenset({Feature.OVERWRITE})))
    found = stages(cost=cost)
    assert not found.durations[0, 1].any()
    assert found.rates.tolist() == [78]
    assert found.first_fetch.tolist() == [2]
    # A single term is one product, which overwrites.
    single = replace(WORKLOAD, weight=(2, 4, 1, 1, 16, 16), padding=(0, 0, 0, 0))
    assert stages(single, cost, ic=1, ky=1).first_fetch.tolist() == [0]
    assert stages(single, cost, ic=2, ky=1).first_fetch.tolist() == [2]
    assert stages(single, ic=1, ky=1).first_fetch.tolist() == [2]


def test_without_padding_a_load_has_more_than_one_channel() -> None:
    """A whole row of the image: rows are adjacent, and so are whole images."""
    whole = replace(WORKLOAD, padding=(0, 0, 0, 0))
    # 3 rows and 4 columns of results, of 5 rows and 6 columns: one LOAD of all.
    image = stages(whole, x=4, y=3).durations[0, 0, 1, 1]
    assert image == 22 + 2 * (2 * 30)
    # Two rows of the result are four of the image, adjacent, of two channels apart from each other.
    tile = stages(whole, x=4, y=2).durations[0, 0]
    assert tile[1, 1] == 22 + 2 * (2 * 24)
    assert tile[0, 1] == 22 + 2 * (2 * 18)
    # Two columns are apart, too: a LOAD for each channel.
    assert stages(whole, x=2, y=2).durations[0, 0, 1, 1] == 2 * 22 + 2 * (2 * 16)


def test_edges_of_which_the_padding_is_known() -> None:
    """Three tiles: of those in the middle all may lie inside, of the last one row is padding."""
    tall = replace(WORKLOAD, data=(1, 4, 6, 4, 1, 16))
    found = stages(tall, y=2, x=4, ic=1).durations[0, 0, :, 1]
    # All columns: 4 of 6 lie inside.
    assert found.tolist() == [22 + 3 * 4 + 4 * 6, 22 + 4 * 4 + 4 * 6]
    one = stages(tall, y=6, x=4, ic=1).durations[0, 0, :, 1]
    # The only tile is the last one: of 8 rows 6.
    assert one[0] == 22 + 6 * 4 + 8 * 6
    # Tiles that lie in the padding alone have nothing to load but zeros.
    border = replace(WORKLOAD, data=(1, 4, 2, 4, 1, 16), padding=(1, 1, 4, 1))
    assert stages(border, y=2, x=4, ic=1).durations[0, 0, 0, 1] == 22 + 3 * 6


def test_operands_of_passes() -> None:
    passes = (
        AluPass(AluOp.ADD, "bias", OperandKind.CHANNEL),
        AluPass(AluOp.ADD, "other", OperandKind.ELEMENT),
        *CLIP,
    )
    one_port = MachineCost(PYNQ.replace(name="one", acc_read_ports=1))
    more = replace(WORKLOAD, passes=passes)
    for cost, issue in ((COST, 1), (one_port, 2)):
        found = stages(more, cost)
        # Of two blocks of channels, eight beats each.
        assert found.operands == 24 + 16
        # Two with tensors, three with immediates, and the load of an int8 for each, of two beats.
        size = 12
        assert found.durations[0, 3, 1, 1] == 2 * issue * size + 3 * size + 24 + 2 * size
        assert found.durations[0, 6, 1, 1] == 2 * (1 + 5)
        assert found.rest[0] - stages(cost=cost).rest[0] > 40


def test_pixels_whose_channels_lie_together() -> None:
    """Rows of a matrix: a STORE for each, whose columns are adjacent."""
    rows = RowsWorkload.of(6, 4, 2, (1, 16, 16), CLIP)
    found = stages(rows, y=1, x=4, ky=1).durations[0]
    # Four and two rows of two blocks, in one LOAD.
    assert found[0, 0].tolist() == [22 + 2 * 4, 22 + 2 * 8]
    assert found[5, 0].tolist() == [2 * (8 + 2), 4 * (8 + 2)]
    assert found[6, 0].tolist() == [2 * (2 + 3), 2 * (4 + 3)]


def test_stores_that_the_queue_does_not_take() -> None:
    """A STORE for each of 40 rows: of 400 cycles, 80 until the queue, of 32, has the last one."""
    assert PYNQ.instruction_queue == 32
    rows = RowsWorkload.of(40, 4, 2, (1, 16, 16), CLIP)
    found = stages(rows, y=1, x=40, ky=1).durations[0]
    assert (found[5, 0, 1], found[7, 0, 1]) == (40 * (8 + 2), 8 * (8 + 2))
    assert stages(rows, y=1, x=32, ky=1).durations[0, 7, 0].tolist() == [0, 0]
    assert stages(rows, y=1, x=33, ky=1).durations[0, 7, 0, 1] == 10


def test_a_begin_waits_for_micro_ops() -> None:
    found = stages()
    begin, stays = found.begin(np.array([0, 0, 0]), np.array([1, 3, 500]))
    # Of 1 x 3 x 4 x 2 x 3 x 3, all but the two longest: 18 micro-ops, behind two buffers of
    # instructions.
    assert begin.tolist() == [256 + 24 + 18, 256 + 24 + 54, 256 + 24 + 9000]
    assert stays.tolist() == [True, True, False]
    assert PYNQ.depth(MemoryId.UOP) == 8192
    exact = replace(WORKLOAD, weight=(2, 4, 1, 1, 16, 16), padding=(0,) * 4)
    tiles = stages(exact, ky=1, ic=2, part=2, y=4, x=4)
    assert tiles.begin(np.array([0]), np.array([2048]))[1].tolist() == [True]
    assert tiles.begin(np.array([0]), np.array([2049]))[1].tolist() == [False]


def test_bounds_are_below_estimates_and_above_their_parts() -> None:
    given = choices(
        {}, {"weight_slots": ALL, "y": 1}, {"order": "pixels", "oc": 1}, {"x": 1, "y": 1}
    )
    tiles = TileCycles.of(WORKLOAD, given, COST)
    cycles = PipelinedCycles.of(tiles, np.arange(4), given)
    found = estimate(WORKLOAD, given, COST)
    assert (tiles.least() <= cycles.least()).all()
    assert (cycles.least() <= found).all()
    assert (tiles.least() >= tiles.weights + tiles.image + tiles.others).all()
    # All products of a layer.
    assert (found > 2 * 30 * 4 * 9).all()
    assert found.argmax() == 3
    # Two slots of weights by four products of a tile, times two of sums: 8 kernels of 18.
    assert cycles.begin[0] == 256 + 24 + 8 * 18
    # Weights are loaded for each of four tiles, the image once.
    assert cycles.loading[0] == 4 * 2392 + 1008 + 124
    assert cycles.loading[1] == tiles.weights[1] + tiles.image[1] + tiles.others[1]


def test_estimates_above_a_limit_are_infinite() -> None:
    given = choices({"x": 1, "y": 1}, {}, {"x": 1})
    tiles = TileCycles.of(WORKLOAD, given, COST, Prices(0.5))
    cycles = PipelinedCycles.of(tiles, np.arange(3), given)
    rows = np.arange(3)
    plain = [float(cycles.simulated(rows[at : at + 1], inf).item()) for at in rows]
    assert cycles.simulated(rows, inf).tolist() == plain
    # Cycles have a price for each product.
    assert plain[0] == pytest.approx(estimate(WORKLOAD, given, COST)[0] + 0.5 * 120)
    assert plain[1] < plain[2] < plain[0]
    assert cycles.simulated(rows, 1.0).tolist() == [inf] * 3
    # Those above an earlier one are infinite as well.
    assert cycles.simulated(rows, 1e9).tolist() == [plain[0], plain[1], inf]
    assert cycles.simulated(np.array([2, 1]), plain[1]).tolist() == [inf, plain[1]]


def test_cycles_of_the_bus_have_a_price() -> None:
    given = choices({"x": 1, "y": 1}, {}, {"x": 1})
    rows = np.arange(3)
    free = PipelinedCycles.of(TileCycles.of(WORKLOAD, given, COST), rows, given)
    priced = TileCycles.of(WORKLOAD, given, COST, Prices(0.5, 0.25))
    cycles = PipelinedCycles.of(priced, rows, given)
    extra = 0.5 * products_of(WORKLOAD, given) + 0.25 * cycles.loading
    assert cycles.extra.tolist() == extra.tolist()
    assert cycles.least().tolist() == (free.least() + extra).tolist()
    # A choice that loads more may be worse now: alone, as those above an earlier one are infinite.
    for row in rows:
        (found,) = cycles.simulated(rows[row : row + 1], inf)
        assert found == free.simulated(rows[row : row + 1], inf)[0] + extra[row]


def test_micro_ops_that_do_not_stay_on_chip_are_not_modelled() -> None:
    small = MachineCost(PYNQ.replace(name="few", log_uop_buffer=8))
    given = choices({}, {"ic": 1, "part": 2, "sum_slots": 1, "ky": 1, "x": 6, "y": 5})
    found = estimate(WORKLOAD, given, small)
    assert PYNQ.replace(name="few", log_uop_buffer=8).depth(MemoryId.UOP) == 64
    assert found[0] == inf
    assert found[1] < inf
    tiles = TileCycles.of(WORKLOAD, given, small)
    assert PipelinedCycles.of(tiles, np.arange(2), given).least()[0] == inf
    assert tiles.least()[1] < inf
