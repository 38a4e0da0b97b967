"""The source that something depends on: modules with all that they import, and a digest of them.

What code has made is kept as long as that code is the same. Which code that is follows from the
source itself: imports are read, wherever they stand in a file, and nothing is executed. A package's
own file counts where names are imported from it. It also runs when a module in it is imported; but
nothing happens on import, so that this makes no difference.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from tandem.base.cache import content_key

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""The fields of statements that hold statements."""


@cache
def source_digest(*modules: str, within: tuple[str, ...], without: tuple[str, ...] = ()) -> str:
    """A digest of modules and of what they import; arguments and errors as of `source_modules`."""
    found = source_modules(*modules, within=within, without=without)
    return content_key(*(part for module in found for part in (module, _text(module))))


def source_modules(
    *modules: str, within: tuple[str, ...], without: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Modules with all that they import, directly or not, sorted.

    Parameters
    ----------
    modules
        Full names, as `hw.rtl.verilog`.
    within
        Packages and modules: only what is in one of them counts, and is looked into.
    without
        Packages and modules that do not count even so.

    Raises
    ------
    ModuleNotFoundError
        There is no such module.
    """
    found: set[str] = set()
    pending = [*modules]
    while pending:
        module = pending.pop()
        if module in found or not _is_in(module, within) or _is_in(module, without):
            continue
        found.add(module)
        for source, name in _imports(module):
            inside = f"{source}.{name}"
            is_module = _is_in(inside, within) and _file(inside) is not None
            pending.append(inside if is_module else source)
    return tuple(sorted(found))


def _is_in(module: str, packages: tuple[str, ...]) -> bool:
    return any(f"{module}.".startswith(f"{package}.") for package in packages)


@cache
def _imports(module: str) -> frozenset[tuple[str, str]]:
    """What a module imports: modules, with "", and names from packages and modules."""
    found: set[tuple[str, str]] = set()
    for node in _statements(ast.parse(_text(module))):
        match node:
            case ast.Import(names=names):
                found.update((alias.name, "") for alias in names)
            case ast.ImportFrom(module=str(source), level=0, names=names):
                found.update((source, alias.name) for alias in names)
            case ast.ImportFrom(lineno=line):
                raise ValueError(f"{module}:{line}: imports are absolute")
    return frozenset(found)


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements of a file, those inside others too."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        yield node
        for block in _BLOCKS:
            pending += getattr(node, block, ())


def _text(module: str) -> str:
    file = _file(module)
    if file is None:
        raise ModuleNotFoundError(f"there is no source of {module}", name=module)
    return file.read_text("utf-8")


@cache
def _file(module: str) -> Traversable | None:
    """The file of a module or of a package; None if there is none."""
    package, *names = module.split(".")
    places = [(*names, "__init__.py")]
    if names:
        places.append((*names[:-1], f"{names[-1]}.py"))
    for place in places:
        if (file := files(package).joinpath(*place)).is_file():
            return file
    return None
