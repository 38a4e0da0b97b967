"""Places and routes a design for Lattice's ECP5, and finds the clock that it allows.

The design lies behind a registered shell (`hw.synthesis.shell`), and goes through the flow of
`hw.synthesis.nextpnr` once for each seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from tandem.base.cache import ContentCache, content_key, default_cache
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.hw.synthesis.errors import SynthesisError
from tandem.hw.synthesis.native_tool import Program
from tandem.hw.synthesis.nextpnr import (
    NETLIST,
    NEXTPNR,
    PLACER,
    TARGET_MHZ,
    Device,
    Placement,
    Workplace,
    check_speed,
    place_netlist,
    synthesis_script,
    synthesise,
)
from tandem.hw.synthesis.routes import Route, Timing, route_of
from tandem.hw.synthesis.shell import SHELL, registered_shell
from tandem.hw.synthesis.yosys import yosys_version
from tandem.hw.synthesis.yowasp import Report

_ROUTE = "route.json"


def place_and_route(
    design: VerilogDesign,
    device: Device = Device.ECP5_85,
    speed: int = 6,
    seeds: Iterable[int] = (1, 2, 3),
    *,
    nextpnr: Program = NEXTPNR,
    report: Report | None = None,
    root: Path | None = None,
) -> Timing:
    """The clock of `design`, from the cache under `root` or by synthesis, place and route.

    A seed takes some minutes; `report` is called with the name of each step. `nextpnr` is the
    wheel's, or a native one (`hw.synthesis.nextpnr.native_nextpnr`).

    Raises
    ------
    SynthesisError
        A tool is not installed, or failed.
    DoesNotFitError
        The design does not fit the device.
    tandem.base.errors.CacheError
        The cache cannot be used.
    """
    check_speed(speed)
    place = root or default_cache()
    cache = ContentCache(place / "timing")
    files = _files(design)
    parts = _netlist_parts(files)

    def make_netlist(work: Path) -> Sequence[Path]:
        synthesise(files, _script(files), Workplace(work, place, report))
        return [work / NETLIST]

    def route(seed: int) -> Route:
        def build(work: Path) -> Sequence[Path]:
            netlist = cache.entry(content_key("netlist", *parts), make_netlist) / NETLIST
            how = Placement(device, speed, seed)
            here = Workplace(work, place, report)
            found = route_of(seed, place_netlist(design.top, netlist, how, here, nextpnr=nextpnr))
            (work / _ROUTE).write_bytes(msgspec.json.encode(found))
            return [work / _ROUTE]

        return _read_route(cache.entry(_route_key(parts, device, speed, seed, nextpnr), build))

    return Timing(device, speed, tuple(route(seed) for seed in seeds))


def cached_timing(
    design: VerilogDesign,
    device: Device = Device.ECP5_85,
    speed: int = 6,
    seeds: Iterable[int] = (1, 2, 3),
    *,
    root: Path | None = None,
) -> Timing | None:
    """The result of an earlier `place_and_route` with these arguments; runs no tool.

    None if the cache under `root` lacks the route of a seed, or a tool is not installed: the
    versions of the tools are part of the keys.
    """
    cache = ContentCache((root or default_cache()) / "timing")
    try:
        parts = _netlist_parts(_files(design))
        keys = [_route_key(parts, device, speed, seed) for seed in seeds]
    except SynthesisError:
        return None
    routes: list[Route] = []
    for key in keys:
        entry = cache.lookup(key)
        if entry is None:
            return None
        routes.append(_read_route(entry))
    return Timing(device, speed, tuple(routes))


def _files(design: VerilogDesign) -> dict[str, str]:
    """The Verilog of the design and of its shell, by file name."""
    return {**design.files, f"{SHELL}.v": registered_shell(design)}


def _netlist_parts(files: Mapping[str, str]) -> tuple[str, ...]:
    """What the netlist depends on; raises `SynthesisError` if Yosys is not installed."""
    form = "registers of products in their blocks"
    return (form, yosys_version(), _script(files), repr(sorted(files.items())))


def _route_key(
    parts: Sequence[str], device: Device, speed: int, seed: int, nextpnr: Program = NEXTPNR
) -> str:
    """The cache key of a seed's route; raises `SynthesisError` if nextpnr is not installed."""
    versions = (nextpnr.version(), device.value, device.package, str(speed), str(seed))
    return content_key("route", *versions, str(TARGET_MHZ), PLACER, *parts)


def _read_route(entry: Path) -> Route:
    return msgspec.json.decode((entry / _ROUTE).read_bytes(), type=Route)


def _script(files: Mapping[str, str]) -> str:
    return synthesis_script(SHELL, files)
