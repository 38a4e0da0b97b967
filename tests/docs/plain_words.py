"""A lint for the words of `docs/glossary.md`: `python -m tests.docs.plain_words [PATH ...]`.

Two rules. A name says what it stands for, so that `each` names nothing beyond a comprehension of
one line. And a thing has the field's word: the project's former words are refused in names,
docstrings, comments and documents.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

_SUFFIXES = (".py", ".md", ".ipynb", ".cpp", ".hpp", ".h", ".toml", ".lark")
# Exempt files: this file and its test, the record of changes, and third-party files.
_EXEMPT = ("tests/docs/plain_words.py", "tests/docs/test_words.py", "docs/glossary.md")
_HISTORY = ("CHANGELOG.md", "tests/golden/vectors")

_NAMES = {
    "turn": "iteration",
    "turns": "iterations",
    "room": "package, module",
    "rooms": "packages, modules",
    "Rooms": "Packages",
    "deal": "dispatch",
    "deals": "dispatches",
    "dealt": "dispatched",
    "LiftStarts": "HoistReductionInit",
    "ShareAccumulators": "InPlaceAccumulators",
    "Ask": "TypeQuery",
    "Findings": "AnalysisCache",
    "Told": "RunReport",
    "Doubt": "Unknown",
    "Gap": "Unchecked",
    "Resident": "PlacedCommand",
    "Hole": "Knob",
    "BeatCutter": "ElementLocator",
    "PATIENCE": "DEADLOCK_CYCLES",
    "open_orders": "outstanding_writes",
    "too_far": "shift_out_of_range",
    "complain": "describe",
    "complaint": "diagnostic",
    "complaints": "diagnostics",
    "admission": "preflight",
    "ModuleWait": "UnitWait",
    "ModuleCycles": "UnitCycles",
}
_PARTS = {
    "class Known": "ValueForms",
    "class Small": "Int8Value",
    "class Sums": "PendingAccumulator",
    "class Given": "RunInputs",
    "hw.memories": "tandem.hw.topology",
    "hw/memories": "hw/topology",
    "sim.timing": "tandem.hw.memory_model",
    "sim/timing": "hw/memory_model",
    "compiler.build": "tandem.compiler.driver",
    "compiler/build": "compiler/driver",
    "scripts.demo": "tandem.scripts.matmul_demo",
    "scripts/demo": "scripts/matmul_demo",
}
_NAME = re.compile(r"[A-Za-z_]\w*")


def findings(paths: list[Path]) -> Iterator[str]:
    """Violations of the rules in the files, as `file:line: message`."""
    for path in paths:
        text = path.read_text()
        for number, line in enumerate(text.splitlines(), 1):
            names = _NAMES.keys() & set(_NAME.findall(line.replace("in turn", "")))
            found = [(name, _NAMES[name]) for name in sorted(names)]
            found += [(part, better) for part, better in _PARTS.items() if _has(line, part)]
            yield from (f"{path}:{number}: {name} is called {better}" for name, better in found)
        if path.suffix == ".py" and "each" in text:
            yield from (f"{path}:{line}: `each` is the name of something" for line in _each(text))


def _has(line: str, part: str) -> bool:
    """Whether a line has a text whose last word does not go on."""
    return part in line and re.search(rf"{re.escape(part)}(?!\w)", line) is not None


def _each(text: str) -> Iterator[int]:
    """Lines that bind the name `each` outside of one-line comprehensions."""
    named = [number for number, line in enumerate(text.splitlines(), 1) if "each" in line]
    left: list[tuple[ast.AST, bool]] = [(ast.parse(text), False)]
    while left:
        node, in_one_line = left.pop()
        if isinstance(node, ast.stmt) and not _is_within(named, node):
            continue
        match node:
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                in_one_line |= node.lineno == node.end_lineno
            case ast.Name(id="each", ctx=ast.Store()) if not in_one_line:
                yield node.lineno
            case ast.arg(arg="each") | ast.keyword(arg="each"):
                yield node.lineno
            case ast.FunctionDef(name="each") | ast.ClassDef(name="each"):
                yield node.lineno
        left += ((child, in_one_line) for child in reversed([*ast.iter_child_nodes(node)]))


def _is_within(lines: list[int], node: ast.stmt) -> bool:
    """Whether one of the lines, which ascend, is one of a statement's, its decorators included."""
    first = min(each.lineno for each in (node, *getattr(node, "decorator_list", ())))
    at = bisect_left(lines, first)
    return at < len(lines) and lines[at] <= (node.end_lineno or 0)


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
