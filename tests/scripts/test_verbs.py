"""Modules of `scripts` are options, tables or pages; what a program would want is a floor below."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.packages import FOLDERS, module_name, source_files

ROOT = Path(__file__).parents[2]
SHOWING = {"altair", "argparse", "jinja2", "rich", "typer", "vl_convert"}
"""Libraries that ask people for something, or show them something."""
TEXTS = {
    "tandem.scripts.errors": "what options refuse",
    "tandem.scripts.completion": "what shells offer",
    "tandem.scripts.calibration": "the text of a warning",
    "tandem.scripts.run.outputs": "the file of --output",
    "tandem.scripts.search.export": "what --export refuses",
    "tandem.scripts.command_line": "what made a page",
    "tandem.scripts.matmul": "the program by hand that `make matmul` shows",
    "tandem.scripts.matmul_layout": "its tiles",
    "tandem.scripts.option_groups": "options that several verbs have",
}
"""Modules that import none of these, and what they are for people nevertheless."""


def imports(path: Path) -> Iterator[str]:
    """The modules that a file imports; of `from a import b` both `a` and `a.b`."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield module
                yield from (f"{module}.{alias.name}" for alias in names)


def modules(root: Path) -> dict[str, frozenset[str]]:
    """What the modules of `scripts` import, without benches and packages' empty files."""
    found = {}
    for path in source_files(root, "scripts"):
        if path.parts[1] != "bench" and path.stem != "__init__":
            found[module_name(path)] = frozenset(imports(root / path))
    return found


def silent(found: Mapping[str, frozenset[str]]) -> set[str]:
    """Modules that neither ask nor show, themselves or by other modules of `scripts`, and make no
    page."""
    heard = {
        name
        for name, imported in found.items()
        if SHOWING & {other.partition(".")[0] for other in imported}
        or any("pages" in other.split(".") for other in (name, *imported))
    }
    while more := {name for name, imported in found.items() if imported & heard} - heard:
        heard |= more
    return {*found} - heard


def test_every_module_asks_or_shows() -> None:
    assert silent(modules(ROOT)) == {*TEXTS}


@pytest.mark.parametrize(
    ("text", "is_silent"),
    [
        (
            "from tandem.workbench.devices import Cpu\n"
            "from tandem.scripts.errors import CommandError\n",
            True,
        ),
        ("from rich.table import Table\n", False),
        ("from tandem.scripts.shown import show\n", False),
    ],
)
def test_code_of_a_library_is_found(tmp_path: Path, text: str, is_silent: bool) -> None:
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "errors.py").write_text("class CommandError(Exception): ...\n")
    (folder / "shown.py").write_text("def show():\n    import typer\n")
    (folder / "new.py").write_text(text)
    assert ("tandem.scripts.new" in silent(modules(tmp_path))) is is_silent


def test_nobody_below_imports_a_verb() -> None:
    """`lint-imports` says so of all floors, and of what verbs may import."""
    for folder in {*FOLDERS} - {"scripts"}:
        for path in source_files(ROOT, folder):
            names = imports(ROOT / path)
            assert not any(f"{name}.".startswith("tandem.scripts.") for name in names), path
