"""The clock of a run: named by the user, or measured earlier by place and route."""

from __future__ import annotations

import math

import typer

from hw.config import HardwareConfig
from scripts.run.page import Clock


def parse_clock(text: str) -> float:
    """A clock in MHz: a finite number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise typer.BadParameter(f"{text!r} is no clock in MHz: a number above 0, such as 125")
    return value


def named_clock(mhz: float) -> Clock:
    """The clock that the user names with `--clock`."""
    return Clock(mhz, "as given")


def measured_clock(config: HardwareConfig) -> Clock | None:
    """The clock that `tandem rtl --timing` found with its defaults, by the cache.

    None if the cache does not have it. Takes some seconds if the Verilog is not in the cache.
    """
    # Imported here, because Amaranth is large, and only reports need it.
    from hw.synthesis.place import cached_timing
    from scripts.timing import DEFAULT_SEEDS
    from sim.rtl.design import verilog_of

    timing = cached_timing(verilog_of(config), seeds=range(1, DEFAULT_SEEDS + 1))
    if timing is None:
        return None
    return Clock(
        # As `tandem rtl --timing` prints it.
        round(timing.median.mhz, 1),
        f"measured: ECP5 {timing.device.value}, speed {timing.speed}, "
        f"median of {len(timing.routes)} seeds",
    )
