"""`docs/discover.md`: the machine and the space that it shows are what it says."""

from __future__ import annotations

import re
from pathlib import Path

from tandem.compiler.search.operations_axis import Offered, with_operations
from tandem.compiler.search.space import parse_space
from tandem.hw.alu_terms import print_term
from tandem.hw.config_files import dump_config, load_config
from tandem.workbench.search.machine_text import describe
from tests.support.hw.found_machines import PACKED_FOR_PYNQ

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "discover.md").read_text()
FILE = DOCS / "pynq-found.json"


def test_the_machine_that_was_found() -> None:
    """It is kept as the command wrote it."""
    found = load_config(FILE)
    pynq = load_config("pynq")
    assert found == pynq.replace(name="pynq-found", alu_operations=PACKED_FOR_PYNQ, alu_stages=4)
    assert FILE.read_text() == dump_config(found)
    assert f"`{print_term(PACKED_FOR_PYNQ[0].result)}`" in TEXT


def test_the_space_with_its_operations() -> None:
    (shown,) = re.findall(r"^```json\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    space = with_operations(parse_space(shown, "mine"), [Offered("it", load_config(FILE))])
    assert space.size == 8
    machines = (space.machine((a, b, c)) for a in (0, 1) for b in (0, 1) for c in (0, 1))
    texts = {describe(machine) for machine in machines}
    table = TEXT[TEXT.index("machine   ") : TEXT.index("around 1x8x8")]
    rows = re.findall(r"^(1x.*?)  +[\d,]+ +[\d,]+$(?:\n([A-Z_]+)$)?", table, re.MULTILINE)
    assert len(rows) == 6
    assert {" ".join(filter(None, row)) for row in rows} <= texts
