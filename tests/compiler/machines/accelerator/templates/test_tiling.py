"""Steps and counts that templates share: the text of schedules, and numbers by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.compiler.machines.accelerator.templates.epilogue import AluPass, Epilogue, OperandKind
from tandem.compiler.machines.accelerator.templates.parameter_passes import RequantisePass
from tandem.compiler.machines.accelerator.templates.tiling import (
    operand_accumulators,
    parameter_usage,
    resident_operands,
    sharing_rank,
    tile_output,
    tile_space,
    unusual_residency,
)
from tandem.compiler.plan.space import Choices, rank_by
from tandem.compiler.te.knobs import knob
from tandem.compiler.te.schedule import Sketch
from tandem.hw.config_files import load_config
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId

TINY = load_config("tiny")
"""32 accumulators."""
BIAS = AluPass(AluOp.ADD, "bias", OperandKind.CHANNEL)
SCALE = AluPass(AluOp.MUL, "scale", OperandKind.CHANNEL)
NONE, ONE, TWO = Epilogue(), Epilogue((BIAS,)), Epilogue((BIAS, SCALE))


def choices(*rows: dict[str, Any]) -> Choices:
    return Choices.of(rows)


def test_steps_of_a_tiled_output() -> None:
    """Tiles along each axis, those of one of them shared by threads, which the schedule says in
    primitives of any template."""
    order = ("y_o", "x_o", "thread", "y_i", "x_i")
    assert tile_output(("y", "x"), ("x", "y"), order).trace == (
        Sketch()
        .split("out", "y", knob("y"), ("y_o", "y_i"))
        .split("out", "x", knob("x"), ("x_o", "x_i"))
        .split(
            "out",
            knob("along", {"x": "x_o", "y": "y_o"}),
            knob("threads"),
            knob("along", {"x": ("x_o", "thread"), "y": ("y_o", "thread")}),
        )
        .reorder("out", *order)
        .virtual_thread("out", "thread")
        .trace
    )


def test_the_knobs_of_tiles() -> None:
    space = tile_space(("y", "oc"), {"oc": 2, "y": 5}, NONE)
    assert dict(space.knobs) == {
        "threads": (2, 1),
        "along": ("y", "oc"),
        "oc": (1, 2),
        "y": (1, 2, 3, 5),
    }
    assert dict(tile_space(("y",), {"y": 1}, ONE).knobs)["resident"] == (1, 0)


def test_choices_without_idle_threads_come_first() -> None:
    rows = [
        {"threads": 2, "along": "x", "y": 4, "x": 3},
        {"threads": 2, "along": "y", "y": 4, "x": 4},
        {"threads": 1, "along": "y", "y": 8, "x": 4},
        {"threads": 2, "along": "y", "y": 8, "x": 4},
        {"threads": 2, "along": "x", "y": 8, "x": 8},
        {"threads": 1, "along": "x", "y": 8, "x": 8},
    ]
    idle, threads, preference = sharing_rank(choices(*rows), {"y": 8, "x": 4})
    # Eight rows are one tile of 8, four columns one of 8, two of 3.
    assert idle.tolist() == [False, False, False, True, True, False]
    assert threads.tolist() == [-2, -2, -1, -2, -2, -1]
    assert preference.tolist() == [1, 0, 0, 0, 1, 1]
    assert rank_by(idle, threads, preference).tolist() == [1, 0, 2, 4, 5, 3]


@pytest.mark.parametrize(("epilogue", "channels"), [(ONE, 8), (TWO, 4)])
def test_operands_that_take_more_than_a_quarter_of_acc_stay_off(
    epilogue: Epilogue, channels: int
) -> None:
    assert TINY.depth(MemoryId.ACC) == 32
    both = choices({"resident": 1}, {"resident": 0})
    assert unusual_residency(both, epilogue, channels, TINY).tolist() == [False, True]
    assert unusual_residency(both, epilogue, channels + 1, TINY).tolist() == [True, False]
    assert unusual_residency(both, NONE, 100, TINY).tolist() == [False, False]


def test_accumulators_of_operands() -> None:
    rows = choices({"threads": 2, "oc": 3, "resident": 1}, {"threads": 2, "oc": 3, "resident": 0})
    assert resident_operands(rows).tolist() == [True, False]
    assert operand_accumulators(rows, TWO, 10).tolist() == [20, 12]
    assert operand_accumulators(rows, NONE, 10).tolist() == [0, 0]
    without = choices({"threads": 2, "oc": 3})
    assert resident_operands(without).tolist() == [True]
    assert operand_accumulators(without, ONE, 10).tolist() == [10]


def test_parameters_take_par() -> None:
    tiles = np.array([2, 3])
    assert parameter_usage(ONE, 10, tiles) == {}
    for resident, elements in ((True, [10, 10]), (False, [2, 3])):
        epilogue = Epilogue((RequantisePass(resident=resident),))
        ((memory, found),) = parameter_usage(epilogue, 10, tiles).items()
        assert memory is MemoryId.PAR
        assert np.broadcast_to(found, 2).tolist() == elements
