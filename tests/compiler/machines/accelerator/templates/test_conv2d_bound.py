"""The least that the stages of tiles take, by hand; and bounds beside cycles of programs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.machines.accelerator.templates import conv2d_bound
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.conv2d_bound import least_cycles
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.epilogue import AluPass, OperandKind
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost, MemoryTiming
from tandem.compiler.machines.accelerator.templates.parameter_passes import RequantisePass
from tandem.compiler.machines.accelerator.templates.tile_stages import StageCosts, TileCosts
from tandem.compiler.plan.space import Choices
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import MemoryModel
from tandem.hw.operations import AluOp
from tandem.sim.cycle.engine import CycleEngine
from tandem.sim.engine import Launch
from tandem.sim.memory import place_program
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.random_choices import drawn

BIAS = AluPass(AluOp.ADD, "bias", OperandKind.CHANNEL)
SHIFT = AluPass(AluOp.SHR, "shift")
SCALED = (AluPass(AluOp.MUL, "scale"), AluPass(AluOp.ADD, "more", OperandKind.CHANNEL))
SKIP = AluPass(AluOp.ADD, "skip", OperandKind.ELEMENT, INT8, SCALED)
LAYER = Conv2dWorkload(
    (2, 3, 7, 8, 1, 4), (4, 3, 3, 2, 4, 4), (2, 1), (0, 0, 0, 0), (1, 1), 1, (BIAS, SHIFT)
)
"""4 blocks of 3 rows and 7 columns, of sums over 3 blocks and 6 taps."""
ONE = replace(LAYER, weight=(4, 3, 1, 1, 4, 4))
TINY, EXTENDED = load_config("tiny"), load_config("pynq-x")
"""Both with a bus of 8 bytes, and pipelines of 8 stages."""
TIMING = MemoryTiming(20, 3)
ALONE = 20 + 4 + 1 - 3
"""Cycles of a LOAD beside its data."""
FIRST = 20 + 4 + 3 + 5
"""Of an instruction of two beats: latency, transfer, second beat; its check, and its start."""


def choices(*rows: dict[str, Any]) -> Choices:
    whole: dict[str, Any] = {
        "threads": 1,
        "order": "outputs",
        "along": "oc",
        "ic": 1,
        "oc": 1,
        "y": 1,
        "x": 1,
    }
    return Choices.of([{**whole, **row} for row in rows])


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> list[tuple[StageCosts, TileCosts]]:
    """What is handed to the simulation, which finds 100 cycles for each choice."""
    handed: list[tuple[StageCosts, TileCosts]] = []

    def simulated(of: Any, rows: Choices, cost: Any, stages: StageCosts, tiles: TileCosts) -> Any:
        handed.append((stages, tiles))
        return np.full(len(rows), 100.0)

    monkeypatch.setattr(conv2d_bound, "simulated", simulated)
    return handed


Tables = list[tuple[StageCosts, TileCosts]]


def of_tiles(tables: Tables, of: Conv2dWorkload, rows: Choices, config: Any = TINY) -> TileCosts:
    least_cycles(of, rows, MachineCost(config, TIMING))
    return tables[-1][1]


# Stages ---------------------------------------------------------------------------------------


def test_stages_of_every_tile(tables: Tables) -> None:
    least_cycles(LAYER, choices({}), MachineCost(TINY, TIMING))
    ((stages, _),) = tables
    assert stages._replace(longest=0) == StageCosts(
        load=ALONE,
        store=0,
        behind_products=8,
        behind_results=8 + 1 + 4,
        acknowledged=20 + 1 - 3,
        last=8,
        fine=1,
        longest=0,
    )
    assert stages.longest > 2**60


def test_the_end_is_five_cycles_later(tables: Tables) -> None:
    """Where a kernel does not fit the 64 micro-ops of tiny there are several instructions."""
    rows = choices(
        *({"oc": 64}, {"oc": 65}),
        *({"oc": 4, "y": 5, "x": 5, "ic": 4}, {"oc": 5, "y": 5, "x": 5, "ic": 5}),
    )
    found = least_cycles(LAYER, rows, MachineCost(TINY, TIMING))
    # Kernels of 6 taps and 1; of 4 x 4 and 6 taps, which are 96, and of 5 x 5 and 6.
    assert found.tolist() == [105, 0, 0, 0]
    found = least_cycles(ONE, rows, MachineCost(TINY, TIMING))
    assert found.tolist() == [105, 0, 105, 105]


def test_when_units_begin(tables: Tables) -> None:
    """Operands of four blocks are 64 bytes, a micro-op is one beat; of parameters, 512 bytes."""
    assert [each.tolist() for each in of_tiles(tables, LAYER, choices({})).begin] == [
        [FIRST + (ALONE + 8 * 3) + (ALONE + 3)],
        [FIRST],
    ]
    # Operands that some choice loads with each tile: of one block at least, in two beats.
    some = choices({"resident": 0}, {"resident": 1})
    assert [each.tolist() for each in of_tiles(tables, LAYER, some).begin] == [
        [FIRST + (ALONE + 2 * 3) + (ALONE + 3)] * 2,
        [FIRST] * 2,
    ]
    for resident, parameters in ((True, ALONE + 64 * 3), (False, 0)):
        early = replace(LAYER, passes=(RequantisePass(resident=resident),))
        begin = of_tiles(tables, early, choices({}), EXTENDED).begin
        assert [each.tolist() for each in begin] == [[FIRST + ALONE + 3], [FIRST + parameters]]
    # Whole instructions in a beat; elements, one in a cycle, that take longer than their bytes.
    wide = TINY.replace(bus_bits=128)
    least_cycles(
        replace(LAYER, weight=(9, 3, 3, 2, 4, 4)), choices({}), MachineCost(wide, MemoryTiming(20))
    )
    first = 20 + 4 + 5
    assert tables[-1][1].begin[0].tolist() == [first + (24 + 1 - 1 + 9) + (24 + 1)]


def sizes(oc: tuple[int, int], y: tuple[int, int], x: tuple[int, int]) -> Any:
    """Accumulators of tiles: of the rest along an axis, and of a whole tile."""
    return np.einsum("i,j,k->ijk", oc, y, x)


def test_passes_of_tiles(tables: Tables) -> None:
    rows = choices({"oc": 3, "y": 2, "x": 4})
    size = sizes((1, 3), (1, 2), (3, 4))
    found = of_tiles(tables, LAYER, rows)
    assert (found.passes == 2 * size).all()
    assert (np.asarray(found.before) == 0).all()
    assert (np.asarray(found.after) == 0).all()
    # Bytes of accumulators that are loaded: 4 each, 8 in three cycles.
    skips = replace(LAYER, passes=(BIAS, SKIP, SHIFT, BIAS))
    found = of_tiles(tables, skips, rows)
    assert (found.before == ALONE + -(-size * 4 // 8) * 3 + 2 * size).all()
    assert (found.passes == 4 * size).all()


@pytest.mark.parametrize("residual", [None, "skip"])
def test_passes_behind_results(tables: Tables, residual: str | None) -> None:
    early = replace(LAYER, passes=(RequantisePass(residual),))
    found = of_tiles(tables, early, choices({"oc": 3, "y": 2, "x": 4}), EXTENDED)
    size = sizes((1, 3), (1, 2), (3, 4))
    assert (found.after == size * (residual is not None)).all()
    assert (np.asarray(found.passes) == 0).all()
    assert np.asarray(found.operands).max() == 0


# LOADs and instructions -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("padding", "y", "x", "separate"),
    [
        # 7 rows of 8: whole blocks, whole rows, parts of all rows, parts of some.
        ((0, 0, 0, 0), 3, 7, 0),
        ((0, 0, 0, 0), 1, 7, 0),
        ((0, 0, 0, 0), 3, 3, 0),
        ((0, 0, 0, 0), 1, 3, 1),
        # Zeros beside all rows, or some; beside all rows and above them.
        ((0, 1, 0, 0), 3, 8, 0),
        ((0, 0, 0, 1), 1, 8, 1),
        ((0, 1, 0, 0), 2, 7, 0),
        ((2, 1, 0, 0), 4, 8, 1),
        ((0, 0, 2, 1), 4, 8, 1),
        ((2, 0, 0, 0), 4, 7, 0),
        ((0, 1, 0, 0), 1, 8, 1),
    ],
)
def test_blocks_that_are_loaded_one_by_one(
    tables: Tables, padding: tuple[int, ...], y: int, x: int, separate: int
) -> None:
    of = replace(LAYER, padding=padding)
    assert np.asarray(of_tiles(tables, of, choices({"y": y, "x": x})).image_loads).tolist() == [
        separate
    ]


def test_rows_by_themselves_are_loaded_at_once(tables: Tables) -> None:
    rows = choices({"x": 3}, {"y": 2, "x": 3}, {"x": 8}, {"y": 4, "x": 1})
    assert np.asarray(of_tiles(tables, ONE, rows).image_loads).tolist() == [0, 1, 0, 0]


PYNQ = load_config("pynq")
"""Fields for 16,383 iterations; for steps of 1,023 weights, 2,047 pixels, 2,047 sums."""


def test_loops_that_fit(tables: Tables) -> None:
    for rows, of in (
        (({"oc": 16383}, {"oc": 16384}), ONE),
        (({"ic": 1023}, {"ic": 1024}), ONE),
        (({"ic": 170}, {"ic": 171}), LAYER),
        (({"y": 2047}, {"y": 2048}), ONE),
        (({"x": 2047}, {"x": 2048}), ONE),
        (({"y": 23, "x": 89}, {"y": 32, "x": 64}), ONE),
    ):
        assert np.asarray(of_tiles(tables, of, choices(*rows), PYNQ).fits).tolist() == [1, 0]
    # Steps from row to row: twice the columns, with their padding.
    for columns, right, fits in ((1023, 0, 1), (1024, 0, 0), (1020, 3, 1), (1020, 4, 0)):
        wide = replace(ONE, data=(1, 3, 7, columns, 1, 4), padding=(0, 0, 0, right))
        assert np.asarray(of_tiles(tables, wide, choices({}), PYNQ).fits).tolist() == [fits]


@pytest.mark.parametrize(
    ("oc", "y", "x", "ic", "one"),
    [
        # Kernels of 3 x 2: no loop is longer than that of channels, or one, pixels or terms.
        (18, 1, 1, 3, 1),
        (17, 1, 1, 3, 1),
        (18, 3, 7, 3, 1),
        (20, 3, 7, 3, 1),
        (17, 3, 7, 3, 0),
        (21, 3, 7, 3, 1),
        (2, 1, 1, 1, 1),
        (2, 1, 2, 1, 1),
        (2, 2, 1, 1, 1),
        (2, 1, 1, 2, 1),
        (2, 1, 3, 1, 0),
        (2, 1, 1, 3, 0),
        (3, 1, 1, 3, 1),
        (3, 1, 1, 4, 1),
        (1, 1, 1, 1, 0),
        (6, 7, 7, 1, 0),
        (6, 7, 6, 1, 1),
        (6, 6, 7, 1, 1),
    ],
)
def test_products_of_a_tile_that_are_one_instruction(
    tables: Tables, oc: int, y: int, x: int, ic: int, one: int
) -> None:
    rows = choices({"oc": oc, "y": y, "x": x, "ic": ic})
    assert np.asarray(of_tiles(tables, LAYER, rows, PYNQ).whole_tile).tolist() == [one]


def test_loops_that_do_not_fit_are_not_one(tables: Tables) -> None:
    rows = choices({"oc": 16383}, {"oc": 16384})
    assert np.asarray(of_tiles(tables, LAYER, rows, PYNQ).whole_tile).tolist() == [1, 0]


# Programs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "seed"), [("extended", 5), ("small8", 8)])
def test_no_program_is_faster(name: str, seed: int) -> None:
    found = drawn(Conv2dOnArray(), seed, machine(name), 2)
    memory = MemoryModel(20, 3, 16)
    cost = MachineCost(found.machine.config, MemoryTiming(20, 3))
    for row, bound in enumerate(least_cycles(found.workload, found.choices, cost)):
        stream = found.stream(found.choices.choice(row))
        image, address = place_program(stream.image({}), stream.program)
        engine = CycleEngine(found.machine.config, memory)
        exact = engine.launch(stream.program, image, Launch(address=address, data=False)).cycles
        assert exact is not None
        assert 0.4 * exact < bound <= exact
