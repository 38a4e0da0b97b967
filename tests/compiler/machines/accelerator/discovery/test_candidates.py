"""Candidates: what runs of passes have in common is an operation that is those passes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from random import Random

import pytest

from tandem.compiler.machines.accelerator.discovery.candidates import Candidate, find_candidates
from tandem.compiler.machines.accelerator.discovery.chains import LayerChains
from tandem.compiler.machines.accelerator.templates.custom_passes import (
    ChainStep,
    Residual,
    Values,
)
from tandem.hw.alu_formulas import prove_equal
from tandem.hw.alu_terms import Binary, Cast, Name, Number, Term, TermOp, evaluate, fold, print_term
from tandem.hw.custom_operations import PARAMETER_BITS
from tandem.hw.operations import AluOp
from tests.compiler.machines.accelerator.discovery.cases import LAYERS, chain

FOUND = find_candidates(LAYERS)


def described(found: Iterable[Candidate]) -> set[tuple[str, str]]:
    """The operations' results, and their parameters' types."""
    return {
        (
            print_term(one.operation.result),
            " ".join(each.type_text for each in one.operation.parameters),
        )
        for one in found
    }


def test_what_differs_is_a_parameter() -> None:
    """The clip that a person wrote is among them; it begins with the least shift, and is as wide as
    shifts are different."""
    clip = "min(max(int32(a + b) >> 15 >> shift, low), 127)"
    alone = {("int32(a * uint16(b) >> 8)", ""), ("a + b * 77", "")}
    assert {(clip, "uint4 int8"), *alone} <= described(FOUND.candidates)


def test_what_most_have_is_a_constant() -> None:
    assert ("min(max(int32(a + b) >> 15, 0), 127)", "") in described(FOUND.candidates)


def test_few_amounts_of_a_shift() -> None:
    """Eight beside each other have a parameter of three bits, where all need four."""
    clip = "min(max(int32(a + b) >> 15 >> shift, low), 127)"
    assert (clip, "uint3 int8") in described(FOUND.candidates)


def test_names_are_different() -> None:
    names = [one.operation.name for one in FOUND.candidates]
    assert len({*names}) == len(names) > 20


def test_no_more_than_two_operands() -> None:
    """MUL and ADD have numbers for each channel, so that no operation does both."""
    for one in FOUND.candidates:
        ops = [step.op for step in one.steps]
        assert not (TermOp.MUL in ops and TermOp.ADD in ops), print_term(one.operation.result)


def test_parameters_fit() -> None:
    assert all(one.parameter_bits <= PARAMETER_BITS for one in FOUND.candidates)


def test_too_many_bits_are_a_reason() -> None:
    """Limits of 12 bits each: two parameters of an operation that only clips do not fit."""
    layers = [
        LayerChains(
            str(bits),
            1,
            (
                (
                    ChainStep(AluOp.MAX, Values((-(1 << bits),))),
                    ChainStep(AluOp.MIN, Values((1 << bits,))),
                ),
            ),
        )
        for bits in (3, 11)
    ]
    reasons = {one.reason for one in find_candidates(layers).dropped}
    assert reasons == {"parameters of 24 bits: the instruction has 16 for them"}


def test_a_factor_gets_the_bits_that_are_left() -> None:
    layers = [
        LayerChains(str(scale), 1, (chain(shift, 0, residual=scale),))
        for scale, shift in ((5, 20), (70_000, 27))
    ]
    found = described(find_candidates(layers).candidates)
    assert ("int32(a + b * scale) >> 20 >> shift", "uint13 uint3") in found


def test_the_order_of_layers_changes_no_operation() -> None:
    assert described(find_candidates(LAYERS[::-1]).candidates) == described(FOUND.candidates)


@pytest.mark.parametrize("one", FOUND.candidates[::3], ids=lambda one: one.operation.name)
def test_proved(one: Candidate) -> None:
    found = prove_equal(one.operation.result, one.sequence, one.operation.parameters)
    assert found.text == "proved"


def _short(term: Term) -> Term:
    """The same term on numbers of 8 bits: constants and casts are shorter."""

    def binary(op: TermOp, left: Term, right: Term) -> Term:
        if op.shifts and isinstance(right, Number):
            right = Number(right.value % 8)
        return Binary(op, left, right)

    def cast(cast: Cast, term: Term) -> Term:
        return Cast(max(1, cast.width // 4), cast.signed, term, cast.saturates)

    return fold(term, Name, Number, binary, cast)


@pytest.mark.parametrize("one", FOUND.candidates[::4], ids=lambda one: one.operation.name)
def test_all_pairs_of_eight_bits(one: Candidate) -> None:
    """The operation is its steps for each two numbers of 8 bits, with some parameters."""
    random = Random(one.operation.name)
    result, sequence = _short(one.operation.result), _short(one.sequence)
    numbers = range(-128, 128, 1 if not one.operation.parameters else 5)
    for _ in range(2 if one.operation.parameters else 1):
        values = {
            parameter.name: random.randint(*parameter.limits)
            % (8 if parameter.name == "shift" else 128)
            for parameter in one.operation.parameters
        }
        for a, b in product(numbers, numbers):
            own = {**values, "a": a, "b": b}
            assert (evaluate(result, own) - evaluate(sequence, own)) % 256 == 0, own


def test_a_long_run_has_a_name() -> None:
    """All that a requantisation with a residual does may be one operation, if numbers are the same
    everywhere."""
    numbers = [(AluOp.MAX, -900), (AluOp.MIN, 900), (AluOp.MUL, 77), (AluOp.ADD, 0), (AluOp.ADD, 5)]
    numbers += [(AluOp.SHR, 9), (AluOp.MAX, -128), (AluOp.MIN, 127)]
    steps = [ChainStep(op, Values((number,))) for op, number in numbers]
    steps[3] = ChainStep(AluOp.ADD, Residual(33))
    found = find_candidates([LayerChains("layer", 4, (tuple(steps),))])
    (longest,) = (
        one
        for one in found.candidates
        if len(one.steps) == len(steps) and "33" in print_term(one.operation.result)
    )
    assert longest.operation.name.startswith("MAX_MIN_MUL_ADDB_ADD_SHR_MAX_")
    assert not any("a name is" in one.reason for one in found.dropped)
