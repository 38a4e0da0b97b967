"""The clock with which a run's cycles are converted to time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tandem.hw.config import HardwareConfig
from tandem.workbench.errors import ClockError

DEFAULT_SEEDS = 3
"""How often a machine is placed and routed unless someone says otherwise."""


@dataclass(frozen=True, slots=True)
class Clock:
    """A clock in MHz, and where it comes from: `as given`, or `measured: ` and how.

    Raises
    ------
    ClockError
        If `mhz` is not a finite number above 0.
    """

    mhz: float
    source: str

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mhz) and self.mhz > 0):
            raise ClockError(f"a clock of {self.mhz} MHz: it must be a finite number above 0")

    def milliseconds(self, cycles: int) -> float:
        """The time of `cycles` cycles."""
        return cycles / self.mhz / 1000

    def __str__(self) -> str:
        return f"{self.mhz:.10g} MHz, {self.source}"


def measured_clock(config: HardwareConfig, seeds: int = DEFAULT_SEEDS) -> Clock | None:
    """The clock that place and route found earlier with some seeds from 1 on, by the cache.

    None if the cache does not have it. Takes some seconds if the Verilog is not in the cache.
    """
    # Imported here, because Amaranth is large, and only reports need it.
    from tandem.hw.synthesis.place import cached_timing
    from tandem.sim.rtl.design import verilog_of

    timing = cached_timing(verilog_of(config), seeds=range(1, seeds + 1))
    if timing is None:
        return None
    return Clock(
        # As `tandem rtl --timing` prints it.
        round(timing.median.mhz, 1),
        f"measured: ECP5 {timing.device.value}, speed {timing.speed}, "
        f"median of {len(timing.routes)} seeds",
    )
