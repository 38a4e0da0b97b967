"""`--budget`: machines, or a time."""

from __future__ import annotations

import pytest
import typer

from tandem.scripts.search.budget import parse_budget
from tandem.workbench.search.options import Budget


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("500", Budget(500, None)),
        ("1", Budget(1, None)),
        ("007", Budget(7, None)),
        ("999999999", Budget(999_999_999, None)),
        ("90s", Budget(None, 90.0)),
        ("30m", Budget(None, 1_800.0)),
        ("2h", Budget(None, 7_200.0)),
    ],
)
def test_budgets(text: str, budget: Budget) -> None:
    assert parse_budget(text) == budget


@pytest.mark.parametrize("text", ["0", "0s", "", "s", "-1", "1.5h", "2d", "1 h", "1234567890", "٣"])
def test_what_is_none(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is neither a number of machines nor a time"):
        parse_budget(text)
