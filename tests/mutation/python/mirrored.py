"""Which tests are about a source file: those that mirror it, and those of what imports it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tests.support.packages import FOLDERS, module_name, source_files

_NET = "/test_recorded_"
"""What the paths of tests of recorded digests have in them."""


@dataclass(frozen=True, slots=True)
class TestsOf:
    """The test files of a source file, by their distance.

    Attributes
    ----------
    mirror
        `tests/X/test_Y.py` for `X/Y.py`; with `test_Y_*.py` beside it.
    near
        Tests that import the file, and the mirrors of source files that import it; of a file that
        has neither, the tests of the nearest folder around it that has some.
    nets
        Tests of recorded digests of many cases that import the file, however indirectly, from those
        on that it is the fewest imports away from.
    folders
        The folders of tests around the mirror, from the nearest to the one that has all tests.
    """

    __test__ = False

    mirror: tuple[str, ...]
    near: tuple[str, ...]
    nets: tuple[str, ...]
    folders: tuple[str, ...]


class Mirrors:
    """The tests of every source file of a tree."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._sources = {
            module_name(path): path for folder in FOLDERS for path in source_files(root, folder)
        }
        tests = [path for path in source_files(root, "tests") if path.name.startswith("test_")]
        self._tests = frozenset(map(str, tests))
        self._importers = _importers(root, self._sources)
        self._importing_tests = _importers(root, {str(path): path for path in tests})

    def of(self, path: str) -> TestsOf:
        """The tests of a source file, without those that are not there."""
        mirror = self._mirror(PurePosixPath(path))
        module = module_name(PurePosixPath(path))
        near = set(self._importing_tests.get(module, ()))
        for importer in self._importers.get(module, ()):
            near.update(self._mirror(self._sources[importer]))
        around = (str("tests" / folder) for folder in PurePosixPath(path).parents)
        folders = tuple(each for each in around if (self._root / each).is_dir())
        near -= {*mirror}
        if not mirror and not near:
            near = next(filter(None, map(self._tests_in, folders)), near)
        nets = (each for each in self._nets(module) if each not in near)
        return TestsOf(mirror, tuple(sorted(near)), tuple(nets), folders)

    def _tests_in(self, folder: str) -> set[str]:
        return {test for test in self._tests if _is_in(test, PurePosixPath(folder))}

    def _nets(self, module: str) -> Iterator[str]:
        """The tests of recorded digests that reach a module, the nearest first."""
        seen, modules = {module}, [module]
        while modules:
            found = {test for name in modules for test in self._importing_tests.get(name, ())}
            yield from sorted(test for test in found - seen if _NET in test)
            importers = {name for each in modules for name in self._importers.get(each, ())}
            modules = sorted(importers - seen)
            seen |= found | importers

    def _mirror(self, path: PurePosixPath) -> tuple[str, ...]:
        folder = PurePosixPath("tests") / path.parent
        stem = path.parent.name if path.name == "__init__.py" else path.stem
        wanted = (str(folder / f"test_{stem}.py"), str(folder / f"test_{stem}_"))
        return tuple(
            sorted(
                test
                for test in self._tests
                if test == wanted[0] or (test.startswith(wanted[1]) and _is_in(test, folder))
            )
        )


def _is_in(test: str, folder: PurePosixPath) -> bool:
    return PurePosixPath(test).parent == folder


def _importers(root: Path, files: Mapping[str, PurePosixPath]) -> dict[str, list[str]]:
    """For each module the names of the files that import it, or something of it."""
    found: dict[str, list[str]] = {}
    for name, path in files.items():
        for module in set(_imports((root / path).read_text())):
            found.setdefault(module, []).append(name)
    return found


def _imports(text: str) -> Iterator[str]:
    """The modules that a file imports; of `from a import b` both `a` and `a.b`."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield module
                yield from (f"{module}.{alias.name}" for alias in names)
