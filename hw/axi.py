"""AMBA AXI4 encodings that the accelerator, its simulators and its tests share."""

from __future__ import annotations

from enum import IntEnum

INCR = 0b01
"""Value of AxBURST for an incrementing burst."""


ID_BITS = 2
"""Width of the IDs, which say in which epoch a burst was issued (`hw.rtl.bus`)."""


class Response(IntEnum):
    """Values of RRESP and BRESP."""

    OKAY = 0b00
    SLVERR = 0b10
    """The subordinate refuses the access."""
    DECERR = 0b11
    """There is no subordinate at the address."""
