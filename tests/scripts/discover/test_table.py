"""The text of a search for operations, cell by cell."""

from __future__ import annotations

import re
from io import StringIO

from rich.console import Console

from tandem.scripts.discover.table import print_found
from tests.support.workbench.found_operations import found_operations


def printed() -> list[list[str]]:
    """The cells of each line: two blanks and more are between them."""
    text = StringIO()
    print_found(Console(file=text, width=200, highlight=False, markup=False), found_operations())
    lines = (line.strip() for line in text.getvalue().splitlines())
    return [re.split(r" {2,}", line) for line in lines if line]


def test_cells() -> None:
    lines = printed()
    assert ["ADD_SHR", "int32(a + b) >> shift", "shift uint5", "77", "120", "0"] in lines
    heading = next(line for line in lines if line[0] == "operation")
    assert heading == ["operation", "result", "parameters", "it saves", "tables", "blocks"]
    # Of digits 200 of 1,000 cycles are the ALU's; extensions would save 200, the operation 100.
    assert ["digits", "20.0%", "1,000", "900", "0.900", "800", "50.0%"] in lines
    held_out = next(line for line in lines if line[0] == "other, held out")
    assert held_out[1:5] == ["0.0%", "500", "500", "1.000"]


def test_the_last_line() -> None:
    """What the set takes, by whom it was counted, and how long the search took."""
    assert printed()[-1] == [
        "12 candidates; the set takes 120 look-up tables (1.2%) and 0 multiplier blocks by "
        "synthesis, 2 stages; in 5 s"
    ]
