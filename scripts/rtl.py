"""`tandem rtl`: regenerate the Verilog of a configuration."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Annotated

import typer

from tandem.hw.config_files import load_config
from tandem.hw.synthesis.families import Family
from tandem.hw.synthesis.nextpnr import SPEEDS, Device
from tandem.hw.synthesis.resources import Resources
from tandem.hw.synthesis.routes import Timing
from tandem.hw.synthesis.yosys import yosys_version
from tandem.scripts.console import errors_in_one_line, print_json
from tandem.scripts.options import DEFAULT_CONFIG, ConfigOption, DebugOption, JsonOption
from tandem.scripts.outputs import ForceOption, check_outputs, config_input
from tandem.scripts.place_options import (
    DeviceOption,
    NextpnrOption,
    SeedsOption,
    SpeedOption,
    check_unused,
    nextpnr_of,
)
from tandem.scripts.resources import (
    DEFAULT_FAMILIES,
    find_resources,
    print_resources,
    resources_json,
)
from tandem.scripts.timing import find_timing, print_timing, timing_json
from tandem.scripts.verilog_table import print_files
from tandem.sim.rtl.design import verilog_of
from tandem.workbench.clock import DEFAULT_SEEDS
from tandem.workbench.ip.constraints import DEFAULT_MHZ
from tandem.workbench.ip.names import COMPANION_FILES
from tandem.workbench.verilog_files import write_design


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
    device: DeviceOption = None,
    speed: SpeedOption = None,
    seeds: SeedsOption = None,
    nextpnr: NextpnrOption = None,
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
    if not timing:
        check_unused("--timing", device=device, speed=speed, seeds=seeds, nextpnr=nextpnr)
    with errors_in_one_line(debug):
        machine = load_config(config)
        # Fails before any work if a tool is not installed.
        if resources or timing:
            yosys_version()
        router = nextpnr_of(nextpnr)
        if timing:
            router.version()
        folder = output if output is not None else Path("build") / "rtl" / machine.name
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
        companion_files = {f"{name} in --output": folder / name for name in COMPANION_FILES}
        check_outputs(companion_files, (config_input(config),), force=force)
        design = verilog_of(machine, events=not no_events, locations=locations)
        extras = write_design(folder, machine, design, mhz)
        contents = {**design.files, **extras}
        if not as_json:
            print_files(folder, design, extras)
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
                nextpnr=router,
            )
        if as_json:
            files = [str(folder / name) for name in contents]
            result = {"files": files, "config": machine.name, "modules": list(design.modules)}
            reports = resources_json(found) if found else {}
            print_json(result | reports | (timing_json(clock, router) if clock else {}))
            return
        if found:
            print_resources(found)
        if clock:
            print_timing(clock, router)
