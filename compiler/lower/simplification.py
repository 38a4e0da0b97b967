"""The simplifier as a pass."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.ir.simplify import simplify_function
from compiler.ir.stmt import Function

__all__ = ["Simplify"]


@dataclass(frozen=True, slots=True)
class Simplify:
    """Every expression in normal form; conditions that always hold, or never do, are gone."""

    name: str = "simplify"

    def apply(self, function: Function) -> Function:
        """The simplified program."""
        return simplify_function(function)
