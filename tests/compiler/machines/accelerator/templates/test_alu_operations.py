"""ALU operations: which exist, and that `emulate` computes as the machine does."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import QuantisationError
from tandem.compiler.machines.accelerator.intrinsics.base import BINARY
from tandem.compiler.machines.accelerator.templates.alu_lowering import (
    AluOperation,
    lower_requantisation,
)
from tandem.compiler.requantisation import RequantSpec
from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Assembler, Loop, MemoryId, MicroOp, Unit, pack_uops
from tandem.hw.operations import AluOp
from tandem.sim.functional import FunctionalEngine
from tests.support.compiler.machines.accelerator.templates.alu_emulator import emulate
from tests.support.sim.launching import IMAGE_BYTES, launch

LEAST, GREATEST = -(1 << 31), (1 << 31) - 1
INT32 = st.one_of(
    st.integers(LEAST, GREATEST), st.sampled_from([LEAST, LEAST + 1, -1, 0, 1, GREATEST])
)
MACHINE = HardwareConfig()
BLOCKS = 4
CHANNELS = BLOCKS * MACHINE.acc_lanes
PLANES, UOPS = 0x4000, 0x8000

Numbers = npt.NDArray[np.int32]


def on_machine(operations: tuple[AluOperation, ...], acc: Numbers) -> Numbers:
    """The accumulators of `CHANNELS` channels after the operations, stored as planes of bytes."""
    rows, asm = [acc], Assembler(MACHINE)
    asm.load(MemoryId.UOP, sram=0, dram=UOPS // 4, columns=8)
    asm.load(MemoryId.ACC, sram=0, dram=0, columns=8 * BLOCKS)
    for operation in operations:
        if isinstance(operation.operand, int):
            asm.alu(operation.op, (0, 1), [Loop(BLOCKS, dst=1)], imm=operation.operand)
        else:
            asm.alu(operation.op, (len(rows), len(rows) + 1), [Loop(BLOCKS, dst=1, src=1)])
            rows.append(np.resize(np.array(operation.operand, np.int32), CHANNELS))
    asm.nop(Unit.COMPUTE, signals=Unit.STORE)
    for plane in range(4):
        to = PLANES // MACHINE.acc_lanes + plane * BLOCKS
        both = {"waits_for": Unit.COMPUTE, "signals": Unit.COMPUTE}
        asm.store(sram=0, dram=to, columns=BLOCKS, **both)
        next_: dict[str, Any] = {
            "waits_for": Unit.STORE,
            "signals": Unit.STORE if plane < 3 else (),
        }
        asm.alu(AluOp.SHR, (0, 1), [Loop(BLOCKS, dst=1)], imm=8, **next_)
    asm.finish()
    image = np.zeros(IMAGE_BYTES, np.uint8)
    values = np.concatenate(rows).view(np.uint8)
    image[: len(values)] = values
    uops = pack_uops(MACHINE, [MicroOp(dst=0, src=k * BLOCKS) for k in range(8)])
    image[UOPS : UOPS + len(uops)] = np.frombuffer(uops, np.uint8)
    _, memory = launch(FunctionalEngine(MACHINE), asm.build(), image)
    planes = memory[PLANES : PLANES + 4 * CHANNELS].reshape(4, CHANNELS)
    return np.ascontiguousarray(planes.T).view(np.int32).reshape(CHANNELS)


@st.composite
def any_operation(draw: st.DrawFn) -> AluOperation:
    op = draw(st.sampled_from(BINARY))
    shift = op is AluOp.SHR
    if draw(st.booleans()):
        return AluOperation(
            op, draw(st.integers(-31, 31) if shift else st.integers(-(1 << 15), 32767))
        )
    number = st.integers(-31, 31) if shift else INT32
    count = draw(st.sampled_from([1, CHANNELS]))
    return AluOperation(op, tuple(draw(st.lists(number, min_size=count, max_size=count))))


OPERATIONS = given(operations=st.lists(any_operation(), max_size=7), seed=st.integers(0, 1 << 32))


@settings(max_examples=10)
@OPERATIONS
def test_emulate_is_the_machine(operations: list[AluOperation], seed: int) -> None:
    check_emulation(operations, seed)


@pytest.mark.exhaustive
@settings(max_examples=100)
@OPERATIONS
def test_emulate_is_the_machine_more(operations: list[AluOperation], seed: int) -> None:
    check_emulation(operations, seed)


def check_emulation(operations: list[AluOperation], seed: int) -> None:
    acc = np.random.default_rng(seed).integers(LEAST, GREATEST, CHANNELS, np.int32, endpoint=True)

    expected = on_machine(tuple(operations), acc)

    np.testing.assert_array_equal(emulate(operations, acc, axis=0), expected)


@pytest.mark.parametrize("largest", [0.01, 5.0])
@settings(max_examples=10)
@given(seed=st.integers(0, 1 << 32))
def test_a_requantisation_on_the_machine(largest: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scales = largest * 10 ** rng.uniform(-3, 0, CHANNELS)
    bias = rng.integers(-(1 << 20), 1 << 20, CHANNELS)
    spec = RequantSpec.from_scales(scales, bias)
    acc = rng.integers(-(1 << 23), 1 << 23, CHANNELS, np.int32)

    lowered = lower_requantisation(spec)
    stored = on_machine((*lowered.accumulator, *lowered.output), acc)

    np.testing.assert_array_equal(stored, spec.reference(acc, axis=0))


def test_emulate_by_hand() -> None:
    acc = np.array([[GREATEST, -7, 6], [LEAST, 10, 100]])
    after = [
        # The greatest number and 1 is the least; odd multiples of 2^31 are the least too; what a
        # shift to the left pushes out is gone.
        (AluOperation(AluOp.ADD, 1), [[LEAST, -6, 7], [LEAST + 1, 11, 101]]),
        (
            AluOperation(AluOp.MUL, (3, -2, 1 << 30)),
            [[LEAST, 12, -(1 << 30)], [LEAST + 3, -22, 1 << 30]],
        ),
        (AluOperation(AluOp.SHR, (1, 2, -1)), [[-1073741824, 3, LEAST], [-1073741823, -6, LEAST]]),
        (
            AluOperation(AluOp.MAX, (-2000000000,)),
            [[-1073741824, 3, -2000000000], [-1073741823, -6, -2000000000]],
        ),
        (
            AluOperation(AluOp.MIN, 2),
            [[-1073741824, 2, -2000000000], [-1073741823, -6, -2000000000]],
        ),
    ]

    for count in range(1, len(after) + 1):
        done = emulate([operation for operation, _ in after[:count]], acc, axis=1)
        assert done.dtype == np.int32
        assert done.tolist() == after[count - 1][1]
    assert emulate([], acc).tolist() == acc.tolist()


def test_the_cheapest_form_of_an_operand() -> None:
    assert AluOperation.of(AluOp.ADD, [7, 7, 7]) == AluOperation(AluOp.ADD, 7)
    assert AluOperation.of(AluOp.ADD, [-32768]) == AluOperation(AluOp.ADD, -32768)
    assert AluOperation.of(AluOp.ADD, [32768, 32768]) == AluOperation(AluOp.ADD, (32768,))
    assert AluOperation.of(AluOp.ADD, [1, 2]) == AluOperation(AluOp.ADD, (1, 2))


@pytest.mark.parametrize(
    ("op", "operand", "message"),
    [
        (AluOp.ADD, 1 << 15, r"^ADD: operand is 32768: it has to lie in -32768\.\.32767$"),
        (AluOp.MUL, (0, GREATEST + 1), "^MUL: operand is 2147483648 of channel 1"),
        (AluOp.SHR, 32, r"^SHR: operand is 32: it has to lie in -31\.\.31$"),
        (AluOp.SHR, (0, -32), "^SHR: operand is -32 of channel 1"),
        (AluOp.MAX, (), "^MAX: an operand for no channel$"),
        (AluOp.MIN, True, "^MIN: operand is True: it has to be an int$"),
    ],
)
def test_operands_that_no_instruction_has(
    op: AluOp, operand: int | tuple[int, ...], message: str
) -> None:
    with pytest.raises(QuantisationError, match=message):
        AluOperation(op, operand)


@pytest.mark.parametrize(
    ("acc", "axis", "message"),
    [
        (np.array([1 << 31]), None, "^emulate: accumulator 2147483648 is not in -2147483648"),
        (np.array([LEAST - 1]), None, "^emulate: accumulator -2147483649 is not in"),
        (np.zeros(3), None, "^emulate: accumulators are float64, not signed integers$"),
        (np.zeros((3, 2), np.int32), None, r"^emulate: channels \(3\), but no axis$"),
        (np.zeros((3, 2), np.int32), 2, r"^emulate: axis 2 of an array of shape \[3, 2\]$"),
        (np.zeros((3, 2), np.int32), -1, r"axis -1 of shape \[3, 2\] has to have 3 channels$"),
    ],
)
def test_arrays_that_emulate_refuses(
    acc: npt.NDArray[np.int32], axis: int | None, message: str
) -> None:
    with pytest.raises(QuantisationError, match=message):
        emulate([AluOperation(AluOp.ADD, (1, 2, 3))], acc, axis)
