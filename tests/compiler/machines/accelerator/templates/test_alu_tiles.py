"""Operators that the ALU computes tile by tile: what choices take and move, by walks over tiles,
and how they are ranked."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import ScheduleError
from tandem.compiler.graph.operators.reductions import MaxPool
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.lower.lowering import lower
from tandem.compiler.machines.accelerator.lower.programs import accelerator_passes
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates.alu_tiles import ImageWorkload, TiledOnAlu
from tandem.compiler.machines.accelerator.templates.elementwise import (
    ElementwiseOnAlu,
    ElementwiseWorkload,
)
from tandem.compiler.machines.accelerator.templates.epilogue import AluPass, OperandKind
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.max_pool import MaxPoolOnAlu, MaxPoolWorkload
from tandem.compiler.machines.accelerator.templates.parameter_passes import RequantisePass
from tandem.compiler.machines.accelerator.templates.work_counts import loads_of_box
from tandem.compiler.plan.space import Choices
from tandem.compiler.te.knobs import knob
from tandem.compiler.te.schedule import Sketch
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId
from tests.compiler.machines.accelerator.templates.live_elements import live_elements
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine

POOL = MaxPoolWorkload((2, 3, 9, 8, 1, 4), MaxPool((3, 2), (2, 1)))
"""Three blocks of 4 rows and 7 columns, of windows of 3 x 2."""
BIAS = AluPass(AluOp.ADD, "bias", OperandKind.CHANNEL)
SKIP = AluPass(AluOp.ADD, "skip", OperandKind.ELEMENT)
IMAGE = ElementwiseWorkload((2, 3, 4, 7, 1, 4), (BIAS, SKIP))
MAXIMA, ELEMENTS = MaxPoolOnAlu(), ElementwiseOnAlu()
TINY = AcceleratorTarget.of(machine("tiny"))
EXTENDED = AcceleratorTarget.of(machine("extended"))


def choice(**settings: Any) -> dict[str, Any]:
    return {"threads": 1, "along": "oc", "oc": 1, "y": 1, "x": 1, **settings}


def every(**more: tuple[int, ...]) -> list[dict[str, Any]]:
    """All tiles of three blocks, 4 rows and 7 columns, that up to three threads share."""
    knobs = {"threads": (1, 2, 3), "along": ("oc", "y", "x"), "oc": (1, 2, 3)}
    sizes = {"y": (1, 2, 3, 4), "x": (1, 3, 4, 7), **more}
    names = [*knobs, *sizes]
    return [dict(zip(names, row, strict=True)) for row in product(*knobs.values(), *sizes.values())]


# Workloads and knobs --------------------------------------------------------------------------


def test_images() -> None:
    found = ImageWorkload((2, 3, 4, 7, 1, 8), (BIAS,))
    assert found.extents == {"oc": 3, "y": 4, "x": 7}
    assert found.epilogue.passes == (BIAS,)


def test_knobs() -> None:
    assert dict(MAXIMA.space(POOL, TINY).knobs) == {
        "threads": (2, 1),
        "along": ("oc", "y", "x"),
        "oc": (1, 2, 3),
        "y": (1, 2, 4),
        "x": (1, 2, 3, 4, 7),
    }
    assert dict(ELEMENTS.space(IMAGE, TINY).knobs)["resident"] == (1, 0)


def test_steps_of_a_tiled_output() -> None:
    axes, steps = ("oc", "y", "x"), Sketch()
    for axis in axes:
        steps = steps.split("out", axis, knob(axis), (f"{axis}_o", f"{axis}_i"))
    steps = steps.split(
        "out",
        knob("along", {axis: f"{axis}_o" for axis in axes}),
        knob("threads"),
        knob("along", {axis: (f"{axis}_o", "thread") for axis in axes}),
    )
    order = "n oc_o y_o x_o thread oc_i y_i x_i b bo".split()
    wanted = steps.reorder("out", *order).virtual_thread("out", "thread")
    assert MAXIMA.tile_output() == wanted


def test_refuses_settings_that_no_primitive_takes() -> None:
    with pytest.raises(ScheduleError, match=r"split.*factor"):
        MAXIMA.schedule(POOL, choice(oc=0), TINY)


# On chip --------------------------------------------------------------------------------------

REQUANTISED = replace(IMAGE, from_inp=True, passes=(RequantisePass("skip"),))


@pytest.mark.parametrize(
    ("template", "workload", "target", "row"),
    [
        (MAXIMA, POOL, TINY, choice(threads=2, oc=2, y=2, x=3)),
        (MAXIMA, replace(POOL, from_inp=True), EXTENDED, choice(oc=3, y=2, x=9)),
        (ELEMENTS, IMAGE, TINY, choice(threads=2, along="y", y=2, x=3, resident=0)),
        (ELEMENTS, IMAGE, TINY, choice(oc=2, y=2, x=3, resident=1)),
        (ELEMENTS, replace(IMAGE, passes=(), from_inp=True), EXTENDED, choice(y=9, x=3)),
        (ELEMENTS, REQUANTISED, EXTENDED, choice(threads=2, oc=1, y=3, x=2)),
    ],
)
def test_usage_is_what_programs_allocate(
    template: TiledOnAlu[Any], workload: Any, target: AcceleratorTarget, row: dict[str, Any]
) -> None:
    program = template.schedule(workload, row, target).program
    lowered = lower(program, accelerator_passes(target))
    found = template.usage(workload, Choices.of([row]))
    wanted = live_elements(lowered.body, target)
    assert {memory: int(each.item()) for memory, each in found.items()} == wanted


# Work -----------------------------------------------------------------------------------------


@cache
def load_count(*box_and_whole: int) -> float:
    return float(loads_of_box(box_and_whole[:4], box_and_whole[4:]))


def rows_of(tile: range, size: int, stride: int, kernel: int, extent: int) -> tuple[int, int]:
    """Rows that a tile of windows loads, as if it were whole; and those that its own windows span.

    Tiles that may span all rows load all of them.
    """
    reach = (size - 1) * stride + kernel
    loaded = range(tile[0] * stride, min(tile[0] * stride + reach, extent))
    spanned = min((len(tile) - 1) * stride + kernel, extent)
    return (extent if reach >= extent else len(loaded)), spanned


def spans(extent: int, size: int) -> list[range]:
    return [range(at, min(at + size, extent)) for at in range(0, extent, size)]


def tiles(row: dict[str, Any]) -> list[tuple[range, range, range]]:
    return [*product(spans(3, row["oc"]), spans(4, row["y"]), spans(7, row["x"]))]


def repeats(row: dict[str, Any]) -> float:
    """Threads that compute one tile, where there are fewer than threads."""
    extent = {"oc": 3, "y": 4, "x": 7}[row["along"]]
    return max(1.0, row["threads"] / len(spans(extent, row[row["along"]])))


def test_loads_of_windows() -> None:
    rows = every()
    found = MAXIMA.work_counts(POOL, Choices.of(rows))
    image, stored = found.copies
    assert (image.memory, stored.memory) == (MemoryId.ACC_8BIT, MemoryId.OUT)
    for number, row in enumerate(rows):
        elements = loads = 0.0
        for oc, y, x in tiles(row):
            height, width = rows_of(y, row["y"], 2, 3, 9), rows_of(x, row["x"], 1, 2, 8)
            elements += len(oc) * height[0] * width[0]
            loads += load_count(1, len(oc), height[1], width[1], 2, 3, 9, 8)
        times = 2 * repeats(row)
        wanted = elements * times, loads * times
        assert (image.elements[number], image.instructions[number]) == pytest.approx(wanted)
    assert (np.broadcast_to(stored.elements, len(rows)) == 2 * 3 * 4 * 7).all()


def test_work_of_windows() -> None:
    """Each output of each tap, and where there are fewer tiles than threads several times."""
    rows = every()
    found = MAXIMA.work_counts(POOL, Choices.of(rows))
    counts = np.array([len(tiles(row)) * 2 for row in rows])
    times = np.array([repeats(row) for row in rows])
    assert (found.tiles == counts).all()
    assert found.tensor == pytest.approx(2 * 3 * (4 * 3) * (7 * 2) * times)
    assert found.immediate == pytest.approx(2 * 3 * 4 * 7 * times)
    # The maxima, and filling.
    assert found.alus == pytest.approx(counts * times * 2)
    loops = [sorted([row["oc"], row["y"], row["x"], 3, 2]) for row in rows]
    assert found.kernel.tolist() == [prod(each[:-2]) for each in loops]


def test_work_of_elements() -> None:
    """Nothing is computed twice: no step is shared; tiles lie on chip as they are stored."""
    rows = [{**row, "resident": number % 2} for number, row in enumerate(every())]
    found = ELEMENTS.work_counts(IMAGE, Choices.of(rows))
    image, _, skip, bias = found.copies
    assert [each.memory for each in found.copies] == [
        *(MemoryId.ACC_8BIT, MemoryId.OUT, MemoryId.ACC, MemoryId.ACC)
    ]
    size = 2 * 3 * 4 * 7
    for data in (image, skip):
        assert (np.broadcast_to(data.elements, len(rows)) == size).all()
    assert (found.tensor == 2 * size).all()
    assert (found.alus == found.tiles * 2).all()
    # Operands once, or with each tile; stored in rows of whole tiles.
    again = [sum(len(oc) for oc, *_ in tiles(row)) * 2 for row in rows]
    wanted = [3 if row["resident"] else count for row, count in zip(rows, again, strict=True)]
    assert bias.elements.tolist() == wanted
    assert (image.instructions == skip.instructions).all()


@pytest.mark.parametrize(
    ("workload", "memory"),
    [
        (IMAGE, MemoryId.ACC_8BIT),
        (replace(IMAGE, dtype=INT32), MemoryId.ACC),
        (replace(IMAGE, dtype=INT8, from_inp=True), MemoryId.INP),
    ],
)
def test_where_data_is_loaded(workload: ElementwiseWorkload, memory: MemoryId) -> None:
    found = ELEMENTS.work_counts(workload, Choices.of([choice(resident=1)]))
    assert found.copies[0].memory is memory


# Ranks ----------------------------------------------------------------------------------------


def rank(row: dict[str, Any], windows: bool, usual: int) -> tuple[Any, ...]:
    """Threads that have work, many of them, along the first axis; as usual on chip; few pixels that
    are loaded, few tiles, long rows."""
    extents = {"oc": 3, "y": 4, "x": 7}
    own = len(spans(extents[row["along"]], row[row["along"]]))
    pixels = 0
    for y, x in product(spans(4, row["y"]), spans(7, row["x"])):
        if windows:
            pixels += min(2 * len(y) + 1, 9) * min(len(x) + 1, 8)
        else:
            pixels += len(y) * len(x)
    return (
        own < row["threads"],
        -row["threads"],
        [*extents].index(row["along"]),
        row.get("resident", usual) != usual,
        pixels,
        len(tiles(row)),
        -row["x"],
    )


@pytest.mark.parametrize("config", ["tiny", "small8"])
def test_which_choices_are_better(config: str) -> None:
    """Of one operand of three blocks little of ACC is filled, and much of that of 8 elements."""
    cost = MachineCost(machine(config))
    rows = every()
    found = MAXIMA.estimate(POOL, Choices.of(rows), cost)
    keys = [rank(row, windows=True, usual=1) for row in rows]
    order = {key: number for number, key in enumerate(sorted(set(keys)))}
    assert found.tolist() == [order[key] for key in keys]


@pytest.mark.parametrize(("log", "usual"), [(9, 1), (7, 0)])
def test_operands_that_stay_are_better_where_they_are_few(log: int, usual: int) -> None:
    cost = MachineCost(machine("tiny").replace(log_acc_buffer=log))
    rows = every(resident=(0, 1))
    found = ELEMENTS.estimate(IMAGE, Choices.of(rows), cost)
    keys = [rank(row, windows=False, usual=usual) for row in rows]
    order = {key: number for number, key in enumerate(sorted(set(keys)))}
    assert found.tolist() == [order[key] for key in keys]
