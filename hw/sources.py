"""Digests of the source by which Verilog and what synthesis says of it are kept.

Each takes the modules of `hw` that make it, and no more: neither other parts of `hw`, nor the files
and processes of `base`, by which nothing is said of a machine.
"""

from __future__ import annotations

from tandem.base.sources import source_digest


def verilog_digest() -> str:
    """A digest of what makes Verilog."""
    return _digest("tandem.hw.rtl.verilog")


def area_digest() -> str:
    """A digest of what makes Verilog and counts its gates."""
    return _digest("tandem.hw.area.synthesis")


def resources_digest() -> str:
    """A digest of what makes Verilog and counts the cells of an FPGA."""
    return _digest("tandem.hw.synthesis.synthesize")


def clock_digest() -> str:
    """A digest of what makes Verilog, places it and routes it."""
    return _digest("tandem.hw.synthesis.place")


def _digest(module: str) -> str:
    return source_digest(module, within=("tandem.hw",))
