"""Stages of custom operations: equal results, products of factors that fit a block."""

from __future__ import annotations

import random

import pytest

from tandem.hw.alu_terms import (
    GREATEST,
    LEAST,
    Binary,
    Name,
    Number,
    Term,
    TermOp,
    evaluate,
    operands_of,
    parse_term,
)
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.custom_stages import PRODUCT_BITS, StagedTerms, stage_terms, sum_above

A, B = Name("a"), Name("b")
NUMBERS = (LEAST, LEAST + 1, -(1 << 17), -(1 << 17) - 1, -1, 0, 1, (1 << 17) - 1, 1 << 17, GREATEST)


def staged(text: str, stages: int) -> StagedTerms:
    return stage_terms({0: CustomOperation("OWN", parse_term(text))}, stages)


def products(term: Term) -> list[Binary]:
    found = [each for part in operands_of(term) for each in products(part)]
    return [*found, term] if isinstance(term, Binary) and term.op is TermOp.MUL else found


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("a * b", 4),
        ("a * uint16(b)", 2),
        ("int32(a * uint15(b) + (b >> 15 << 15) >> 8)", 2),
        ("int18(a) * int18(b)", 1),
        ("int19(a) * int18(b)", 2),
        ("uint17(a) * b", 2),
        ("uint18(a) * uint17(b)", 2),
        ("a * 3", 2),
    ],
)
def test_products_of_blocks(text: str, blocks: int) -> None:
    found = staged(text, 3)
    term = found.results[0]
    parts = products(term)
    assert len(parts) == blocks
    for part in parts:
        assert max(found.width_of(part.left), found.width_of(part.right)) <= PRODUCT_BITS + 1
    rng = random.Random(blocks)
    for a in (*NUMBERS, *(rng.randint(LEAST, GREATEST) for _ in range(20))):
        for b in (*NUMBERS, *(rng.randint(LEAST, GREATEST) for _ in range(20))):
            values = {"a": a, "b": b}
            assert evaluate(term, values) == evaluate(parse_term(text), values)


def test_one_stage_has_no_place_between_blocks() -> None:
    assert staged("a * b", 1).results[0] == Binary(TermOp.MUL, A, B)


def test_the_sum_is_a_stage_behind_the_blocks() -> None:
    """A product is as slow as a stage may be: 7, and its sum is 4 more, in the next one."""
    found = staged("a * uint16(b)", 2)
    total = found.results[0]
    assert isinstance(total, Binary)
    assert found.stages[total] == 2
    assert [found.stages[part] for part in products(total)] == [1, 1]
    assert found.slowest == 7
    assert staged("a * uint16(b)", 1).slowest == 7
    # Sums of blocks, and what is added to them, are a stage, too.
    assert staged("a * uint16(b) + b", 2).slowest == 8
    assert staged("a * uint16(b) + b", 3).slowest == 7


def test_sums_above_others() -> None:
    shifted = Binary(TermOp.SHL, A, Number(5))
    assert sum_above(Binary(TermOp.ADD, shifted, B)) == (A, 5, B)
    assert sum_above(Binary(TermOp.ADD, B, shifted)) is None
    assert sum_above(Binary(TermOp.SUB, shifted, B)) is None
    assert sum_above(Binary(TermOp.ADD, Binary(TermOp.SHL, A, Name("n")), B)) is None
    assert sum_above(shifted) is None
    assert sum_above(A) is None
