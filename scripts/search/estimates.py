"""Area, clock and resources of machines, without synthesis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hw.area.estimate import area_model
from hw.config import HardwareConfig
from hw.synthesis.clock import clock_model
from hw.synthesis.estimate import resource_model
from hw.synthesis.families import Family
from scripts.search.space import Limits

UNITS = ("lut", "ff", "dsp", "bram")
"""The resources of FPGAs that machines are compared by."""
ASSUMED_MHZ = 100.0
"""The clock of machines of which neither the user nor a model says one."""
GIVEN, MODEL, ASSUMED = "given", "model", "assumed"
"""The sources of what is known without the tools."""


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
        `given` by the user, of a `model`, `assumed`, or of a `route`.
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
        The clock of every machine; None for that of the model, which only ECP5 has: the clock of
        machines for other devices, or for none, is assumed.
    """

    limits: Limits
    mhz: float | None = None

    def estimate(self, config: HardwareConfig) -> Estimate:
        """What is known of a machine without synthesis."""
        mhz, source = self._clock(config)
        return Estimate(
            area=area_model().total(config),
            area_source=MODEL,
            mhz=mhz,
            clock_source=source,
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

    def _clock(self, config: HardwareConfig) -> tuple[float, str]:
        """The clock of a machine in MHz, and its source."""
        if self.mhz is not None:
            return self.mhz, GIVEN
        device = self.limits.device
        if device is not None and device.family is Family.ECP5:
            return round(clock_model().mhz(config), 1), MODEL
        return ASSUMED_MHZ, ASSUMED

    def _resources(self, config: HardwareConfig) -> Mapping[str, int] | None:
        device = self.limits.device
        return None if device is None else resource_model(device.family).resources(config)
