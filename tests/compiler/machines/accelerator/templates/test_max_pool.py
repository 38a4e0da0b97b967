"""Max pooling is exact, and never loads padding, for random windows, tiles and machines."""

from __future__ import annotations

import pytest

from tandem.compiler.errors import Refusal, TensorError
from tandem.compiler.graph.operators.reductions import MaxPool
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.max_pool import MaxPoolOnAlu, MaxPoolWorkload
from tandem.compiler.plan.planner import best_choice
from tandem.compiler.te.knobs import Choice
from tandem.hw.isa import Alu, Load
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.random_operators import random_tests
from tests.support.compiler.machines.accelerator.templates.random_workloads import (
    check_of,
    draw_max_pool,
)
from tests.support.compiler.machines.accelerator.templates.streams import stream_of

TEMPLATE = MaxPoolOnAlu()

test_few, test_many, test_few_on_rtl, test_many_on_rtl = random_tests(
    check_of(draw_max_pool), few=16
)


def test_padding_is_neither_loaded_nor_looked_at() -> None:
    """3x3 windows around each of 4x4 pixels: the corner taps have 3x3 outputs, the centre all."""
    config = machine("small8")
    workload = MaxPoolWorkload((1, 1, 4, 4, 1, 8), MaxPool((3, 3), padding=(1, 1, 1, 1)))
    choice: Choice = {"threads": 1, "along": "oc", "oc": 1, "y": 4, "x": 4}
    schedule = TEMPLATE.schedule(workload, choice, accelerator(config).machine)
    program = stream_of(schedule, config).program
    loads = [
        load for load in program if isinstance(load, Load) and load.memory is MemoryId.ACC_8BIT
    ]
    assert [each.y_size * each.x_size for each in loads] == [16]
    maxima = [
        alu.iter_out * alu.iter_in * (alu.uop_end - alu.uop_bgn)
        for alu in program
        if isinstance(alu, Alu) and alu.op is AluOp.MAX and not alu.use_imm
    ]
    assert maxima == [9, 12, 9, 12, 16, 12, 9, 12, 9]


def test_the_choice_loads_least() -> None:
    """Of ResNet's pooling on `pynq`, two threads: halves of ACC hold 10 by 19 outputs."""
    pool = MaxPool((3, 3), (2, 2), (1, 1, 1, 1))
    workload = MaxPoolWorkload((1, 4, 112, 112, 1, 16), pool)
    choice = best_choice(accelerator(machine("pynq")), TEMPLATE, workload)
    assert choice == {"threads": 2, "along": "oc", "oc": 1, "y": 10, "x": 19}
    assert (2 * 10 + 1) * (2 * 19 + 1) + 10 * 19 <= 1024


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        (MaxPool((5, 5)), "axis 2 of data .* has 4 elements, and the window needs 5"),
        (
            MaxPool((2, 2), padding=(0, 2, 0, 0)),
            "window 0 on axis 3 of data .* holds only padding",
        ),
    ],
)
def test_refuses_windows_without_data(pool: MaxPool, message: str) -> None:
    workload = MaxPoolWorkload((1, 1, 4, 5, 1, 4), pool)
    with pytest.raises(TensorError, match=message):
        TEMPLATE.space(workload, accelerator(machine("tiny")).machine)


def test_refuses_what_never_fits() -> None:
    """A window of 25 pixels and its maximum: one thread fits in 32 accumulators, two not."""
    workload, target = (
        MaxPoolWorkload((1, 2, 9, 9, 1, 4), MaxPool((5, 5))),
        accelerator(machine("tiny")),
    )
    with pytest.raises(
        Refusal,
        match=r"^tiny is too small for the smallest tiles: ACC has 32 elements and they take 52, "
        r"for which log_acc_buffer would have to be 10$",
    ):
        best_choice(target, TEMPLATE, workload, {"threads": (2,)})
    choice = best_choice(target, TEMPLATE, workload)
    assert choice == {"threads": 1, "along": "oc", "oc": 1, "y": 1, "x": 2}
