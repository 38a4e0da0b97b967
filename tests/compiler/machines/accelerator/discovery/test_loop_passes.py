"""Passes in loop programs: as many as instructions of the stream say; their kinds, by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tandem.compiler.errors import LoweringError
from tandem.compiler.graph.operators.reductions import MaxPool
from tandem.compiler.lower.lowering import lower
from tandem.compiler.machines.accelerator.discovery.loop_passes import (
    LoopPass,
    PassKind,
    loop_passes,
)
from tandem.compiler.machines.accelerator.lower.programs import accelerator_passes
from tandem.compiler.machines.accelerator.lower.stream import Stream
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates.elementwise import (
    ElementwiseOnAlu,
    ElementwiseWorkload,
)
from tandem.compiler.machines.accelerator.templates.epilogue import AluPass, OperandKind
from tandem.compiler.machines.accelerator.templates.max_pool import MaxPoolOnAlu, MaxPoolWorkload
from tandem.compiler.te import Schedule
from tandem.compiler.te.knobs import Choice
from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.encoding import Opcode
from tandem.hw.operations import AluOp
from tests.support.compiler.machines.accelerator.templates import random_workloads as random
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine

TINY, SMALL = machine("tiny"), machine("small8")
SIGN = CustomOperation.from_json({"name": "SIGN", "result": "a >> 31"})
TILE: Choice = {"threads": 1, "along": "oc", "oc": 1, "y": 4, "x": 4}


def found(schedule: Schedule, config: HardwareConfig) -> tuple[LoopPass, ...]:
    own = AcceleratorTarget.of(config)
    return loop_passes(lower(schedule.program, accelerator_passes(own)), own)


def issued(stream: Stream) -> Counter[int]:
    """Vectors of the stream's ALU instructions, by opcode."""
    columns = stream.program.columns()
    vectors = (columns.uop_end - columns.uop_bgn) * columns.iter_out * columns.iter_in
    alu = columns.opcode == Opcode.ALU
    counts = Counter[int]()
    for op, count in zip(columns.alu_opcode[alu].tolist(), vectors[alu].tolist(), strict=True):
        counts[op] += count
    return counts


@pytest.mark.parametrize(
    "draw",
    [
        random.draw_conv2d,
        random.draw_pooled_conv2d,
        random.draw_dense,
        random.draw_dense_wide,
        random.draw_matmul,
        random.draw_elementwise,
        random.draw_global_pool,
        random.draw_max_pool,
        random.draw_upsample,
    ],
    ids=lambda draw: draw.__name__.removeprefix("draw_"),
)
@pytest.mark.parametrize("seed", range(3))
def test_as_many_as_in_the_stream(draw: random.Drawer, seed: int) -> None:
    """Of random layers in random tiles, on machines without extensions."""
    rng = np.random.default_rng(seed)
    config = (TINY, SMALL)[seed % 2]
    choice = None
    while choice is None:
        drawn = draw(rng, config)
        choice = drawn.fitting(rng, config, 1 + seed // 2)
    schedule = drawn.template.schedule(drawn.workload, choice, AcceleratorTarget.of(config))
    counts = Counter[int]()
    for one in found(schedule, config):
        assert one.op is not None
        counts[config.alu_opcode(one.op)] += one.vectors
    assert +counts == issued(drawn.stream(choice, config))


def test_windows_by_hand() -> None:
    """3x3 windows around each of 4x4 pixels: the corner taps have 3x3 outputs, the centre all."""
    workload = MaxPoolWorkload((1, 1, 4, 4, 1, 8), MaxPool((3, 3), padding=(1, 1, 1, 1)))
    schedule = MaxPoolOnAlu().schedule(workload, TILE, AcceleratorTarget.of(SMALL))
    start, term = found(schedule, SMALL)
    assert (start.op, start.kind, start.vectors) == (AluOp.ADD, PassKind.START, 16)
    assert (term.op, term.kind) == (AluOp.MAX, PassKind.TERM)
    assert term.vectors == sum((9, 12, 9, 12, 16, 12, 9, 12, 9))
    assert term.source != term.target == start.target


def test_a_residual_by_hand() -> None:
    """A product over the residual, the sum with it, and a sum with a number for each channel."""
    scaled = AluPass(AluOp.MUL, "scale")
    passes = (
        AluPass(AluOp.ADD, "skip", OperandKind.ELEMENT, before=(scaled,)),
        AluPass(AluOp.ADD, "bias", OperandKind.CHANNEL),
        AluPass(AluOp.SHR, "shift"),
    )
    workload = ElementwiseWorkload((1, 2, 4, 3, 1, 8), passes)
    tile: Choice = {**TILE, "resident": 1}
    schedule = ElementwiseOnAlu().schedule(workload, tile, AcceleratorTarget.of(SMALL))
    made = found(schedule, SMALL)
    kinds = {(one.op, one.kind) for one in made}
    assert kinds == {
        (AluOp.MUL, PassKind.NUMBER),
        (AluOp.ADD, PassKind.ELEMENT),
        (AluOp.ADD, PassKind.NUMBER),
        (AluOp.SHR, PassKind.NUMBER),
    }
    assert {one.vectors for one in made} == {2 * 4 * 3}
    (product,) = (one for one in made if one.op is AluOp.MUL)
    (added,) = (one for one in made if one.kind is PassKind.ELEMENT)
    assert added.source == product.target != added.target


def test_an_instruction_that_the_machine_has_not() -> None:
    own = SMALL.replace(alu_operations=(SIGN,))
    workload = ElementwiseWorkload((1, 1, 4, 4, 1, 8), (AluPass(SIGN, "", OperandKind.NONE),))
    schedule = ElementwiseOnAlu().schedule(workload, TILE, AcceleratorTarget.of(own))
    (sign,) = found(schedule, own)
    assert (sign.op, sign.kind, sign.vectors) == (SIGN, PassKind.NUMBER, 16)
    lowered = lower(schedule.program, accelerator_passes(AcceleratorTarget.of(own)))
    with pytest.raises(LoweringError, match="alu_sign"):
        loop_passes(lowered, AcceleratorTarget.of(SMALL))
