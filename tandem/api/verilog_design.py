"""`tandem.verilog`: a machine's Verilog as files, its FPGA resources and its clock."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from pathlib import Path

from tandem.api.accelerator import Accelerator
from tandem.api.fpga_reports import Clock, FpgaResources, resources_of
from tandem.api.machines import Machine, accelerator_of
from tandem.api.progress import Progress, steps_of
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.hw.synthesis.families import Family
from tandem.hw.synthesis.nextpnr import NEXTPNR, SPEEDS, Device, native_nextpnr
from tandem.hw.synthesis.place import place_and_route
from tandem.hw.synthesis.synthesize import synthesize
from tandem.sim.rtl.design import verilog_of
from tandem.workbench.arguments import at_least, choice, file_path
from tandem.workbench.clock import DEFAULT_SEEDS
from tandem.workbench.errors import ArgumentValueError
from tandem.workbench.ip.constraints import DEFAULT_MHZ
from tandem.workbench.verilog_files import write_design


@dataclass(frozen=True, slots=True, repr=False)
class Design:
    """A machine's Verilog in a folder.

    Attributes
    ----------
    machine
        The machine.
    folder
        The folder.
    files
        The paths of all files that were written.
    verilog
        The Verilog as a value: the texts of the modules, and the ports.
    """

    machine: Accelerator
    folder: Path
    files: tuple[Path, ...]
    verilog: VerilogDesign

    @property
    def modules(self) -> tuple[str, ...]:
        """The names of the Verilog modules."""
        return self.verilog.modules

    def resources(
        self, families: Iterable[str] = ("xc7", "ecp5"), *, progress: Progress = None
    ) -> FpgaResources:
        """The FPGA resources, by Yosys: `xc7`, `xcup`, `ecp5`. Takes minutes; results are cached.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            No such family.
        SynthesisError
            Yosys is not installed (the extra `synth`), or failed.
        """
        names = [families] if isinstance(families, str) else [*families]
        known = [family.value for family in Family]
        chosen = [Family(choice("family", name, known)) for name in names]
        found = []
        with steps_of("synthesis", progress) as steps:
            for number, family in enumerate(chosen):
                steps.at(number, len(chosen), family.value)
                found.append(synthesize(self.verilog, family, report=steps.say))
        return resources_of(found)

    def timing(
        self,
        device: str = "85k",
        *,
        speed: int = SPEEDS[0],
        seeds: int = DEFAULT_SEEDS,
        nextpnr: str | os.PathLike[str] | None = None,
        progress: Progress = None,
    ) -> Clock:
        """The clock, by place and route for an ECP5. Takes minutes a seed; results are cached.

        Parameters
        ----------
        device
            `12k`, `25k`, `45k` or `85k` look-up tables.
        speed
            The speed grade: 6, 7 or 8.
        seeds
            How often it is placed.
        nextpnr
            A native nextpnr-ecp5, which takes about half of the time; None for the wheel's.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            An argument that is not allowed; says what is.
        SynthesisError
            A tool is not installed (the extra `synth`), or failed; `DoesNotFitError` if the machine
            does not fit the device.
        """
        chosen = Device(choice("device", device, [each.value for each in Device]))
        if at_least("speed", speed, 0) not in SPEEDS:
            raise ArgumentValueError(f"speed is {speed}: it must be one of {SPEEDS}")
        numbers = range(1, at_least("seeds", seeds, 1) + 1)
        router = NEXTPNR if nextpnr is None else native_nextpnr(Path(nextpnr))
        with steps_of("place and route", progress) as steps:
            timing = place_and_route(
                self.verilog, chosen, speed, numbers, nextpnr=router, report=steps.say
            )
        return Clock(timing)

    def __repr__(self) -> str:
        verilog = [path for path in self.files if path.suffix == ".v"]
        return (
            f"{self.machine.name}: {len(verilog)} Verilog files, {len(self.modules)} modules, in "
            f"{self.folder}"
        )


def verilog(
    machine: Machine,
    folder: str | os.PathLike[str],
    *,
    events: bool = True,
    locations: bool = False,
    mhz: float = DEFAULT_MHZ,
) -> Design:
    """Write a machine's Verilog to a folder, made if need be, with what tools and drivers need.

    Beside the Verilog are tandem.f (a list of the files), config.json, tandem_registers.h (for C),
    tandem.rdl (SystemRDL), lint.vlt, tandem.core (for FuseSoC), tandem.sdc and tandem.xdc
    (constraints), tandem_vivado.v and block_design.tcl (for Vivado), and bench, a folder with a
    testbench. All files are new, or none is.

    Parameters
    ----------
    machine
        An `Accelerator`, or what it takes.
    events
        False to leave out the port for simulators and logic analysers.
    locations
        True to say in attributes `src` which line of the source made what.
    mhz
        The clock of the constraints, above 0.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        An argument that is not allowed; says what is.
    OSError
        The folder cannot be written.
    """
    accelerator = accelerator_of(machine, "verilog")
    if isinstance(mhz, bool) or not isinstance(mhz, int | float) or not 0 < mhz < inf:
        raise ArgumentValueError(f"mhz is {mhz!r}: it must be a number above 0")
    place = file_path("folder", folder)
    if place.exists() and not place.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(place))
    design = verilog_of(accelerator.config, events=events, locations=locations)
    extras = write_design(place, accelerator.config, design, mhz)
    files = tuple(place / name for name in (*design.files, *extras))
    return Design(accelerator, place, files, design)
