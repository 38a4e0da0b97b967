"""Sums over whole images are exact for random shapes, steps and machines."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import Refusal
from tandem.compiler.graph import Call, Var
from tandem.compiler.graph.passes import InferTypes
from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.machines.accelerator.lower.stream import Stream
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.epilogue import (
    AluPass,
    OperandKind,
)
from tandem.compiler.machines.accelerator.templates.global_average_pool import (
    GlobalPoolOnAlu,
    GlobalPoolWorkload,
)
from tandem.compiler.machines.accelerator.templates.requantise_passes import (
    alu_passes,
)
from tandem.compiler.plan.planner import Planner, best_choice
from tandem.compiler.requantisation import RequantSpec
from tandem.hw.isa import Alu
from tandem.hw.operations import AluOp
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.alu_passes import draw_values
from tests.support.compiler.machines.accelerator.templates.random_operators import random_tests
from tests.support.compiler.machines.accelerator.templates.random_workloads import (
    check_of,
    draw_global_pool,
)
from tests.support.compiler.machines.accelerator.templates.streams import run_schedule, stream_of

TEMPLATE = GlobalPoolOnAlu()

test_few, test_many, test_few_on_rtl, test_many_on_rtl = random_tests(
    check_of(draw_global_pool), few=10
)


def test_a_mean_by_requantisation() -> None:
    """1/49 is part of the multiplier; each mean is rounded once, halves upwards."""
    config = machine("small8")
    values = draw_values(np.random.default_rng(7), (1, 4, 7, 7, 1, 8), INT8)
    passes, numbers = alu_passes(RequantSpec.from_scales([1 / 49], [0], -128, 127), 32, config)
    workload, target = GlobalPoolWorkload(values.shape, passes), accelerator(config)
    schedule = TEMPLATE.schedule(workload, best_choice(target, TEMPLATE, workload), target.machine)
    tensors = {"data": values, **numbers.tensors}
    found = run_schedule(schedule, config, tensors, "functional", numbers.immediates)
    means = values.mean(axis=(2, 3), keepdims=True)
    np.testing.assert_array_equal(found, np.floor(means + 0.5))


def test_one_instruction_adds_all_pixels() -> None:
    workload = GlobalPoolWorkload((1, 32, 7, 7, 1, 16), (AluPass(AluOp.SHR, "shift"),))
    target = accelerator(machine("pynq"), hiding=False)
    choice = best_choice(target, TEMPLATE, workload)
    assert choice == {"threads": 1, "along": "oc", "oc": 32, "y": 7, "x": 7}
    schedule = TEMPLATE.schedule(workload, choice, target.machine)
    stream = stream_of(schedule, machine("pynq"), {"shift": 6})
    assert _turns(stream, AluOp.ADD) == [32 * 49]


def _turns(stream: Stream, op: AluOp) -> list[int]:
    """Elements of each ALU instruction with this operation."""
    found = [each for each in stream.program if isinstance(each, Alu)]
    return [
        alu.iter_out * alu.iter_in * (alu.uop_end - alu.uop_bgn) for alu in found if alu.op is op
    ]


def test_refuses_what_never_fits() -> None:
    passes = tuple(AluPass(AluOp.ADD, f"r{number}", OperandKind.ELEMENT) for number in range(40))
    with pytest.raises(
        Refusal,
        match=r"^tiny is too small .* ACC has 32 elements and they take 42, for "
        r"which log_acc_buffer would have to be 10$",
    ):
        best_choice(
            accelerator(machine("tiny")), TEMPLATE, GlobalPoolWorkload((1, 1, 3, 3, 1, 4), passes)
        )


def test_sums_of_one_images_pixels_need_no_clipping() -> None:
    """An eighth of four pixels is from -64 to 64, however many images and blocks there are."""
    blocks = "{0, 1/4, 2, 3, _, 1%4}"
    kernel = InferTypes().apply(
        graph(
            f"kernel[accelerator] @k(p: int8[3, 20, 2, 2]{blocks}) -> int8[3, 20, 1, 1]{blocks}:\n"
            f"  x = convert(p, shape=[3, 20, 2, 2], source={blocks})\n"
            "  w = cast(x, to=int32)\n"
            "  t = reduce_sum(w, axes=[2, 3], keepdims=True)\n"
            "  y = requantise(t, int32[1](1), int64[1](0), shift=3, low=-128, high=127)\n"
            f"  q = convert(y, shape=[3, 20, 1, 1], target={blocks})\n  return q\n"
        )
    )
    plan = Planner(accelerator(machine("tiny"))).plan(Call(kernel, (Var("v"),)))
    assert isinstance(plan.template, GlobalPoolOnAlu)
    assert plan.workload.data == (3, 5, 2, 2, 1, 4)
    (only,) = plan.workload.epilogue.passes
    assert (only.op, plan.arguments.immediates) == (AluOp.SHR, {only.operand: 3})
