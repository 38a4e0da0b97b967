"""Nearest resizing by whole factors: exact for random shapes, factors, tiles and machines."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tandem.compiler.errors import Refusal
from tandem.compiler.graph import Call, Var
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.passes import InferTypes
from tandem.compiler.graph.reasons import describe
from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.upsample import (
    UpsampleByStores,
    UpsampleWorkload,
)
from tandem.compiler.plan.planner import Planner, best_choice, candidates
from tandem.compiler.plan.space import Choices
from tandem.compiler.te.knobs import Choice
from tandem.hw.encoding import Opcode
from tandem.hw.isa.work import work_of
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.alu_passes import draw_values
from tests.support.compiler.machines.accelerator.templates.random_operators import random_tests
from tests.support.compiler.machines.accelerator.templates.random_workloads import (
    check_of,
    draw_upsample,
)
from tests.support.compiler.machines.accelerator.templates.streams import run_stream, stream_of

TEMPLATE = UpsampleByStores()
TINY = machine("tiny")

test_few, test_many, test_few_on_rtl, test_many_on_rtl = random_tests(
    check_of(draw_upsample), few=12
)

BLOCKS = "{0, 1/4, 2, 3, _, 1%4}"


def upsampling(factors: str, size: int = 3) -> Call:
    """A call of a kernel that repeats rows and columns of 6 channels."""
    rows, columns = (size * int(each) for each in factors.split(", "))
    kernel = InferTypes().apply(
        graph(
            f"kernel[accelerator] @k(p: int8[1, 6, {size}, {size}]{BLOCKS}) -> "
            f"int8[1, 6, {rows}, {columns}]{BLOCKS}:\n"
            f"  x = convert(p, shape=[1, 6, {size}, {size}], source={BLOCKS})\n"
            f"  y = upsample(x, factors=[{factors}])\n"
            f"  q = convert(y, shape=[1, 6, {rows}, {columns}], target={BLOCKS})\n  return q\n"
        )
    )
    return Call(kernel, (Var("v"),))


def test_the_workload_has_shape_and_factors() -> None:
    plan = Planner(accelerator(TINY)).plan(upsampling("2, 3"))
    assert isinstance(plan.template, UpsampleByStores)
    assert plan.workload == UpsampleWorkload((1, 2, 3, 3, 1, 4), (2, 3))


def test_nothing_is_computed_and_each_byte_is_loaded_once() -> None:
    values = draw_values(np.random.default_rng(0), (1, 2, 3, 5, 1, 4), INT8)
    workload = UpsampleWorkload(values.shape, (2, 3))
    choice: Choice = {"threads": 1, "along": "oc", "oc": 2, "y": 3, "x": 5}
    schedule = TEMPLATE.schedule(workload, choice, AcceleratorTarget.of(TINY))
    stream = stream_of(schedule, TINY)
    work = work_of(stream.program)
    assert (work.alu_uops, work.gemm_uops, work.reset_uops) == (0, 0, 0)
    columns = stream.program.columns()
    stores = columns.opcode == Opcode.STORE
    # A row of 2 x 3 rows in each of 2 x 3 places, into every third column.
    assert np.count_nonzero(stores) == 6 * 6
    assert {*columns.x_size[stores].tolist()} == {1}
    assert {*columns.y_size[stores].tolist()} == {5}
    assert {*columns.x_stride[stores].tolist()} == {3}
    loads = (columns.opcode == Opcode.LOAD) & (columns.x_size > 0)
    assert int((columns.x_size * columns.y_size)[loads].sum()) == 2 * 3 * 5
    found, _ = run_stream(stream, {"data": values})
    np.testing.assert_array_equal(
        found["out"].reshape(1, 2, 6, 15, 1, 4), values.repeat(2, 2).repeat(3, 3)
    )


@pytest.mark.parametrize(
    ("shape", "factors"), [((1, 8, 14, 14), (2, 2)), ((1, 8, 7, 7), (1, 3)), ((1, 3, 9, 9), (3, 2))]
)
def test_the_choice_keeps_the_bus_busy(shape: tuple[int, ...], factors: tuple[int, int]) -> None:
    """The bus writes half an element a cycle at most; tiles are loaded meanwhile."""
    config = machine("pynq")
    workload = UpsampleWorkload((*shape, 1, 16), factors)
    choice = best_choice(accelerator(config), TEMPLATE, workload)
    stream = stream_of(TEMPLATE.schedule(workload, choice, AcceleratorTarget.of(config)), config)
    values = draw_values(np.random.default_rng(1), workload.data, INT8)
    _, result = run_stream(stream, {"data": values}, "cycle")
    assert result.cycles is not None
    beats = values.size // 8 * factors[0] * factors[1]
    assert beats > 0.85 * result.cycles
    estimate = TEMPLATE.estimate(workload, Choices.of([choice]), MachineCost(config)).item()
    assert 0.75 * result.cycles < estimate < 1.1 * result.cycles


def test_refuses_many_copies() -> None:
    planner = Planner(accelerator(TINY))
    planner.plan(upsampling("8, 8"))
    message = (
        "each pixel would be stored 13 x 5 times, and 64 times are the most: two resizes by "
        "smaller factors would do"
    )
    with pytest.raises(Refusal, match=f"^{re.escape(message)}$"):
        planner.plan(upsampling("13, 5"))


@pytest.mark.parametrize(
    ("type_", "line", "reason"),
    [
        (
            "float32[1, 4, 3, 3]",
            "upsample(x, factors=[2, 2])",
            "upsample: its data is float32, not int8: quantisation, by --quantize multiplier or "
            "pow2, would help",
        ),
        (
            "int8[1, 4, 3, 3]",
            "gather(x, int64[5](0, 0, 1, 2, 2), axis=3)",
            "gather: of resizing, the accelerator has only that of images to the nearest pixel, by "
            "whole factors",
        ),
        (
            "int8[9, 4]",
            "gather(x, int64[2](0, 8))",
            "gather: elements are looked up by indices, and addresses are part of the "
            "accelerator's instructions",
        ),
    ],
)
def test_reasons(type_: str, line: str, reason: str) -> None:
    function = graph(f"func @f(x: {type_}):\n  y = {line}\n  return y\n")
    found, reasons = candidates(accelerator(TINY), function.body, infer(function))
    assert not found
    assert {name: describe([each]) for name, each in reasons.items()} == {"y": reason}
