"""What place and route finds: the clock that a design allows, and the path that limits it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from statistics import median_low
from typing import Any

import msgspec

from tandem.hw.synthesis.errors import SynthesisError
from tandem.hw.synthesis.nextpnr import Device
from tandem.hw.synthesis.shell import INSTANCE

_CELL = re.compile(r"_(TRELLIS_\w+|LUT4|CCU2C|PFUMX|L6MUX21|MULT18X18D|DP16KD|PDPW16KD)_")


class Span(msgspec.Struct, frozen=True):
    """A part of a critical path that lies in one module.

    Attributes
    ----------
    module
        The path of the module's instance, as `core.load.dma`; empty for the top module.
    ns
        Delay of the logic and of the wires to it, in nanoseconds.
    signals
        Names of the registers and signals on the way.
    """

    module: str
    ns: float
    signals: tuple[str, ...]


class Route(msgspec.Struct, frozen=True):
    """The result of one seed: the highest clock in MHz, and the path that limits it."""

    seed: int
    mhz: float
    critical_path: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Timing:
    """The clock of a design on a device, by the results of one seed or more."""

    device: Device
    speed: int
    routes: tuple[Route, ...]

    @property
    def median(self) -> Route:
        """The route with the median clock; of two in the middle, the slower."""
        middle = median_low(route.mhz for route in self.routes)
        return next(route for route in self.routes if route.mhz == middle)

    @property
    def best_mhz(self) -> float:
        """The highest clock of all seeds."""
        return max(route.mhz for route in self.routes)

    def as_json(self) -> dict[str, object]:
        """The timing as a JSON object; times in nanoseconds."""
        spans = self.median.critical_path
        return {
            "device": self.device.value,
            "speed": self.speed,
            "mhz": self.median.mhz,
            "best_mhz": self.best_mhz,
            "seeds": {str(route.seed): route.mhz for route in self.routes},
            "critical_path": [msgspec.to_builtins(span) for span in spans],
        }


def route_of(seed: int, report: Mapping[str, Any]) -> Route:
    """The route of nextpnr's report; raises `SynthesisError` if the report has no clock."""
    try:
        (clock,) = report["fmax"].values()
        paths = (path for path in report["critical_paths"] if path["from"] == path["to"])
        steps = next(paths)["path"]
        return Route(seed, round(float(clock["achieved"]), 2), tuple(_spans(steps)))
    except (AttributeError, KeyError, TypeError, ValueError, StopIteration) as error:
        raise SynthesisError(f"nextpnr's report cannot be read: {error!r}") from None


def _spans(steps: Iterable[Mapping[str, Any]]) -> Iterable[Span]:
    """The steps of a path, joined where they end in the same module."""
    module = ""
    named: list[tuple[str, float, str]] = []
    for step in steps:
        cell = str(step["to"]["cell"])
        # Carry chains that nextpnr adds belong to no module.
        signal = ""
        if not cell.startswith("$"):
            path = _CELL.split(cell)[0].split(".")
            parts = [part for part in path[:-1] if part not in (INSTANCE, "accelerator")]
            module, signal = ".".join(parts), path[-1]
        named.append((module, float(step["delay"]), signal))
    for module, group in groupby(named, key=lambda step: step[0]):
        members = list(group)
        signals = tuple(dict.fromkeys(signal for _, _, signal in members if signal))
        yield Span(module, round(sum(delay for _, delay, _ in members), 2), signals)
