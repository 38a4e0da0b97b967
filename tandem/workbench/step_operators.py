"""The operators of a step in a few words."""

from __future__ import annotations

from collections.abc import Sequence

LAYOUTS = frozenset({"convert", "view", "pack_windows", "reshape", "transpose"})
"""Operators that only change layouts."""
_CONVERSIONS = frozenset({"cast", "dequantise", "identity", "quantise", "requantise"})


def short_names(operators: Sequence[str]) -> str:
    """The operator that computes most, and the number of the others, such as `hard_swish +4`.

    It is the first that neither moves nor converts; the first of all if there is none such. Empty
    without operators.
    """
    if not operators:
        return ""
    computing = [each for each in operators if each not in LAYOUTS | _CONVERSIONS]
    named = (computing or operators)[0]
    return f"{named} +{len(operators) - 1}" if len(operators) > 1 else named
