from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.verify import verify
from tandem.compiler.machines.accelerator.intrinsics.base import (
    BINARY,
    AluStep,
    GemmStep,
    ResetStep,
    Step,
    TensorInstruction,
    alu_binary,
    alu_value,
    base_instructions,
    element_program,
    fill,
    gemm,
    immediate,
    immediate_argument,
    immediate_by_name,
)
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.lower.commands import Compute, Kernel, Loop
from tandem.hw.config import HardwareConfig
from tandem.hw.operations import AluOp
from tests.support.compiler.machines.accelerator.lower.command_machine import CommandMachine
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.machines.accelerator.templates.streams import Array
from tests.support.hw.alu_cases import CASES, Case, fits_immediate

CONFIGS = tuple(machine(name) for name in ("tiny", "batch2", "tall"))
TINY = CONFIGS[0]
EDGES = (-(1 << 31), -(1 << 31) + 1, -40_000, -2, -1, 0, 1, 5, 40_000, (1 << 31) - 1)
"""Values of which sums and products wrap."""


def command(step: Step, at: dict[str, int], immediates: dict[str, int]) -> Compute:
    """A step on elements that lie at `at`; parameters in IMM have these numbers."""
    src = wgt = 0
    op, imm = None, None
    match step:
        case GemmStep():
            src, wgt = at[step.src], at[step.wgt]
        case AluStep(src=str(name)) if name in immediates:
            op, imm = step.op, immediates[name]
        case AluStep(src=str(name)):
            op, src = step.op, at[name]
        case AluStep(src=int(value)):
            op, imm = step.op, value
    return Compute(
        kernel=Kernel((at[step.dst],), (src,), (wgt,)),
        outer=Loop(1),
        inner=Loop(1),
        op=op,
        imm=imm,
        reset=isinstance(step, ResetStep),
    )


def check(instruction: TensorInstruction, config: HardwareConfig, arrays: Sequence[Array]) -> None:
    """The steps leave in the output what the behaviour says, and nothing elsewhere."""
    function = instruction.function
    verify(function)
    (wanted,) = interpreter.run(function, arrays)
    computer = CommandMachine(config, np.zeros(0, np.uint8))
    result = function.outputs[0].name
    parameters = dict.fromkeys((*function.inputs, *function.outputs))
    at = {each.name: number + 3 for number, each in enumerate(parameters)}
    immediates = dict[str, int]()
    for buffer, array in zip(function.inputs, arrays, strict=True):
        if buffer.scope == OnChip.IMM:
            immediates[buffer.name] = int(array)
        else:
            getattr(computer, buffer.scope.value)[at[buffer.name]] = array
    if instruction.start is not None:
        computer.acc[at[result]] = computer.acc[at[instruction.start]]
    before = computer.acc.copy()
    computer.run(command(step, at, immediates) for step in instruction.steps)
    before[at[result]] = wanted
    np.testing.assert_array_equal(computer.acc, before, instruction.name)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: str(config.name))
def test_steps_do_what_the_behaviour_says(config: HardwareConfig) -> None:
    """Amounts of a shift are -31 to 31: others stop the machine."""
    rng = np.random.default_rng(5)
    pairs = np.array(list(product(EDGES, EDGES)), np.int32)
    for instruction in base_instructions(config):
        for _ in range(25):
            arrays: list[Array] = []
            for buffer in instruction.function.inputs:
                if buffer.scope == OnChip.ACC:
                    column = len(arrays) % 2
                    arrays.append(rng.choice(pairs[:, column], buffer.shape))
                elif buffer.scope == OnChip.IMM:
                    low, high = (0, 31) if "shr" in instruction.name else (-(1 << 15), 1 << 15)
                    arrays.append(np.array(rng.integers(low, high), np.int32))
                else:
                    arrays.append(rng.integers(-128, 128, buffer.shape, np.int8))
            if instruction.name == "alu_shr":
                arrays[1] = rng.integers(-31, 32, arrays[1].shape, np.int32)
            check(instruction, config, arrays)


@pytest.mark.parametrize("op", BINARY)
def test_immediates_do_what_the_behaviour_says(op: AluOp) -> None:
    low, high = (0, 31) if op is AluOp.SHR else (-(1 << 15), (1 << 15) - 1)
    for value in (low, low + 1, 0, 1, high):
        check(fill(TINY, value), TINY, [])
        for at in range(0, len(EDGES) - 3, 2):
            check(immediate(TINY, op, value), TINY, [np.array([EDGES[at : at + 4]], np.int32)])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_behaviours_give_the_results_of_the_table(case: Case) -> None:
    shape = (TINY.batch, TINY.block_out)
    a, b = (np.full(shape, value, np.int32) for value in (case.a, case.b))
    runs: list[tuple[TensorInstruction, list[Array]]] = [(alu_binary(TINY, case.op), [a, b])]
    if fits_immediate(case.b) and (case.op is not AluOp.SHR or case.b >= 0):
        runs.append((immediate(TINY, case.op, case.b), [a]))
        runs.append((immediate_argument(TINY, case.op), [a, np.array(case.b, np.int32)]))
    for instruction, arrays in runs:
        (found,) = interpreter.run(instruction.function, arrays)
        np.testing.assert_array_equal(found, np.full(shape, case.result), instruction.name)
        check(instruction, TINY, arrays)


