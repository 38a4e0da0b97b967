"""Random tensor instructions in loops: the commands do what the loops do."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.dtypes import INT32
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.accelerator.lower.commands import Compute
from tests.support.compiler.machines.accelerator.lower.command_machine import CommandMachine
from tests.support.compiler.machines.accelerator.lower.invocations import (
    BASES,
    TINY,
    commands,
    program,
)

NAMES = ("fill_5", "alu_max_imm_m7", "alu_shr_imm_3")


def check(function: PrimFunc, found: list[list[Compute]], seed: int) -> None:
    """On a machine with the buffers' values, the commands leave what the interpreter leaves."""
    rng = np.random.default_rng(seed)
    arrays = []
    for buffer in function.inputs:
        if buffer.name == "D":
            array = rng.integers(0, 32, buffer.shape, np.int32)  # Amounts of shifts, too.
        elif buffer.dtype == INT32:
            array = rng.integers(-(1 << 31), 1 << 31, buffer.shape, np.int64).astype(np.int32)
        else:
            array = rng.integers(-128, 128, buffer.shape, np.int8)
        arrays.append(array)
    (wanted,) = interpreter.run(function, arrays)
    computer = CommandMachine(TINY, np.zeros(0, np.uint8))
    for buffer, array in zip(function.inputs, arrays, strict=True):
        base = BASES[buffer.name]
        getattr(computer, buffer.scope.value)[base : base + 8] = array
    expected = computer.acc.copy()
    expected[BASES["C"] : BASES["C"] + 8] = wanted
    computer.run(command for iteration in found for command in iteration)
    np.testing.assert_array_equal(computer.acc, expected, text(function))


INDICES = tuple(
    "i|j|i + j|2*i + j|3 - j|j // 2|t + i|t + 2*j|min(i, j)|5|i + 3*(j // 2)|i + j // 2".split("|")
)
GUARDS = ("True", "True", "i + j < 4", "j < 3 - t", "1 <= i", "i + t == 2")


@settings(max_examples=150)
@given(st.randoms(use_true_random=False))
def test_commands_do_what_the_loops_do(rng: random.Random) -> None:
    """Elements that several iterations write, in place and elsewhere; what is refused is in one
    buffer."""
    name = rng.choice(("gemm", "triple", *NAMES, "alu_max", "alu_add", "alu_mul", "alu_shr"))
    out = f"C {rng.choice(INDICES)}"
    operands = [f"{rng.choice('AC')} {rng.choice(INDICES)}", f"D {rng.choice(INDICES)}", out]
    if rng.random() < 0.5:
        operands[0] = out
    if rng.random() < 0.2 and name != "alu_shr":
        operands[1] = f"C {rng.choice(INDICES)}"
    if name == "gemm":
        operands = [out, f"E {rng.choice(INDICES)}", f"B {rng.choice(INDICES)}"]
    elif name in NAMES:
        operands = [out] if name.startswith("fill") else [operands[0], out]
    extent = rng.choice(("4", "4", "4 - t", "i + 1"))
    function = program(name, *operands, extent=extent, guard=rng.choice(GUARDS))
    first, *others, _ = operands if len(operands) > 1 else ["", out]
    one_buffer = any(each.startswith("C") for each in others) or (
        first.startswith("C") and first != out
    )
    try:
        found = commands(function)
    except LoweringError:
        assert one_buffer
        return
    check(function, found, rng.randint(0, 99))


def test_doubling_and_adding_do_not_commute() -> None:
    """C[i + j // 2] is doubled where j // 2 is 0, and another element is added where it is 1."""
    target = "C i + j // 2"
    function = program("alu_add", target, "C i + 3*(j // 2)", target, guard="i + j < 4")
    with pytest.raises(LoweringError, match="combined with themselves in one iteration"):
        commands(function)
