"""Area, clock and resources of machines, without synthesis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hw.area.estimate import area_model
from hw.config import HardwareConfig
from hw.synthesis.estimate import resource_model
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
        `given` or `route`.
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
        The clock of every machine.
    """

    limits: Limits
    mhz: float = DEFAULT_MHZ

    def estimate(self, config: HardwareConfig) -> Estimate:
        """What is known of a machine without synthesis."""
        return Estimate(
            area=area_model().total(config),
            area_source="model",
            mhz=self.mhz,
            clock_source="given",
            resources=self._resources(config),
        )

    def allowed(self, config: HardwareConfig) -> bool:
        """Whether a machine is within the limits, by its estimates."""
        area, device = self.limits.area, self.limits.device
        if area is not None and area_model().total(config) > area:
            return False
        resources = self._resources(config)
        return resources is None or all(
            resources[unit] <= getattr(device, unit) for unit in ("lut", "dsp", "bram")
        )

    def _resources(self, config: HardwareConfig) -> Mapping[str, int] | None:
        device = self.limits.device
        return None if device is None else resource_model(device.family).resources(config)
