"""No package imports itself in a circle: neither at run time nor for types alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.packages import FOLDERS, LINKED, module_name, source_files

ROOT = Path(__file__).parents[1]
PACKAGES = ("base", "hw", "sim", "runtime", "compiler", "workbench", "scripts")

Graph = Mapping[str, frozenset[str]]
"""By module, the modules that it names in imports."""


def module_files(root: Path, package: str) -> Iterator[tuple[str, Path]]:
    """The modules of a package by their full names."""
    inside = f"{package}."
    for folder in FOLDERS:
        for path in source_files(root, folder):
            if f"{module_name(path)}.".startswith(inside):
                yield module_name(path), root / path


def imported(text: str, modules: frozenset[str]) -> frozenset[str]:
    """The modules that a text imports anywhere: at the top, in functions, under TYPE_CHECKING."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            source = node.module or ""
            found = {f"{source}.{alias.name}" for alias in node.names} & modules
            # A name that is no module is defined, or imported, by the package itself.
            names |= found if len(found) == len(node.names) else {*found, source}
    return frozenset(names & modules)


def import_graph(root: Path, packages: tuple[str, ...]) -> Graph:
    """The graph of all modules of some packages."""
    files = dict(file for package in packages for file in module_files(root, package))
    modules = frozenset(files)
    return {name: imported(path.read_text(), modules) for name, path in files.items()}


def cycles(graph: Graph) -> list[list[str]]:
    """For each group of modules that import one another, a shortest cycle through its first."""
    reached = {module: _reachable(graph, module) for module in graph}
    found: list[list[str]] = []
    seen: set[str] = set()
    for module in sorted(graph):
        if module not in seen and module in reached[module]:
            seen |= {other for other in reached[module] if module in reached[other]}
            found.append(_shortest(graph, module))
    return found


def _reachable(graph: Graph, start: str) -> set[str]:
    found: set[str] = set()
    pending = list(graph[start])
    while pending:
        if (module := pending.pop()) not in found:
            found.add(module)
            pending += graph[module]
    return found


def _shortest(graph: Graph, start: str) -> list[str]:
    paths = [[start]]
    while True:
        longer = [[*path, module] for path in paths for module in sorted(graph[path[-1]])]
        for path in longer:
            if path[-1] == start:
                return path
        ends = {path[-1]: path for path in longer}
        paths = list(ends.values())


@pytest.mark.parametrize("package", PACKAGES)
def test_no_cycle(package: str) -> None:
    found = cycles(import_graph(ROOT, (f"tandem.{package}",)))
    assert not found, "import cycles: " + "; ".join(" -> ".join(cycle) for cycle in found)


def test_no_cycle_between_packages() -> None:
    assert not cycles(import_graph(ROOT, ("tandem",)))


@pytest.mark.parametrize("folder", [*FOLDERS, "tests"])
def test_folders_are_imported_from_the_package_alone(folder: str) -> None:
    """`hw`, which a clone has as a folder, would be a second copy of `tandem.hw`."""
    for path in source_files(ROOT, folder):
        names = set(import_statements((ROOT / path).read_text()))
        assert not names & {*LINKED, "base"}, path


def import_statements(text: str) -> Iterator[str]:
    """The top-level names of what a text imports."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_a_folder_that_is_imported_is_seen() -> None:
    assert {*import_statements("import hw.isa\nfrom sim.engine import Launch")} == {"hw", "sim"}


def test_a_cycle_is_found_wherever_its_imports_stand(tmp_path: Path) -> None:
    package = tmp_path / "tandem" / "p"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("from tandem.p import b\n")
    (package / "b.py").write_text("def f():\n    from tandem.p.c import thing\n")
    (package / "c.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import tandem.p.a\nthing = 1\n"
    )
    (package / "d.py").write_text("import tandem.p.a\n")

    cycle = ["tandem.p.a", "tandem.p.b", "tandem.p.c", "tandem.p.a"]
    assert cycles(import_graph(tmp_path, ("tandem.p",))) == [cycle]
