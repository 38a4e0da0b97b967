"""The quantisation rule of an operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from tandem.compiler.graph.nodes import Atom, Call

R = TypeVar("R")
"""The type of the rewriter."""


def _all_operands(call: Call) -> tuple[Atom, ...]:
    return call.args


def never(_: Call) -> bool:
    """False, for all calls."""
    return False


def always(_: Call) -> bool:
    """True, for all calls."""
    return True


@dataclass(frozen=True, slots=True)
class Rule(Generic[R]):
    """The quantisation rule of an operator.

    Attributes
    ----------
    rewrite
        Takes the rewriter, the result's name and the call; emits integer operators and sets the
        result's form. Returns False if it did nothing: the call then stays in real numbers
        (`Rewriter.refuse` records why).
    int8_operands
        The operands of a call that `rewrite` takes as int8; () if `rewrite` does nothing.
    on_demand
        Whether operands are wanted as int8 only if the result is.
    always_int8
        Whether a call's accumulator becomes int8 also where its users take real numbers.
    extends
        Whether a pending accumulator as operand makes the result a pending accumulator.
    """

    rewrite: Callable[[R, str, Call], bool]
    int8_operands: Callable[[Call], tuple[Atom, ...]] = _all_operands
    on_demand: bool = False
    always_int8: Callable[[Call], bool] = never
    extends: bool = False
