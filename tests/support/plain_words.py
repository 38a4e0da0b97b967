"""A lint for the words of `docs/glossary.md`: `python -m tests.support.plain_words [PATH ...]`.

Two rules. A name says what it stands for, so that `each` names nothing beyond a comprehension of
one line. And a thing has the word that the field has for it: what this house once called otherwise
stays out, in names, docstrings, comments and documents.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

__all__ = ["findings", "tracked"]

_SUFFIXES = (".py", ".md", ".cpp", ".hpp", ".h", ".toml", ".lark")
# What has to name them: this file and its test, the record of changes, and other people's files.
_EXEMPT = ("tests/support/plain_words.py", "tests/docs/test_words.py", "docs/glossary.md")
_HISTORY = ("CHANGELOG.md", "tests/golden/vectors")

_BETTER = {
    r"(?<!\bin )\bturns?\b": "iteration",
    r"\b(?:LiftStarts|lift_starts)\b": "HoistReductionInit",
    r"\b(?:ShareAccumulators)\b": "InPlaceAccumulators",
    r"\bAsk\b": "TypeQuery",
    r"\bFindings\b": "AnalysisCache",
    r"\bTold\b|\btold\.py\b": "RunReport",
    r"\bGiven\b(?= *[(\]:,|)])": "RunInputs",
    r"\b(?:Doubt|Gap)\b": "Unknown, Unchecked",
    r"\b(?:Resident|TokenedSlot)\b": "PlacedCommand",
    r"\bValuesKnown\b|\bclass Known\b": "ValueForms",
    r"\bclass Small\b": "Int8Value",
    r"\bclass Sums\b": "PendingAccumulator",
    r"\bBeatCutter\b|\bbeat_cutter\b": "BeatUnpacker",
    r"\bPATIENCE\b": "DEADLOCK_CYCLES",
    r"\bopen_orders\b": "outstanding_writes",
    r"\b(?:complain|complaints?)\b": "describe, diagnostics",
    r"\badmission\b": "preflight",
    r"\bshare\.py\b": "in_place_accumulators.py",
    r"\btoo_far\b": "shift_out_of_range",
    r"\bhw[./]memories\b": "hw/topology.py",
    r"\bsim[./]timing\b": "hw/memory_model.py",
    r"\bcompiler[./]build\b": "compiler/driver",
    r"\bscripts[./]demo\b": "scripts/matmul_demo.py",
    r"\bHole\b": "Knob",
    r"\b[Rr]ooms?\b": "package, module",
    r"\bdealt\b": "dispatched",
}
_RULE = re.compile("|".join(f"(?P<_{i}>{pattern})" for i, pattern in enumerate(_BETTER)))
_WORDS = tuple(_BETTER.values())


def findings(paths: list[Path]) -> Iterator[str]:
    """What breaks the rules in these files, as `file:line: what`."""
    for path in paths:
        text = path.read_text()
        for number, line in enumerate(text.splitlines(), 1):
            if found := _RULE.search(line):
                better = _WORDS[int((found.lastgroup or "")[1:])]
                yield f"{path}:{number}: {found[0]!r} is called {better}"
        if path.suffix == ".py" and "each" in text:
            yield from (f"{path}:{line}: `each` is the name of something" for line in _each(text))


def _each(text: str) -> Iterator[int]:
    """Lines that give something the name `each`, but for comprehensions of one line."""
    allowed = set()
    for node in ast.walk(tree := ast.parse(text)):
        match node:
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                if node.lineno == node.end_lineno:
                    allowed |= {id(name) for name in ast.walk(node)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id="each", ctx=ast.Store()) if id(node) not in allowed:
                yield node.lineno
            case ast.arg(arg="each") | ast.keyword(arg="each"):
                yield node.lineno
            case ast.FunctionDef(name="each") | ast.ClassDef(name="each"):
                yield node.lineno


def tracked(within: list[str]) -> list[Path]:
    command = ["git", "ls-files", "--", *within]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [
        Path(name)
        for name in names
        if name.endswith(_SUFFIXES) and not name.startswith((*_EXEMPT, *_HISTORY))
    ]


def main() -> int:
    """Print the findings; 1 if there are any."""
    found = list(findings(tracked(sys.argv[1:])))
    print(*found, sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
