"""Area, clock and resources of machines, without synthesis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hw.area.estimate import area_model
from hw.config import HardwareConfig
from scripts.search.space import Limits

UNITS = ("lut", "ff", "dsp", "bram")
"""The resources of FPGAs that machines are compared by."""
DEFAULT_MHZ = 100.0
"""The clock that machines are assumed to have, unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is known of a machine's silicon.

    Attributes
    ----------
    area
        In NAND2 equivalents.
    area_source
        `model` or `synthesis`.
    clock_source
        `given`, `model` or `route`.
    resources
        Of the space's device; None without a device.
    """

    area: float
    area_source: str
    mhz: float
    clock_source: str
    resources: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Estimator:
    """Estimates machines.

    Attributes
    ----------
    mhz
        The clock of every machine; None to estimate it.
    """

    limits: Limits
    mhz: float | None = None

    def estimate(self, config: HardwareConfig) -> Estimate:
        """What is known of a machine without synthesis."""
        return Estimate(area_model().total(config), "model", self.mhz or DEFAULT_MHZ, "given")

    def allowed(self, config: HardwareConfig) -> bool:
        """Whether a machine is within the limits, by its estimates."""
        return self.limits.area is None or area_model().total(config) <= self.limits.area
