"""The system that LiteX makes of a description, as texts: runs `tandem.workbench.soc.system`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from tandem.base.processes import ProcessGroup
from tandem.workbench.errors import SocError
from tandem.workbench.soc.description import SocDescription
from tandem.workbench.soc.firmware import SocMap

_ERROR_LINES: Final = 12


class _Written(msgspec.Struct, frozen=True):
    """What the process writes beside the Verilog."""

    regions: dict[str, tuple[int, int]]
    registers: dict[str, int]
    interrupts: dict[str, int]
    sources: tuple[str, ...]
    memory: str


@dataclass(frozen=True, slots=True)
class LitexSystem:
    """A system in Verilog.

    Attributes
    ----------
    files
        `soc.v`, the contents of its memories, and the processor's Verilog, by name.
    cores
        The names of the processor's files.
    addresses
        Where everything is.
    memory
        The Verilog's name of the array that accelerator and processor share.
    """

    files: Mapping[str, str]
    cores: tuple[str, ...]
    addresses: SocMap
    memory: str


def litex_system(description: SocDescription, work: Path) -> LitexSystem:
    """Make a system in an empty folder.

    Raises
    ------
    SocError
        LiteX does not make this system; has the last lines of its output.
    """
    gateware = work / "gateware"
    gateware.mkdir()
    description.write(work / "description.json")
    program = ("-P", "-m", "tandem.workbench.soc.system")
    with ProcessGroup() as group:
        status, output = group.run(
            (sys.executable, *program, str(work / "description.json"), str(gateware)),
            work,
        )
    if status:
        tail = "\n".join(output.splitlines()[-_ERROR_LINES:])
        raise SocError(f"LiteX ended with status {status}; its output ended with:\n{tail}")
    written = msgspec.json.decode((gateware / "system.json").read_bytes(), type=_Written)
    accelerator = Path(description.accelerator)
    cores = [Path(source) for source in written.sources if Path(source).parent != accelerator]
    return LitexSystem(
        {path.name: path.read_text("utf-8") for path in (*sorted(gateware.glob("soc*")), *cores)},
        tuple(path.name for path in cores),
        SocMap(written.regions, written.registers, written.interrupts),
        written.memory,
    )
