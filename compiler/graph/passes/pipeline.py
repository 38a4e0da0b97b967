"""Passes, and the order in which they run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.evaluate import Interpreter, Runner
from tandem.compiler.graph.nodes import Function
from tandem.compiler.graph.passes.defunctionalise import Defunctionalise
from tandem.compiler.graph.passes.eliminate_common import EliminateCommon
from tandem.compiler.graph.passes.eliminate_dead import EliminateDead
from tandem.compiler.graph.passes.flatten_data import FlattenData
from tandem.compiler.graph.passes.fold_constants import FoldConstants
from tandem.compiler.graph.passes.fold_normalisation import FoldNormalisation
from tandem.compiler.graph.passes.inline import Inline
from tandem.compiler.graph.passes.unfold import Unfold
from tandem.compiler.graph.passes.unroll import Unroll
from tandem.compiler.graph.verify import verify


class GraphPass(Protocol):
    """A rewrite of a legal function to an equivalent function; a frozen dataclass of options."""

    @property
    def name(self) -> str:
        """The pass's name on a command line."""

    def apply(self, function: Function) -> Function:
        """The rewritten function."""


def simplifying_passes(run: Runner) -> tuple[GraphPass, ...]:
    """The passes that run before target-specific passes; `run` computes constants."""
    return (
        EliminateDead(),
        Unfold(Interpreter()),
        # What held functions that are called directly now.
        EliminateDead(),
        Defunctionalise(),
        FlattenData(),
        Inline(),
        Unroll(Interpreter()),
        EliminateCommon(),
        FoldConstants(run),
        FoldNormalisation(),
        EliminateDead(),
    )


def transform(function: Function, passes: Sequence[GraphPass]) -> Function:
    """The function after all `passes`, verified before the first pass and after every pass.

    Raises
    ------
    GraphError
        A function is not legal; the message names the pass that returned it.
    """
    verify(function)
    for work in passes:
        before, function = function, work.apply(function)
        function.reuse_analyses(before)
        try:
            verify(function)
        except GraphError as error:
            raise GraphError(f"after {work.name}: {error}") from error
    return function
