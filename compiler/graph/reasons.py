"""Reasons why the host computes operators, and not another target."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """Why the host computes an operator.

    Attributes
    ----------
    operator
        The operator's name; empty for one that the compiler inserted.
    text
        The limit that the operator hits, and what would help; without a semicolon.
    """

    operator: str
    text: str


def describe(reasons: Iterable[Reason]) -> str | None:
    """The reasons as one text, operators of equal reasons together; None without reasons.

    ::

        layout for the accelerator; reshape, transpose: elements change their places
    """
    operators: dict[str, dict[str, None]] = {}
    for reason in reasons:
        names = operators.setdefault(reason.text, {})
        if reason.operator:
            names[reason.operator] = None
    parts = (": ".join(filter(None, (", ".join(names), text))) for text, names in operators.items())
    return "; ".join(parts) or None
