"""`--synthesise`: area, resources and clock of machines by the tools, instead of by models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hw.area.synthesis import design_area
from hw.config import HardwareConfig
from hw.synthesis.devices import Part
from hw.synthesis.errors import DoesNotFitError
from hw.synthesis.families import Family
from hw.synthesis.place import Device, place_and_route
from hw.synthesis.synthesize import synthesize
from scripts.search.estimates import UNITS, Estimate
from sim.rtl.design import verilog_of

SYNTHESIS, ROUTE = "synthesis", "route"
"""The sources of what the tools found."""


def synthesised(
    config: HardwareConfig, estimate: Estimate, part: Part | None, show: Callable[[str], None]
) -> Estimate:
    """What is known of a machine after synthesis: its area; for a device its resources; for an
    ECP5 its clock, if it fits.

    Raises
    ------
    SynthesisError
        A tool is not installed or failed.
    """
    design = verilog_of(config)
    show("area")
    area = design_area(design, report=show).total
    found = replace(estimate, area=area, area_source=SYNTHESIS)
    if part is None:
        return found
    resources = synthesize(design, part.family, report=show)
    found = replace(found, resources={unit: getattr(resources, unit) for unit in UNITS})
    if part.family is not Family.ECP5:
        return found
    device = Device(part.name.removeprefix("LFE5U-").lower().replace("f", "k"))
    try:
        timing = place_and_route(design, device, seeds=(1,), report=show)
    except DoesNotFitError:
        return found
    return replace(found, mhz=timing.median.mhz, clock_source=ROUTE)
