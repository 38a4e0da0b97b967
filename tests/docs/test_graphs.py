"""The page's programs run, and print what the page shows; its grammar is the parser's."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import tandem.compiler.graph

PAGE = (Path(__file__).parents[2] / "docs" / "graphs.md").read_text()
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", PAGE, re.DOTALL)


def test_the_programs() -> None:
    names: dict[str, Any] = {}
    shown = printed = ""
    for kind, block in BLOCKS[1:]:
        match kind:
            case "graph":
                names["text"] = block
            case "python":
                output = io.StringIO()
                with contextlib.redirect_stdout(output):
                    exec(block, names)
                printed += output.getvalue()
            case _:
                shown += block
    assert printed == shown


def test_the_grammar() -> None:
    """The page's grammar is the module's, without what the page leaves out."""
    grammar = tandem.compiler.graph.__doc__ or ""
    rules = {line.split("=")[0].strip() for line in grammar.splitlines() if " = " in line}
    own = {line.split("=")[0].strip() for line in BLOCKS[0][1].splitlines() if " = " in line}
    assert own <= rules
    assert rules - own == {"constant", "attribute", "tensor", "part"}
