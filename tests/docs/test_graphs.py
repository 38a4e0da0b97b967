"""The pages' programs run, and print what the pages show; the grammar is the parser's."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

import tandem.compiler.graph

DOCS = Path(__file__).parents[2] / "docs"


def blocks_of(page: str) -> list[tuple[str, str]]:
    """The languages and texts of a page's blocks."""
    return re.findall(r"```(\w*)\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


BLOCKS = blocks_of("graphs.md")


@pytest.mark.parametrize("blocks", [BLOCKS[1:], blocks_of("gradients.md")[:-1]])
def test_the_programs(blocks: list[tuple[str, str]]) -> None:
    """The first page begins with its grammar, the second ends with a part of a program."""
    names: dict[str, Any] = {}
    shown = printed = ""
    for kind, block in blocks:
        match kind:
            case "graph":
                names["text"] = block
            case "python":
                output = io.StringIO()
                with contextlib.redirect_stdout(output):
                    exec(block, names)
                printed += output.getvalue()
            case "text":
                continue  # a part of a program
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
