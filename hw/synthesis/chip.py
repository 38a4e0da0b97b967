"""Places and routes whole chips, with pins and constraints of their own, for Lattice's ECP5.

Of a chip the netlist is also counted by parts. `hw.synthesis.place` puts designs behind a shell of
registers instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from tandem.base.cache import ContentCache, content_key, default_cache
from tandem.hw.synthesis.errors import SynthesisError
from tandem.hw.synthesis.families import CELLS, Cost, Family
from tandem.hw.synthesis.native_tool import Program
from tandem.hw.synthesis.nextpnr import (
    NETLIST,
    NEXTPNR,
    Device,
    Placement,
    Workplace,
    check_speed,
    place_netlist,
    synthesis_script,
    synthesise,
)
from tandem.hw.synthesis.routes import Route, Timing, route_of
from tandem.hw.synthesis.yosys import yosys_version
from tandem.hw.synthesis.yowasp import Report

_PARTS: Final = "parts.json"
_ROUTE: Final = "route.json"
# Clocks and pins of a chip of its own.
_COSTS: Final = {**CELLS[Family.ECP5], "TRELLIS_IO": Cost(), "DCCA": Cost(), "EHXPLLL": Cost()}


@dataclass(frozen=True, slots=True)
class Chip:
    """A chip in Verilog.

    Attributes
    ----------
    top
        The module whose ports are pins.
    files
        Verilog and what it reads (`$readmemh`), by name.
    constraints
        Of pins and clocks, as nextpnr reads them (LPF).
    parts
        Beginnings of cells' names, and the parts that these belong to; the first that fits counts.
        Cells that none fits are of the part `other`.
    """

    top: str
    files: Mapping[str, str]
    constraints: str
    parts: Mapping[str, str]
    other: str

    def part_of(self, cell: str) -> str:
        """The part that a cell belongs to."""
        fits = (part for begin, part in self.parts.items() if cell.startswith(begin))
        return next(fits, self.other)

    @property
    def script(self) -> str:
        """The script of Yosys that makes `netlist.json`."""
        return synthesis_script(self.top, self.files)


class PartUse(msgspec.Struct, frozen=True):
    """What a part of a chip takes, in the units of `hw.synthesis.resources.Resources`."""

    lut: int = 0
    lutram: int = 0
    ff: int = 0
    dsp: int = 0
    bram: int = 0


class CellUse(msgspec.Struct, frozen=True):
    """Cells of a kind that a chip takes, of those that the device has."""

    used: int
    available: int


@dataclass(frozen=True, slots=True)
class Layout:
    """A chip that was placed and routed.

    Attributes
    ----------
    timing
        Its clock.
    parts
        What each part takes of the netlist, by name; the largest first.
    cells
        What nextpnr placed, by its names of kinds of cells.
    """

    timing: Timing
    parts: Mapping[str, PartUse]
    cells: Mapping[str, CellUse]


class _Routed(msgspec.Struct, frozen=True):
    route: Route
    cells: dict[str, CellUse]


def lay_out(
    chip: Chip,
    device: Device = Device.ECP5_85,
    speed: int = 6,
    seeds: Iterable[int] = (1, 2, 3),
    *,
    nextpnr: Program = NEXTPNR,
    report: Report | None = None,
    root: Path | None = None,
) -> Layout:
    """Place and route a chip with each seed, or take it from the cache under `root`.

    A seed takes many minutes; `report` is called with the name of each step. `nextpnr` is the
    wheel's, or a native one (`hw.synthesis.nextpnr.native_nextpnr`).

    Raises
    ------
    SynthesisError
        A tool is not installed, or failed.
    DoesNotFitError
        The chip does not fit the device.
    tandem.base.errors.CacheError
        The cache cannot be used.
    """
    check_speed(speed)
    place = root or default_cache()
    cache = ContentCache(place / "timing")
    parts = (yosys_version(), chip.script, repr(sorted(chip.files.items())), repr(chip.parts))

    def make_netlist(work: Path) -> Sequence[Path]:
        netlist = synthesise(chip.files, chip.script, Workplace(work, place, report))
        (work / _PARTS).write_bytes(msgspec.json.encode(parts_of(netlist, chip)))
        return [work / NETLIST, work / _PARTS]

    netlist = cache.entry(content_key("chip", *parts), make_netlist)

    def route(seed: int) -> _Routed:
        say = None if report is None else (lambda step: report(f"seed {seed}: {step}"))
        how = Placement(device, speed, seed)

        def build(work: Path) -> Sequence[Path]:
            here = Workplace(work, place, say)
            found = place_netlist(chip.top, netlist / NETLIST, how, here, chip.constraints, nextpnr)
            (work / _ROUTE).write_bytes(msgspec.json.encode(_read_report(seed, found)))
            return [work / _ROUTE]

        options = repr(how.options)
        key = content_key("chip route", nextpnr.version(), options, chip.constraints, *parts)
        return msgspec.json.decode((cache.entry(key, build) / _ROUTE).read_bytes(), type=_Routed)

    routed = [route(seed) for seed in seeds]
    return Layout(
        Timing(device, speed, tuple(each.route for each in routed)),
        msgspec.json.decode((netlist / _PARTS).read_bytes(), type=dict[str, PartUse]),
        routed[0].cells,
    )


def _read_report(seed: int, report: Mapping[str, Any]) -> _Routed:
    try:
        cells = {
            name: CellUse(int(use["used"]), int(use["available"]))
            for name, use in report["utilization"].items()
            if use["used"]
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SynthesisError(f"nextpnr's report cannot be read: {error!r}") from None
    return _Routed(route_of(seed, report), cells)


def parts_of(netlist: Mapping[str, Any], chip: Chip) -> dict[str, PartUse]:
    """What each part of a flat netlist takes. Cells have the names of the signals that they drive.

    Raises
    ------
    SynthesisError
        A cell's cost is not known.
    """
    found: dict[str, dict[str, int]] = {}
    for name, cell in netlist["modules"][chip.top]["cells"].items():
        cost = _COSTS.get(cell["type"])
        if cost is None:
            raise SynthesisError(
                f"synthesis left a cell whose cost is not known: {cell['type']}; known: "
                f"{', '.join(sorted(_COSTS))}"
            )
        uses = found.setdefault(chip.part_of(name), dict.fromkeys(PartUse.__struct_fields__, 0))
        for unit in uses:
            uses[unit] += getattr(cost, unit)
    ordered = sorted(found.items(), key=lambda item: (-item[1]["lut"], -item[1]["bram"], item[0]))
    return {part: PartUse(**uses) for part, uses in ordered}
