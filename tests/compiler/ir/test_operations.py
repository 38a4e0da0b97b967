"""Which operations are comparisons."""

from __future__ import annotations

from tandem.compiler.ir.operations import BinaryOp, UnaryOp


def test_comparisons() -> None:
    assert {op.value for op in BinaryOp if op.compares} == {"<", "<=", "==", "!="}


def test_texts_are_unambiguous() -> None:
    assert len({op.value for op in BinaryOp}) == len(BinaryOp)
    assert len({op.value for op in UnaryOp}) == len(UnaryOp)
    # Written in front of one value or between two: the place tells them apart.
    assert {op.value for op in BinaryOp} & {op.value for op in UnaryOp} == {"-"}
    # Keys of dictionaries, found by what they are.
    assert {BinaryOp.ADD: 1, UnaryOp.NEG: 2}[UnaryOp.NEG] == 2
