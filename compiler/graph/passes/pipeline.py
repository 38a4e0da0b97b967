"""Passes in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from compiler.errors import GraphError
from compiler.graph.evaluate import Runner
from compiler.graph.nodes import Function
from compiler.graph.passes.eliminate_common import EliminateCommon
from compiler.graph.passes.eliminate_dead import EliminateDead
from compiler.graph.passes.fold_constants import FoldConstants
from compiler.graph.passes.fold_normalisation import FoldNormalisation
from compiler.graph.verify import verify

__all__ = ["Pass", "simplifying_passes", "transform"]


class Pass(Protocol):
    """A frozen value: options as fields. A legal function in, a legal function out, which takes and
    gives the same."""

    @property
    def name(self) -> str:
        """As it is written on a command line."""

    def apply(self, function: Function) -> Function:
        """The function, changed."""


def simplifying_passes(run: Runner) -> tuple[Pass, ...]:
    """What is done before any target is asked; `run` computes constants."""
    return (
        EliminateDead(),
        EliminateCommon(),
        FoldConstants(run),
        FoldNormalisation(),
        EliminateDead(),
    )


def transform(function: Function, passes: Sequence[Pass]) -> Function:
    """The function after all `passes`, verified before the first and after each.

    Raises
    ------
    GraphError
        If a function is not legal; names the pass that made it.
    """
    verify(function)
    for each in passes:
        before, function = function, each.apply(function)
        function.follows(before)
        try:
            verify(function)
        except GraphError as error:
            raise GraphError(f"after {each.name}: {error}") from error
    return function
