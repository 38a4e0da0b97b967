"""Why operators stay on the CPU, a small network for each limit."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from tests.compiler.plan.reason_cases import CASES

DOCUMENT = Path(__file__).parents[3] / "docs" / "reasons.md"


def test_reasons(golden: Callable[[str, str], None]) -> None:
    """Every reason names its operator, and the document lists the same, word for word."""
    reasons = {case: case.reason() for case in CASES}
    for case, reason in reasons.items():
        operators = [part.split(": ")[0].split(", ") for part in reason.split("; ")]
        assert all(case.operator in names for names in operators), case.title
    found = "".join(f"{case.title}:\n  {reason}\n" for case, reason in reasons.items())
    golden("compiler/reasons.txt", found)
    (listed,) = re.findall(r"```text\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    assert listed == found
