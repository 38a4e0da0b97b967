"""What the code of a notebook takes from Tandem, looked up without running the code."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from typing import Any

PACKAGE = "tandem"
_MISSING = object()


def unknown(notebook: Any) -> list[str]:
    """What the code cells of a notebook name and Tandem has not, in their order: modules, names,
    and arguments of calls; and cells that are no Python."""
    known: dict[str, object] = {}
    found: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        try:
            tree = ast.parse(cell.source)
        except SyntaxError:
            found.append(cell.source)
            continue
        found += _unknown(tree, known)
    return found


def _unknown(tree: ast.Module, known: dict[str, object]) -> Iterator[str]:
    """Of one cell; `known` has what cells have imported, by the name that they call it."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from _import(node, known)
            case ast.ImportFrom(module=str(module)) if _own(module):
                yield from _import_from(module, node, known)
    chains = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    yield from (name for name in map(lambda it: _attribute(it, known), chains) if name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _arguments(node, known)


def _own(module: str) -> bool:
    return module.partition(".")[0] == PACKAGE


def _import(node: ast.Import, known: dict[str, object]) -> Iterator[str]:
    for alias in node.names:
        if not _own(alias.name):
            continue
        try:
            module = import_module(alias.name)
        except ImportError:
            yield alias.name
            continue
        known[alias.asname or PACKAGE] = module if alias.asname else import_module(PACKAGE)


def _import_from(module: str, node: ast.ImportFrom, known: dict[str, object]) -> Iterator[str]:
    try:
        package = import_module(module)
    except ImportError:
        yield module
        return
    for alias in node.names:
        value = getattr(package, alias.name, _MISSING)
        if value is _MISSING:
            yield f"{module}.{alias.name}"
        else:
            known[alias.asname or alias.name] = value


def _value(node: ast.expr, known: dict[str, object]) -> object:
    """What a dotted name from an import is; missing for all else, such as values of a run."""
    match node:
        case ast.Name(id=name):
            return known.get(name, _MISSING)
        case ast.Attribute(value=inner, attr=name):
            return getattr(_value(inner, known), name, _MISSING)
    return _MISSING


def _attribute(node: ast.Attribute, known: dict[str, object]) -> str:
    """The name of an attribute that is not there, of something that is; else nothing."""
    owner = _value(node.value, known)
    if owner is _MISSING or hasattr(owner, node.attr):
        return ""
    return f"{_name_of(owner)}.{node.attr}"


def _arguments(node: ast.Call, known: dict[str, object]) -> Iterator[str]:
    """Named arguments that a function or class does not take."""
    called = _value(node.func, known)
    if not callable(called):
        return
    taken = inspect.signature(called).parameters
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in taken.values()):
        return
    for keyword in node.keywords:
        if keyword.arg is not None and keyword.arg not in taken:
            yield f"{PACKAGE}.{_name_of(called)}({keyword.arg}=)"


def _name_of(value: object) -> str:
    return str(getattr(value, "__name__", value))
