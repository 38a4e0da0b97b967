"""Reasons as text."""

from __future__ import annotations

from tandem.compiler.graph.reasons import Reason, describe


def test_operators_of_one_reason_stand_together() -> None:
    found = describe(
        [
            Reason("", "layout for the accelerator"),
            Reason("reshape", "elements move"),
            Reason("softmax", "real numbers"),
            Reason("transpose", "elements move"),
            Reason("reshape", "elements move"),
        ]
    )
    assert found == (
        "layout for the accelerator; reshape, transpose: elements move; softmax: real numbers"
    )
    assert describe([]) is None
