"""`tandem rtl`: regenerate the Verilog of a configuration."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from tandem.hw.config_files import load_config
from tandem.hw.rtl.verilog import VerilogDesign, generate
from tandem.hw.synthesis.families import Family
from tandem.hw.synthesis.place import NEXTPNR, SPEEDS, Device, Timing
from tandem.hw.synthesis.resources import Resources
from tandem.hw.synthesis.yosys import yosys_version
from tandem.scripts.console import errors_in_one_line, print_json
from tandem.scripts.options import DEFAULT_CONFIG, ConfigOption, DebugOption, JsonOption
from tandem.scripts.outputs import ForceOption, check_outputs, config_input
from tandem.scripts.resources import (
    DEFAULT_FAMILIES,
    find_resources,
    print_resources,
    resources_json,
)
from tandem.scripts.timing import (
    PlacedDeviceOption,
    PlacementsOption,
    SpeedOption,
    find_timing,
    print_timing,
    timing_json,
)
from tandem.workbench.clock import DEFAULT_SEEDS
from tandem.workbench.ip.constraints import DEFAULT_MHZ
from tandem.workbench.ip.names import COMPANION_FILES, FILE_LIST
from tandem.workbench.verilog_files import write_design

MODULE = re.compile(r"^\s*module\s+\\?(\S+?)\s*(?:\(|;|$)")
END_OF_MODULE = re.compile(r"^\s*endmodule\b")


def command(
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            readable=False,
            help="Folder to write to, made if need be (default: build/rtl/NAME).",
        ),
    ] = None,
    resources: Annotated[
        bool,
        typer.Option(
            "--resources",
            help="Report the FPGA resources of the design: synthesis by Yosys, which takes "
            "minutes; results are cached.",
        ),
    ] = False,
    family: Annotated[
        list[Family] | None,
        typer.Option(
            "--family",
            help="FPGA family to synthesise for; may be repeated (default: xc7 and ecp5).",
        ),
    ] = None,
    timing: Annotated[
        bool,
        typer.Option(
            "--timing",
            help="Report the clock: place and route for ECP5 by nextpnr, which takes minutes for "
            "each seed; results are cached.",
        ),
    ] = False,
    device: PlacedDeviceOption = None,
    speed: SpeedOption = None,
    seeds: PlacementsOption = None,
    no_events: Annotated[
        bool,
        typer.Option(
            "--no-events",
            help="Leave out the port events, which is for simulators and logic analysers.",
        ),
    ] = False,
    locations: Annotated[
        bool,
        typer.Option(
            "--source-locations",
            help="Say in attributes src which line of hw/rtl made what.",
        ),
    ] = False,
    mhz: Annotated[
        float,
        typer.Option("--mhz", min=1, metavar="MHZ", help="The clock of the constraints, in MHz."),
    ] = DEFAULT_MHZ,
    config: ConfigOption = DEFAULT_CONFIG,
    force: ForceOption = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Regenerate the Verilog of a configuration.

    Next to the Verilog it writes tandem.f (a list of the files, for tools that take one),
    config.json (the whole configuration), tandem_registers.h (the registers, for C), tandem.rdl
    (the registers as SystemRDL, from which PeakRDL makes documents and more), lint.vlt (what
    Verilator's lint may say, with reasons), tandem.core (for FuseSoC), tandem.sdc and tandem.xdc
    (constraints of the clock), tandem_vivado.v (a wrapper with the interfaces as Vivado knows them)
    and block_design.tcl (a script for Vivado, of which only the syntax was checked). The folder
    bench has a testbench for cocotb, which runs a small program, or a network of `tandem export`.
    """
    if family and not resources:
        raise typer.BadParameter("--family is an option of --resources")
    for name, value in (("device", device), ("speed", speed), ("seeds", seeds)):
        if value is not None and not timing:
            raise typer.BadParameter(f"--{name} is an option of --timing")
    with errors_in_one_line(debug):
        machine = load_config(config)
        # Fails before any work if a tool is not installed.
        if resources or timing:
            yosys_version()
        if timing:
            NEXTPNR.version()
        folder = output if output is not None else Path("build") / "rtl" / machine.name
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
        companion_files = {f"{name} in --output": folder / name for name in COMPANION_FILES}
        check_outputs(companion_files, (config_input(config),), force=force)
        design = generate(machine, events=not no_events, locations=locations)
        extras = write_design(folder, machine, design, mhz)
        contents = {**design.files, **extras}
        if not as_json:
            _print_table(folder, design, extras)
        found: tuple[Resources, ...] = ()
        if resources:
            found = find_resources(design, family or DEFAULT_FAMILIES, quiet=as_json)
        clock: Timing | None = None
        if timing:
            clock = find_timing(
                design,
                device or Device.ECP5_85,
                speed or SPEEDS[0],
                seeds or DEFAULT_SEEDS,
                quiet=as_json,
            )
        if as_json:
            files = [str(folder / name) for name in contents]
            result = {"files": files, "config": machine.name, "modules": list(design.modules)}
            reports = resources_json(found) if found else {}
            print_json(result | reports | (timing_json(clock) if clock else {}))
            return
        if found:
            print_resources(found)
        if clock:
            print_timing(clock)


def module_lines(text: str) -> Iterator[tuple[str, int]]:
    """Name and number of lines of each module in a Verilog file, in the file's order."""
    name, start = None, 0
    for number, line in enumerate(text.splitlines()):
        if name is None:
            if match := MODULE.match(line):
                name, start = match[1], number
        elif END_OF_MODULE.match(line):
            yield name, number - start + 1
            name = None


def _print_table(folder: Path, design: VerilogDesign, extras: dict[str, str | bytes]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("file", "module"):
        table.add_column(column, overflow="fold")
    table.add_column("lines", justify="right")
    for name, text in design.files.items():
        for count, (module, lines) in enumerate(module_lines(text)):
            table.add_row("" if count else name, module, f"{lines:,}")
    for name, content in extras.items():
        length = f"{len(content.splitlines()):,}" if isinstance(content, str) else ""
        table.add_row(name, "", length)
    console = Console(highlight=False)
    console.print(table)
    total = sum(len(text.splitlines()) for text in design.files.values())
    console.print(
        f"{len(design.files)} Verilog files, {total:,} lines, {len(design.modules)} modules: "
        f"{folder / FILE_LIST}",
        soft_wrap=True,
    )
