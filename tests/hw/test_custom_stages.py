"""Stages of custom operations: delays added up by hand, and terms that stay equal."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.hw.alu_terms import (
    Binary,
    Cast,
    Name,
    Number,
    Term,
    TermOp,
    evaluate,
    names_of,
    parse_term,
)
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.custom_stages import (
    ParameterBits,
    StagedTerms,
    gate_operands,
    shifted_cast,
    stage_terms,
)
from tests.support.hw.custom_operations import MORE, OPERATIONS, SATURATING


def operation(result: str, name: str = "OP", **parameters: str) -> CustomOperation:
    return CustomOperation.from_json({"name": name, "result": result, "parameters": parameters})


def staged(stages: int, *results: str, **parameters: str) -> StagedTerms:
    """Operations of one machine, each with these parameters if it uses them."""
    found = {}
    for number, result in enumerate(results, 5):
        used = names_of(parse_term(result))
        own = {name: kind for name, kind in parameters.items() if name in used}
        found[number] = operation(result, f"OP_{number}", **own)
    return stage_terms(found, stages)


def by_operator(found: StagedTerms) -> Mapping[str, int]:
    """The stage of each operator, by its sign or the name of the cast."""
    return {
        term.name if isinstance(term, Cast) else term.op.value: stage
        for term, stage in found.stages.items()
    }


def test_the_slowest_stage_is_as_fast_as_can_be() -> None:
    """A product takes 7, a sum and a shift by a parameter 4 each, a minimum 5."""
    text = "min(int16(a) * int16(b) + b >> n, 9)"
    one = staged(1, text, n="uint4")
    assert (one.slowest, {*by_operator(one).values()}) == (20, {1})
    two = staged(2, text, n="uint4")
    assert by_operator(two) == {"int16": 1, "*": 1, "+": 1, ">>": 2, "min": 2}
    assert two.slowest == 11
    three = staged(3, text, n="uint4")
    assert (by_operator(three)["*"], by_operator(three)["min"], three.slowest) == (1, 3, 8)
    four = staged(4, text, n="uint4")
    assert ([*by_operator(four).values()], four.slowest) == ([1, 1, 2, 3, 4], 7)
    # An operator is behind the later one of its operands.
    late = staged(2, "(int16(a) * int16(b) + b) & (a ^ b)")
    assert by_operator(late) == {"int16": 1, "*": 1, "+": 2, "^": 1, "&": 2}
    # No stage is faster than its slowest operator.
    assert staged(9, text, n="uint4").slowest == 7


@pytest.mark.parametrize(
    ("text", "delay"),
    [
        ("a", 0),
        ("int8(a)", 0),
        ("sat8(a)", 4),
        ("a >> 3", 0),
        ("a << 3", 0),
        ("a >> n", 4),
        ("a & b", 1),
        ("a | b", 1),
        ("a ^ b", 1),
        ("a - b", 4),
        ("max(a, b)", 5),
        ("int16(a) * int16(b)", 7),
        ("(a & b) + (a | b)", 5),
        # A shift whose result saturates is one with its cast.
        ("sat8(a >> n)", 4),
        ("usat8(a >> n)", 8),
        ("int8(a >> n)", 4),
        ("sat8(a >> 3)", 4),
    ],
)
def test_delays(text: str, delay: int) -> None:
    assert staged(1, text, n="uint5").slowest == delay


def test_parameters_are_named_by_their_bits() -> None:
    """Equal terms of two operations are one, whatever their parameters are called."""
    first = operation("a + b >> shift", "ONE", shift="uint5")
    second = operation("(a + b >> by) - low", "TWO", by="uint5", low="int8")
    found = stage_terms({6: first, 7: second}, 1)
    assert {
        name: (bits.lowest, bits.parameter.name) for name, bits in found.parameters.items()
    } == {
        "uint5_0": (0, "by"),
        "int8_5": (5, "low"),
    }
    assert found.parameters["uint5_0"] == ParameterBits(0, second.parameters[0])
    assert found.results[6] == parse_term("a + b >> uint5_0")
    assert found.results[7] == parse_term("(a + b >> uint5_0) - int8_5")
    assert len(found.stages) == 3


def test_shifts_that_saturate() -> None:
    shift = Binary(TermOp.SHR, Name("a"), Name("n"))
    assert shifted_cast(Cast(8, True, shift, saturates=True)) == shift
    for other in (
        Cast(8, True, shift),
        Cast(8, False, shift, saturates=True),
        Cast(8, True, Binary(TermOp.SHL, Name("a"), Name("n")), saturates=True),
        Cast(8, True, Binary(TermOp.SHR, Name("a"), Number(3)), saturates=True),
        shift,
    ):
        assert shifted_cast(other) is None
    assert gate_operands(Cast(8, True, shift, saturates=True)) == (Name("a"), Name("n"))
    assert gate_operands(Cast(8, True, shift)) == (shift,)


@pytest.mark.parametrize(
    ("text", "narrowed"),
    [
        # What is clipped to eight bits saturates to eight bits first.
        ("min(max(a, 0 - 128), 127)", "max(sat8(a), 0 - 128)"),
        ("min(max(int9(a), 0 - 128), 127)", "min(max(int9(a), 0 - 128), 127)"),
        ("min(max(int10(a), 0 - 100), 100)", "min(max(sat8(int10(a)), 0 - 100), 100)"),
        # One of the two, where the other never is.
        ("min(int8(a), 127)", "int8(a)"),
        ("min(int8(a), 126)", "min(int8(a), 126)"),
        ("max(int8(a), 0 - 128)", "int8(a)"),
        ("max(int8(a), 127)", "127"),
        ("max(127, int8(a))", "127"),
        ("min(128, int8(a))", "int8(a)"),
        ("max(max(a, 5), 3)", "max(a, 5)"),
    ],
)
def test_terms_are_narrowed(text: str, narrowed: str) -> None:
    (found,) = staged(1, text).results.values()
    assert found == parse_term(narrowed)


NUMBERS = st.integers(-(2**31), 2**31 - 1)


@settings(max_examples=20)
@given(a=NUMBERS, b=NUMBERS, immediate=st.integers(-(2**15), 2**15 - 1))
def test_terms_stay_equal(a: int, b: int, immediate: int) -> None:
    for name, result, parameters in (*OPERATIONS, *MORE, *SATURATING):
        own = operation(result, name, **parameters)
        found = stage_terms({5: own}, 2)
        values = {"a": a, "b": b}
        for named, bits in found.parameters.items():
            part = immediate >> bits.lowest & (1 << bits.parameter.width) - 1
            sign = 1 << bits.parameter.width - 1 if bits.parameter.signed else 0
            values[named] = (part ^ sign) - sign
        term: Term = found.results[5]
        whole = evaluate(term, values)
        assert (whole + 2**31) % 2**32 - 2**31 == own.apply(a, b, immediate)
        low, high = found.range_of(term)
        assert low <= whole <= high
        width = found.width_of(term)
        assert -(1 << width - 1) <= low <= high < 1 << width - 1


def test_no_operations() -> None:
    found = stage_terms({}, 1)
    assert (found.results, found.slowest) == ({}, 0)
