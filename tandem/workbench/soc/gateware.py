"""A system on chip for an ECP5: its Verilog with a serial line, synthesised, placed and routed.

It is the system that is simulated, but for the console, which is a serial line, the clock, and the
ROM, which is as large as the firmware and has it as its contents. All memory is on the chip. Pins
are a board's, which nextpnr chooses here as it likes: the result is resources and a clock, and no
bit file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from tandem.hw.synthesis.chip import Chip, Layout, lay_out
from tandem.hw.synthesis.native_tool import Program
from tandem.hw.synthesis.nextpnr import NEXTPNR, SPEEDS, Device
from tandem.hw.synthesis.yosys import yosys_version
from tandem.workbench.errors import SocError
from tandem.workbench.soc.litex_system import LitexSystem, litex_system
from tandem.workbench.soc.sources import SocSources

FOLDER: Final = "ecp5"
"""Where the Verilog with pins lies in a system's folder."""
DEFAULT_MHZ: Final = 70.0
DEFAULT_SEEDS: Final = 3
_TOP: Final = "soc"
_CLOCK: Final = "sys_clk"
_PORTS: Final = (_CLOCK, "serial_tx", "serial_rx")
_BLOCK_BYTES: Final = 2048
"""Of a block of RAM, in words of a power of two."""
_CELLS: Final = {"vexriscv": "VexRiscv.", "picorv32": "picorv32."}
"""What names of cells begin with, by processor."""


@dataclass(frozen=True, slots=True)
class GatewareOptions:
    """What a system is placed and routed for.

    Attributes
    ----------
    speed
        The speed grade.
    seeds
        How many times; with the seeds 1, 2 and so on.
    mhz
        The clock, of which the constraints and the serial line's divider are made.
    nextpnr
        The wheel's, or a native one.
    """

    device: Device = Device.ECP5_85
    speed: int = SPEEDS[0]
    seeds: int = DEFAULT_SEEDS
    mhz: float = DEFAULT_MHZ
    nextpnr: Program = NEXTPNR


@dataclass(frozen=True, slots=True)
class SocGateware:
    """A system that was placed and routed."""

    options: GatewareOptions
    layout: Layout

    @property
    def mhz(self) -> float:
        """The median of the clocks of all seeds."""
        return self.layout.timing.median.mhz

    @property
    def is_fast_enough(self) -> bool:
        """Whether the median is the clock that was asked for, or more."""
        return self.mhz >= self.options.mhz

    def as_json(self) -> dict[str, object]:
        """The clock, by seeds, its path, and resources as a JSON object."""
        layout = self.layout
        return {
            **layout.timing.as_json(),
            "asked_mhz": self.options.mhz,
            "resources": {
                name: msgspec.to_builtins(use) for name, use in sorted(layout.cells.items())
            },
            "parts": {name: msgspec.to_builtins(use) for name, use in layout.parts.items()},
        }


def check_gateware_tools(options: GatewareOptions) -> None:
    """Raise `SynthesisError`, which says what to install, if Yosys or nextpnr is missing."""
    yosys_version()
    options.nextpnr.version()


def make_gateware(
    sources: SocSources,
    contents: Mapping[str, str],
    firmware_bytes: int,
    options: GatewareOptions,
    work: Path,
    report: Callable[[str], None],
) -> tuple[dict[str, str | bytes], SocGateware]:
    """Synthesise, place and route a system.

    Parameters
    ----------
    contents
        Of the ROM and the memory that both share, by the names of their files.
    firmware_bytes
        The size of the ROM, or less.
    work
        A folder to work in, beside that of the sources.

    Returns
    -------
        Files for the system's folder, by name, and the result.

    Raises
    ------
    SocError, SynthesisError
        The system cannot be made; a tool is missing or failed.
    DoesNotFitError
        It does not fit the device.
    """
    image = -(-firmware_bytes // _BLOCK_BYTES) * _BLOCK_BYTES
    description = msgspec.structs.replace(
        sources.description,
        rom_bytes=image,
        frequency=round(options.mhz * 1e6),
        is_simulated=False,
    )
    report("the system, by LiteX")
    system = litex_system(description, work)
    if system.addresses.registers != sources.addresses.registers:
        raise SocError("LiteX gave the registers of the simulated system other addresses")
    chip = _chip(sources, system, contents, options)
    written: dict[str, str | bytes] = {
        f"{FOLDER}/{name}": system.files[name]
        for name in system.files
        if name not in (*contents, *system.cores)
    }
    layout = lay_out(
        chip,
        options.device,
        options.speed,
        range(1, options.seeds + 1),
        nextpnr=options.nextpnr,
        report=report,
    )
    gateware = SocGateware(options, layout)
    return {
        **written,
        **{f"{FOLDER}/{name}": text for name, text in contents.items()},
        f"{FOLDER}/soc.lpf": chip.constraints,
        f"{FOLDER}/soc.ys": _script(sources, system),
        f"{FOLDER}/report.json": msgspec.json.format(msgspec.json.encode(gateware.as_json())),
    }, gateware


def _chip(
    sources: SocSources,
    system: LitexSystem,
    contents: Mapping[str, str],
    options: GatewareOptions,
) -> Chip:
    accelerator = {
        name.removeprefix("accelerator/"): text
        for name, text in sources.files.items()
        if name.startswith("accelerator/") and name.endswith(".v")
    }
    files = {**system.files, **accelerator, **contents}
    processor = sources.description.processor
    parts = {
        "tandem.": "accelerator",
        _CELLS[processor]: processor,
        f"{system.memory}.": "memory",
        "sharedmemory_": "memory",
        "rom.": "ROM",
        "sram.": "RAM",
    }
    return Chip(_TOP, files, _constraints(options.mhz), parts, "bus, console, clock")


def _constraints(mhz: float) -> str:
    pins = "".join(f'# LOCATE COMP "{port}" SITE "...";\n' for port in _PORTS)
    types = "".join(f'IOBUF PORT "{port}" IO_TYPE=LVCMOS33;\n' for port in _PORTS)
    return (
        "# Of a system on chip, for nextpnr. Made by Tandem. Where the pins are, a board says.\n"
        f'BLOCK RESETPATHS;\nBLOCK ASYNCPATHS;\nFREQUENCY PORT "{_CLOCK}" {mhz:g} MHZ;\n'
        f"{types}{pins}"
    )


def _script(sources: SocSources, system: LitexSystem) -> str:
    """What Yosys does, with the files where they are in a system's folder."""
    listed = [
        f"{_TOP}.v",
        *(f"../gateware/{name}" for name in system.cores),
        *(
            f"../{name}"
            for name in sources.files
            if name.startswith("accelerator/") and name.endswith(".v")
        ),
    ]
    reads = "".join(f"read_verilog {name}\n" for name in listed)
    return f"# Made by Tandem: yosys soc.ys\n{reads}synth_ecp5 -top {_TOP} -json soc.json\n"
