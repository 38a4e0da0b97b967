"""Area, clock and resources of machines, without synthesis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from tandem.compiler.search.learned import NOTHING, Learned
from tandem.compiler.search.space import Limits
from tandem.hw.area.estimate import AreaModel
from tandem.hw.area.estimate import samples as area_samples
from tandem.hw.config import HardwareConfig
from tandem.hw.synthesis.clock import ClockModel
from tandem.hw.synthesis.clock import samples as clock_samples
from tandem.hw.synthesis.estimate import ResourceModel, modelled
from tandem.hw.synthesis.estimate import samples as resource_samples
from tandem.hw.synthesis.families import Family

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
    learned
        What the models learned from beside the samples that come with Tandem.
    """

    limits: Limits
    mhz: float | None = None
    learned: Learned = NOTHING

    def estimate(self, config: HardwareConfig) -> Estimate:
        """What is known of a machine without synthesis."""
        mhz, source = self._clock(config)
        return Estimate(
            area=_area_model(self.learned).total(config),
            area_source=MODEL,
            mhz=mhz,
            clock_source=source,
            resources=self._resources(config),
        )

    def allowed(self, config: HardwareConfig) -> bool:
        """Whether a machine is within the limits, by its estimates."""
        area, device = self.limits.area, self.limits.device
        if area is not None and _area_model(self.learned).total(config) > area:
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
            return round(_clock_model(self.learned).mhz(config), 1), MODEL
        return ASSUMED_MHZ, ASSUMED

    def _resources(self, config: HardwareConfig) -> Mapping[str, int] | None:
        device = self.limits.device
        if device is None:
            return None
        return _resource_model(device.family, self.learned).resources(config)


@cache
def _area_model(learned: Learned) -> AreaModel:
    return AreaModel((*area_samples(), *learned.areas))


@cache
def _resource_model(family: Family, learned: Learned) -> ResourceModel:
    return ResourceModel(modelled(family), (*resource_samples(), *learned.resources))


@cache
def _clock_model(learned: Learned) -> ClockModel:
    return ClockModel((*clock_samples(), *learned.clocks))
