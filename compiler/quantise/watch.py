"""A function that gives values from its middle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.graph.names import fresh
from compiler.graph.nodes import Body, Function, Let, Tuple, Var
from compiler.graph.passes import EliminateDead, Fuse, transform

__all__ = ["with_results"]


def with_results(function: Function, names: Sequence[str]) -> Function:
    """The function with a tuple of these values for a result, made of kernels."""
    taken = {each.name for each in function.params} | {each.name for each in function.body.lets}
    result = fresh("watched", taken)
    values = Let(result, Tuple(tuple(map(Var, names))))
    body = Body((*function.body.lets, values), Var(result))
    watched = replace(function, body=body, result=None)
    watched.follows(function)
    return transform(watched, (EliminateDead(), Fuse()))
