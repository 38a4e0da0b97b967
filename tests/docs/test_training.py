"""The page's program runs, and prints what the page shows."""

from __future__ import annotations

import contextlib
import io

from tests.docs.test_graphs import blocks_of


def test_the_program() -> None:
    blocks = dict(blocks_of("training.md"))
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(blocks["python"], {})
    assert output.getvalue() == blocks[""]
