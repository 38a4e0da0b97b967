"""ONNX's own tests of its operators: what we take, we compute as ONNX says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tandem.compiler.frontends.onnx.node import qualified_name
from tandem.compiler.frontends.onnx.operators import CONVERTERS, EXPANDED
from tests.compiler.frontends.onnx.node_case_table import counts, refusals
from tests.support.compiler.frontends.onnx_nodes import Outcome, chosen_cases, node_cases, run_case

PAGE = Path(__file__).parents[4] / "docs" / "operators.md"
LIMITS = (
    r"is of the type (float8\w*|string): the types that are ",
    r"not supported: the type (float8\w*|string)$",
    r"is no tensor$",
    r"not supported: training: its results are random$",
    r"not supported: mode max$",
    r"modulo\(\.\.\.\): .*of floats only float32 is defined",
)
"""Why a model of supported operators may be refused: what `docs/operators.md` says, in messages."""
UNTESTED = {"GlobalLpPool", "LinearAttention", "Upsample"}
"""Operators that ONNX does not test, or only with others that are not supported."""
EACH = 2
"""The quick cases of an operator."""


def failures(outcomes: list[Outcome]) -> list[str]:
    """What failed, and what was refused without a reason that is known."""
    found = [f"{each.name}: {each.failure}" for each in outcomes if each.failure]
    for outcome in outcomes:
        supported = not outcome.refusal.startswith("operators that are not supported")
        if (
            outcome.refusal
            and supported
            and not any(re.search(it, outcome.refusal) for it in LIMITS)
        ):
            found.append(f"{outcome.name}: {outcome.refusal}")
    return found


def test_some_of_each_operator() -> None:
    """Those that differ most, so that a mistake in an operator is seen without all cases; in one
    process, as ONNX takes a third of the time to make them."""
    assert failures([run_case(each) for each in chosen_cases(EACH)]) == []


@pytest.mark.exhaustive
def test_all() -> None:
    """And the page of operators says how many pass, and why the others do not.

    If not: `python -m tests.compiler.frontends.onnx.node_case_table`.
    """
    outcomes = [run_case(each) for each in node_cases()]
    assert failures(outcomes) == []
    page = PAGE.read_text()
    assert counts(outcomes) in page
    assert refusals(outcomes) in page


@pytest.mark.exhaustive
def test_every_operator_passes_one() -> None:
    """A case of that operator alone, for each of the standard: none is supported in name only."""
    own = {name for name, each in CONVERTERS.items() if each.definition is not None}
    left = {*CONVERTERS, *EXPANDED} - UNTESTED - own
    for case in node_cases():
        assert case.model is not None
        (first, *rest) = map(qualified_name, case.model.graph.node)
        if first in left and not rest and run_case(case).passed:
            left.discard(first)
    assert left == set()
