"""Loads from tables with an entry for each byte."""

from __future__ import annotations

from typing import Final

from tandem.compiler.ir.dtypes import INDEX, UINT8
from tandem.compiler.ir.expr import Cast, Expr, Load

ENTRIES: Final = 1 << UINT8.bits
"""The number of bytes that there are."""


def looked_up(load: Load) -> Expr | None:
    """The byte, of type uint8, by which a load looks up one of 256 integers of 8 bits; None for
    any other load.

    Such a load is always within bounds, and a vector of them is a permutation of the table.
    """
    if load.buffer.shape != (ENTRIES,) or load.dtype.bits != UINT8.bits:
        return None
    match load.indices:
        case (Cast(operand=byte, dtype=dtype),) if dtype == INDEX and byte.dtype == UINT8:
            return byte
        case _:
            return None
