"""How a tensor intrinsic's parameters stand for the operands of an `Invoke`."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.buffer import Buffer
from compiler.ir.stmt import Function

__all__ = ["kept_axes", "parameters"]


def parameters(intrinsic: Function) -> tuple[Buffer, ...]:
    """What the operands stand for, in order: inputs, then outputs; one that is both comes once."""
    return tuple(dict.fromkeys((*intrinsic.inputs, *intrinsic.outputs)))


def kept_axes(operand: Sequence[int], parameter: Sequence[int]) -> tuple[int, ...] | None:
    """The operand's axes that are the parameter's, where all others have an extent of 1.

    None where the shapes do not fit.
    """
    kept: list[int] = []
    for axis, extent in enumerate(operand):
        if len(kept) < len(parameter) and extent == parameter[len(kept)]:
            kept.append(axis)
        elif extent != 1:
            return None
    return tuple(kept) if len(kept) == len(parameter) else None
