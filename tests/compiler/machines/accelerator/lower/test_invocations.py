from __future__ import annotations

import pytest

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.accelerator.intrinsics.base import (
    AluStep,
    TensorInstruction,
    element_program,
)
from tandem.compiler.machines.accelerator.lower.commands import Compute, Kernel, Loop
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.hw.custom_operations import AnyOperation
from tandem.hw.operations import AluOp
from tests.support.compiler.machines.accelerator.lower.invocations import (
    INTRINSICS,
    TARGET,
    TINY,
    TRIPLE,
    commands,
    program,
)
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine


def test_a_product_is_one_instruction() -> None:
    found = commands(program("gemm", "C 2*i + t", "E i + j", "B j"))
    assert [(each.outer, each.inner) for iteration in found for each in iteration] == [
        (Loop(3, 2, 1, 0), Loop(4, 0, 1, 1))
    ] * 2
    kernels = [each.kernel for iteration in found for each in iteration]
    assert kernels == [Kernel((20 + t,), (7,), (2,)) for t in range(2)]


def what(found: list[Compute]) -> list[tuple[AnyOperation | None, int | str | None, int, int]]:
    return [
        (command.op, command.imm, int(command.indices("dst")[0]), len(command.indices("dst")))
        if command.op is not None or command.reset
        else pytest.fail("a GEMM")
        for command in found
    ]


def test_what_starts_elsewhere_is_copied_first() -> None:
    """Each step for all iterations; iteration by iteration if an element is written again."""
    apart = commands(program("triple", "A j", "D j", "C j", guard="i < 1"))[0]
    assert what(apart) == [
        (None, None, 20, 4),
        (AluOp.ADD, None, 20, 4),
        (AluOp.MUL, 3, 20, 4),
        (AluOp.ADD, None, 20, 4),
    ]
    again = commands(program("triple", "C j", "D j", "C j", guard="i < 2"))[0]
    assert what(again) == [
        step
        for iteration in (0, 1)
        for j in range(4)
        for step in ((AluOp.MUL, 3, 20 + j, 1), (AluOp.ADD, None, 20 + j, 1))
    ], "2 iterations of i change all elements"


def test_a_reset_that_is_repeated_is_done_once() -> None:
    """`fill_0` has one step; two would be done one iteration after the other."""
    (found,) = commands(program("fill_0", "C i"))[0]
    assert (found.reset, len(found.indices("dst"))) == (True, 3)


def refused(message: str, function: PrimFunc, target: AcceleratorTarget = TARGET) -> None:
    with pytest.raises(LoweringError, match=message):
        commands(function, target)


def test_an_operand_that_is_overwritten_before_it_is_read_is_refused() -> None:
    """By the copy of what it starts from, or by the first of two steps."""
    message = "^{} would overwrite \\['B'\\] before reading them$"
    refused(message.format("alu_add"), program("alu_add", "A j", "C j", "C j"))
    refused(message.format("triple"), program("triple", "C j", "C j", "C j"))
    commands(program("alu_add", "C j", "C j", "C j"))


@pytest.mark.parametrize(
    ("name", "operands", "count"),
    [
        ("alu_add", ("C j", "C j + 1", "C j"), "3 accumulators, from 21,"),
        ("alu_max_imm_m7", ("C j + 1", "C j"), "3 accumulators, from 21,"),
        # Turns that read what they change come between others.
        ("alu_add", ("C i + 3*(j//2)", "C i + j//2", "C i + 3*(j//2)"), "1 accumulators, from 21,"),
        ("alu_max_imm_m7", ("C i + j//2", "C i + 3*(j//2)"), "1 accumulators, from 21,"),
    ],
)
def test_turns_that_need_each_others_results_are_refused(
    name: str, operands: tuple[str, ...], count: str
) -> None:
    refused(
        f"^{name}: {count} are written in one iteration and read in another$",
        program(name, *operands, guard="i < 2"),
    )


def test_other_instructions_of_the_same_name_are_refused() -> None:
    message = "^the program defines triple otherwise than tiny does$"
    other = element_program(TINY, "triple", lambda a, b: a + b, "A", "B")
    target = AcceleratorTarget.of(TINY).with_instructions(
        TensorInstruction(other, "A", (AluStep(AluOp.ADD, "C", "B"),))
    )
    refused(message, program("triple", "A i", "D i", "C i"), target)
    refused(
        "^tiny has no tensor instruction triple; it has gemm",
        program("triple", "A i", "D i", "C i"),
        AcceleratorTarget.of(TINY),
    )


@pytest.mark.parametrize(
    ("declared", "region", "message"),
    [
        (
            "int32[8, 4] @ acc",
            "C[i :+ 1, j :+ 4]",
            r"^fill_5: operand C must begin on an element of 4 values, and begins inside an ",
        ),
        (
            "int32[8, 8] @ acc",
            "C[i :+ 1, 0 :+ 4]",
            r"^fill_5: \[1, 4\] of C \[8, 8\] is not one element of 4 contiguous values$",
        ),
        (
            "int32[4, 8] @ acc",
            "C[0 :+ 4, j :+ 1]",
            r"^fill_5: \[4, 1\] of C \[4, 8\] is not one element of 4 contiguous values$",
        ),
        (
            "int32[8, 4] @ inp",
            "C[i :+ 1, 0 :+ 4]",
            r"^fill_5: C must be in acc, not in inp \(C\)$",
        ),
    ],
)
def test_parts_of_elements_are_refused(declared: str, region: str, message: str) -> None:
    head = f"func f(C: {declared}) -> (C: {declared}):\n  for t in 2:\n    for i in 3:\n"
    body = f"      for j in 4:\n        invoke fill_5({region})\n"
    refused(message, parse(head + body, INTRINSICS))


def test_instructions_of_another_size_are_refused() -> None:
    wide = machine("small8")
    four = TensorInstruction(TRIPLE.function, "A", TRIPLE.steps)
    refused(
        r"^triple: A \[1, 4\] has 4 values; an element of acc has 8$",
        program("triple", "A i", "D i", "C i"),
        AcceleratorTarget.of(wide).with_instructions(four),
    )
