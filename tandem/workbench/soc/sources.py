"""The files of a system on chip: LiteX's Verilog, the accelerator's, the firmware's sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import MemoryModel
from tandem.sim.rtl.design import verilog_of
from tandem.workbench.errors import MissingPackageError, SocError
from tandem.workbench.export.header import Header
from tandem.workbench.export.stream_file import head_bytes
from tandem.workbench.ip.names import FILE_LIST
from tandem.workbench.soc.cores import SocProcessor
from tandem.workbench.soc.description import LEAST_LATENCY, SocDescription
from tandem.workbench.soc.firmware import SocMap, firmware_files
from tandem.workbench.soc.licences import licences
from tandem.workbench.soc.litex_system import litex_system
from tandem.workbench.verilog_files import companions

EXTRA: Final = "tandem-workbench[soc]"
LICENCES: Final = "LICENSES.md"
ROM_FILE: Final = "soc_rom.init"
"""What the ROM is filled with when a simulation begins, or a bit file is made."""
MEMORY_FILE: Final = "soc_memory.init"
"""The same of the memory that both share."""
FREQUENCY: Final = 64_000_000
_PAGE, _STACK, _PROGRAM = 4096, 8192, 24 << 10


@dataclass(frozen=True, slots=True)
class SocSources:
    """The sources of a system, and what they are of.

    Attributes
    ----------
    files
        Contents by name, which begins with a folder but for the list of licences.
    description
        Sizes and timing; the simulated system has larger memories.
    addresses
        Where everything is, in the sizes of the description.
    cores
        The names of the processor's files.
    """

    files: Mapping[str, str]
    description: SocDescription
    addresses: SocMap
    cores: tuple[str, ...]

    def hardware(self) -> dict[str, str]:
        """The files that the simulator is made of."""
        folders = ("accelerator/", "gateware/", "simulation/")
        return {name: text for name, text in self.files.items() if name.startswith(folders)}


def check_packages(processor: SocProcessor) -> None:
    """Raise `MissingPackageError` if LiteX or the processor's Verilog is not installed."""
    for package, module in (
        ("litex", "litex"),
        ("migen", "migen"),
        (processor.package, processor.package.replace("-", "_")),
    ):
        if find_spec(module) is None:
            raise MissingPackageError("tandem soc", package, EXTRA)


def check_memory(memory: MemoryModel) -> None:
    """Raise `SocError` for a timing that memory on chip does not have."""
    if memory.latency < LEAST_LATENCY or memory.interval != 1:
        raise SocError(
            f"memory of latency {memory.latency} and interval {memory.interval}: that of a system "
            f"on chip has a latency of {LEAST_LATENCY} or more, and an interval of 1"
        )


def soc_sources(
    header: Header,
    config: HardwareConfig,
    processor: SocProcessor,
    memory: MemoryModel,
    check_bytes: int,
    work: Path,
) -> SocSources:
    """The sources of a system for an exported network.

    Parameters
    ----------
    check_bytes
        The bytes of the inputs and outputs that the firmware has.
    work
        An empty folder to work in.

    Raises
    ------
    SocError
        LiteX does not make this system; has the last lines of its output.
    """
    design = verilog_of(config)
    accelerator = {**design.files, **companions(config, design)}
    folder = work / "accelerator"
    folder.mkdir()
    for name, text in accelerator.items():
        (folder / name).write_text(text, encoding="utf-8")
    description = SocDescription(
        *(str(folder), processor.name, processor.variant, config.bus_bits),
        *(memory.latency, memory.in_flight),
        *_sizes(header, check_bytes),
        FREQUENCY,
    )
    system = litex_system(description.simulated(), work)
    addresses = system.addresses.of_sizes(
        description.rom_bytes, description.ram_bytes, description.memory_bytes
    )
    names = [name for name in accelerator if name.endswith(".v")]
    found = {
        **{f"accelerator/{name}": text for name, text in accelerator.items()},
        **{f"gateware/{name}": text for name, text in system.files.items()},
        **{
            f"firmware/{name}": text
            for name, text in firmware_files(header, processor, addresses).items()
        },
        **_simulation(names, system.cores),
        LICENCES: licences(processor),
    }
    del found[f"accelerator/{FILE_LIST}"]
    return SocSources(found, description, addresses, system.cores)


def _simulation(accelerator: Sequence[str], cores: Sequence[str]) -> dict[str, str]:
    """The files of the simulator."""
    folder = files("tandem.workbench.soc").joinpath("files")
    listed = [
        *(f"../gateware/{name}" for name in ("soc.v", *cores)),
        *(f"../accelerator/{name}" for name in accelerator),
    ]
    return {
        "simulation/sources.f": "".join(f"{name}\n" for name in listed),
        "simulation/simulation.cpp": folder.joinpath("simulation.cpp").read_text("utf-8"),
        "simulation/Makefile": folder.joinpath("simulation.mk").read_text("utf-8"),
    }


def _sizes(header: Header, check_bytes: int) -> tuple[int, int, int]:
    """Of ROM, RAM and the accelerator's memory, in bytes."""
    streams = sum(head_bytes(stream.content) for stream in header.streams)
    rom = header.code_bytes + header.weight_bytes + streams + check_bytes + _PROGRAM
    tensors = sum(port.tensor.bytes + 64 for port in (*header.inputs, *header.outputs))
    ram = header.arena_bytes + header.workspace_bytes + tensors + _STACK
    memory = sum(-(-stream.memory_bytes // _PAGE) * _PAGE for stream in header.streams)
    return _pages(rom), _pages(ram), memory


def _pages(size: int) -> int:
    """The least multiple of a page that is not below."""
    return -(-size // _PAGE) * _PAGE
