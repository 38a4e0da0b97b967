"""Area, resources and clock of machines by the tools, instead of by models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tandem.compiler.search.estimates import UNITS, Estimate
from tandem.compiler.search.learned import AREA, CLOCK, sample_line
from tandem.hw.area.synthesis import area_parts, design_area
from tandem.hw.config import HardwareConfig
from tandem.hw.synthesis.devices import Part
from tandem.hw.synthesis.errors import DoesNotFitError
from tandem.hw.synthesis.estimate import modelled
from tandem.hw.synthesis.families import Family
from tandem.hw.synthesis.nextpnr import Device
from tandem.hw.synthesis.place import place_and_route
from tandem.hw.synthesis.resources import resource_counts
from tandem.hw.synthesis.synthesize import synthesize
from tandem.sim.rtl.design import verilog_of

SYNTHESIS, ROUTE = "synthesis", "route"
"""The sources of what the tools found."""


MODELLED_CLOCK = "LFE5U-85F"
"""The device whose clocks a model learns."""


@dataclass(frozen=True, slots=True)
class Synthesised:
    """What is known of a machine after synthesis.

    Attributes
    ----------
    samples
        The same as lines that models learn from (`compiler.search.learned`).
    """

    estimate: Estimate
    samples: tuple[str, ...]


def synthesised(
    config: HardwareConfig, estimate: Estimate, part: Part | None, show: Callable[[str], None]
) -> Synthesised:
    """What is known of a machine after synthesis: its area; for a device its resources; for an
    ECP5 its clock, if it fits.

    Raises
    ------
    SynthesisError
        A tool is not installed or failed.
    """
    design = verilog_of(config)
    show("area")
    area = design_area(design, report=show)
    found = replace(estimate, area=area.total, area_source=SYNTHESIS)
    samples = [sample_line(AREA, config, area_parts(area))]
    if part is None:
        return Synthesised(found, (*samples,))
    resources = synthesize(design, part.family, report=show)
    if modelled(part.family) is part.family:
        samples.append(sample_line(part.family.value, config, resource_counts(resources)))
    found = replace(found, resources={unit: getattr(resources, unit) for unit in UNITS})
    if part.family is not Family.ECP5:
        return Synthesised(found, (*samples,))
    device = Device(part.name.removeprefix("LFE5U-").lower().replace("f", "k"))
    try:
        timing = place_and_route(design, device, seeds=(1,), report=show)
    except DoesNotFitError:
        return Synthesised(found, (*samples,))
    mhz = timing.median.mhz
    if part.name == MODELLED_CLOCK:
        samples.append(sample_line(CLOCK, config, {"mhz": mhz}))
    return Synthesised(replace(found, mhz=mhz, clock_source=ROUTE), (*samples,))