def test_the_base_set_is_the_instruction_sets() -> None:
    names = [each.name for each in base_instructions(TINY)]
    alu = ["alu_min", "alu_max", "alu_add", "alu_shr", "alu_mul"]
    assert names == ["gemm", *alu, *(f"{name}_imm" for name in alu)]


@pytest.mark.parametrize("value", [-(1 << 15), -7, 0, 12, (1 << 15) - 1])
def test_names_tell_the_number(value: int) -> None:
    sign = "m" if value < 0 else ""
    assert fill(TINY, value).name == f"fill_{sign}{abs(value)}"
    assert immediate_by_name(TINY, f"fill_{sign}{abs(value)}") == fill(TINY, value)
    for op in BINARY:
        if op is AluOp.SHR and not 0 <= value <= 31:
            continue
        name = f"alu_{op.name.lower()}_imm_{sign}{abs(value)}"
        assert immediate(TINY, op, value).name == name
        assert immediate_by_name(TINY, name) == immediate(TINY, op, value)


@pytest.mark.parametrize(
    "name",
    "fill fill_ fill_m0 fill_007 fill_3x xfill_3 alu_add alu_add_imm_ alu_xor_imm_3 "
    "alu_add_imm_m0 alu_add_imm_01 alu_add_imm_-1 alu_ADD_imm_1".split(),
)
def test_other_names_are_nobodys(name: str) -> None:
    assert immediate_by_name(TINY, name) is None


@pytest.mark.parametrize(
    ("op", "value", "allowed"),
    [
        (AluOp.ADD, 1 << 15, "-32768 to 32767"),
        (AluOp.MUL, -(1 << 15) - 1, "-32768 to 32767"),
        (AluOp.SHR, -1, "0 to 31"),
        (AluOp.SHR, 32, "0 to 31"),
    ],
)
def test_numbers_without_room_are_refused(op: AluOp, value: int, allowed: str) -> None:
    message = f"^immediate {value} of {op.name}: {allowed} is allowed; put it in a buffer$"
    with pytest.raises(LoweringError, match=message):
        immediate(TINY, op, value)
    if op is AluOp.ADD:
        with pytest.raises(LoweringError, match=message):
            fill(TINY, value)
    with pytest.raises(LoweringError, match=message):
        immediate_by_name(TINY, f"alu_{op.name.lower()}_imm_{'m' if value < 0 else ''}{abs(value)}")


@pytest.mark.parametrize(
    ("start", "step", "message"),
    [
        ("A", AluStep(AluOp.ADD, "A", "B"), "^twice changes A; its output is C$"),
        ("A", AluStep(AluOp.ADD, "C", "D"), "^twice has no parameter D; it has A, B, C$"),
        ("Z", ResetStep("C"), "^twice has no parameter Z; it has A, B, C$"),
        (None, GemmStep("C", "A", "B"), "^twice: A, src of a GEMM, is in acc, not in inp$"),
    ],
)
def test_operands_of_other_places_are_refused(start: str | None, step: Step, message: str) -> None:
    function = element_program(TINY, "twice", lambda a, b: alu_value(AluOp.ADD, a, b), "A", "B")
    with pytest.raises(LoweringError, match=message):
        TensorInstruction(function, start, (step,))


def test_operands_of_a_product_have_their_memories() -> None:
    function = gemm(TINY).function
    for start, step, message in (
        ("C", GemmStep("C", "B", "B"), "^gemm: B, src of a GEMM, is in wgt, not in inp$"),
        ("C", GemmStep("C", "A", "A"), "^gemm: A, wgt of a GEMM, is in inp, not in wgt$"),
        ("C", AluStep(AluOp.ADD, "C", "B"), "^gemm: B, an operand of the ALU, is in wgt, not in"),
        ("A", GemmStep("C", "A", "B"), "^gemm: A, the start value, is in inp, not in acc$"),
        ("C", ResetStep("A"), "^gemm: A, the output, is in inp, not in acc$"),
    ):
        with pytest.raises(LoweringError, match=message):
            TensorInstruction(function, start, (step,))
