"""What the parser and the verifier say of damaged graphs stays what it was."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from tandem.compiler.errors import GraphError, ParseError
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse
from tandem.compiler.graph.passes import InferTypes, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.verify import verify
from tests.support.compiler.damaged_text import damaged_text

CASES = 720
GOLDEN = Path(__file__).parents[2] / "golden" / "graph"
GRAPHS = ("everything", "residual_block", "offload")


def _read(program: str) -> str:
    try:
        module = parse(program, OPERATORS)
        for function in module.functions:
            verify(function)
        last = module.functions[-1]
        return text(transform(last, [InferTypes()]))
    except (ParseError, GraphError) as error:
        return f"{type(error).__name__}: {error}"


def _without_references(program: str) -> str:
    """Those functions whose constants are all in the text."""
    functions = program.split("\n\n")
    kept = [each for each in functions if not re.search(r"\bh[0-9a-f]{32}|= @stream", each)]
    return "\n\n".join(kept)


def test_damaged_graphs(recorded: Callable[[str, Sequence[str]], None]) -> None:
    programs = [_without_references((GOLDEN / f"{name}.txt").read_text()) for name in GRAPHS]
    found = []
    for seed in range(CASES):
        rng = Random(f"damage {seed}")
        program = damaged_text(rng, programs[0] if seed % 2 else rng.choice(programs))
        found.append(f"{_read(program)}\n{program}")
    recorded("recorded/graph/damaged_graphs.txt", found)
