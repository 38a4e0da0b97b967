"""Numbers of AMBA AXI4 that the accelerator, its simulators and its tests have in common."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["INCR", "Response"]

INCR = 0b01
"""AxBURST of a burst with increasing addresses."""


class Response(IntEnum):
    """RRESP and BRESP."""

    OKAY = 0b00
    SLVERR = 0b10
    """The subordinate refuses the access."""
    DECERR = 0b11
    """There is no subordinate at the address."""
