"""Types of what compiled functions return, as their annotations say."""

from __future__ import annotations

import ast
from types import FunctionType

from tandem.base.jit.types import BOOL, FLOAT, INT, NONE, Record, Type

_NAMED = {"int": INT, "bool": BOOL, "float": FLOAT}


def declared(function: FunctionType) -> Type | None:
    """The type of what a function returns, as its annotation says; None if that is no number, no
    tuple of numbers, and not None."""
    annotation = function.__annotations__.get("return", "Any")
    if not isinstance(annotation, str):
        annotation = getattr(annotation, "__name__", str(annotation))
    return _annotated(ast.parse(annotation, mode="eval").body)


def _annotated(node: ast.expr) -> Type | None:
    match node:
        case ast.Constant(value=None):
            return NONE
        case ast.Name(id=name) if name in _NAMED:
            return _NAMED[name]
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=items)):
            fields = [kind for item in items if (kind := _annotated(item)) is not None]
            return Record(tuple(fields)) if len(fields) == len(items) else None
    return None
