"""Runs of ALU steps without their numbers, by hand."""

from __future__ import annotations

from tandem.compiler.machines.accelerator.discovery.shapes import (
    Occurrence,
    Role,
    ShapeStep,
    occurrences,
)
from tandem.compiler.machines.accelerator.templates.custom_passes import (
    ChainStep,
    Residual,
    ResidualSum,
    Values,
)
from tandem.hw.operations import AluOp

ADD, MUL, SHR, MAX = AluOp.ADD, AluOp.MUL, AluOp.SHR, AluOp.MAX
SECOND, SCALED, NUMBER, PACKED, MULTIPLE = Role
APART = Values((1, 2))


def step(op: AluOp, *numbers: int, cut: int | None = None, identity: bool = False) -> ChainStep:
    return ChainStep(op, Values(numbers), identity, cut)


def found(*steps: ChainStep) -> list[tuple[list[tuple[AluOp, Role, int | None]], tuple[int, ...]]]:
    return [
        ([(each.op, each.role, each.cut) for each in one.shape], one.numbers)
        for one in occurrences(steps)
    ]


def test_roles_with_numbers() -> None:
    assert [role for role in Role if role.has_number] == [SCALED, NUMBER, MULTIPLE]


def test_a_step_alone_is_one_that_the_base_instruction_set_lacks() -> None:
    assert found(step(ADD, 3)) == []
    assert found(ChainStep(ADD, APART)) == []
    assert found(ChainStep(ADD, Residual(1))) == []
    assert found(ChainStep(ADD, Residual(5))) == [([(ADD, SCALED, None)], (5,))]
    assert found(step(MUL, 3, 4, cut=2)) == [([(MUL, SECOND, 2)], ())]
    assert found(step(MUL, 3, 3, cut=2)) == [
        ([(MUL, SECOND, 2)], ()),
        ([(MUL, NUMBER, 2)], (3,)),
    ]
    assert found() == []


def test_two_steps_have_one_second_operand_at_most() -> None:
    pair = step(ADD, 3), step(MAX, 4)
    assert found(*pair) == [
        ([(ADD, SECOND, None), (MAX, NUMBER, None)], (4,)),
        ([(ADD, NUMBER, None), (MAX, SECOND, None)], (3,)),
        ([(ADD, NUMBER, None), (MAX, NUMBER, None)], (3, 4)),
    ]
    # Numbers that differ by channel, and residuals, are second operands.
    assert found(ChainStep(ADD, APART), ChainStep(MAX, Residual(1))) == []
    assert found(ChainStep(ADD, Residual(2)), step(MAX, 4)) == [
        ([(ADD, SCALED, None)], (2,)),
        ([(ADD, SECOND, None), (MAX, NUMBER, None)], (4,)),
        ([(ADD, SCALED, None), (MAX, NUMBER, None)], (2, 4)),
    ]


def test_a_shift_is_by_a_number() -> None:
    assert found(step(ADD, 3), step(SHR, 4)) == [
        ([(ADD, SECOND, None), (SHR, NUMBER, None)], (4,)),
        ([(ADD, NUMBER, None), (SHR, NUMBER, None)], (3, 4)),
    ]
    assert found(step(ADD, 3), ChainStep(SHR, APART)) == []


def test_sums_of_both_kinds_of_operands_are_covered_elsewhere() -> None:
    both = ChainStep(ADD, ResidualSum(APART, Residual(1)))
    assert found(both, step(MAX, 4)) == []


def test_runs_do_not_begin_or_end_with_nothing() -> None:
    nothing = step(MAX, -128, identity=True)
    pairs = found(step(ADD, 3), nothing, step(ADD, 7))
    assert {tuple(op for op, _, _ in shape) for shape, _ in pairs} == {(ADD, MAX, ADD)}
    assert found(step(ADD, 3), nothing) == found(nothing, step(ADD, 3)) == []


def test_a_product_that_is_cut_and_its_sum_are_parts_of_an_operand() -> None:
    # A product that loses six bits: sums are multiples of 1 << 15 - 6.
    product, addend = step(MUL, 5, 6, cut=6), step(ADD, 512, 1024)
    assert ([(MUL, PACKED, 6)], ()) in found(product, addend)
    assert ([(MUL, PACKED, 6)], ()) not in found(product, step(ADD, 511, 1024))
    # What comes behind has numbers.
    three = found(product, addend, step(MAX, 9))
    assert ([(MUL, PACKED, 6), (MAX, NUMBER, None)], (9,)) in three
    assert not any(
        shape[0][1] is PACKED
        for shape, _ in found(product, addend, ChainStep(MAX, APART))
        if len(shape) > 1
    )


def test_a_residual_behind_a_product_that_is_cut() -> None:
    product, addend = step(MUL, 5, 6, cut=6), step(ADD, 512, 1024)
    residual = ChainStep(ADD, Residual(3 * 512))
    whole = found(product, addend, residual)
    assert ([(MUL, PACKED, 6)], ()) in whole
    # A factor above the fifteen bits of the other one.
    assert ([(MUL, MULTIPLE, None), (ADD, SECOND, None)], (3,)) in whole
    without = found(product, addend)
    assert not any(shape[0][1] is MULTIPLE for shape, _ in without)
    unfit = found(product, addend, ChainStep(ADD, Residual(3 * 512 + 1)))
    assert not any(shape[0][1] is MULTIPLE for shape, _ in unfit)


def test_values_of_occurrences() -> None:
    assert [*occurrences([step(MUL, 3, 4, cut=2)])] == [
        Occurrence((ShapeStep(MUL, SECOND, 2),), ())
    ]
