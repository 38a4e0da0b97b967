"""What a pass is."""

from __future__ import annotations

from typing import Protocol

from compiler.graph.nodes import Function

__all__ = ["Pass"]


class Pass(Protocol):
    """A frozen value: options as fields. A legal function in, a legal function out, which takes and
    gives the same."""

    @property
    def name(self) -> str:
        """As it is written on a command line."""

    def apply(self, function: Function) -> Function:
        """The function, changed."""
