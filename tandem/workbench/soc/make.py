"""Makes a system on chip that runs a network: a folder of sources, and a simulated run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.base.folders import write_files
from tandem.base.processes import ProcessGroup
from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import MemoryModel
from tandem.runtime.artifact import Artifact, StreamCode
from tandem.runtime.element_types import dtype_of
from tandem.runtime.inputs import PixelNormalisation
from tandem.workbench.devices import Accelerator, Cpu
from tandem.workbench.errors import SocError
from tandem.workbench.export import LibraryOptions, compiled_with_inputs, export_compiled
from tandem.workbench.export.header import Header
from tandem.workbench.export.network_source import needs_heap
from tandem.workbench.networks import Report
from tandem.workbench.opened import Opened
from tandem.workbench.soc.build import build_firmware, build_simulator, check_tools, write_tree
from tandem.workbench.soc.console import SocRun, read_console
from tandem.workbench.soc.cores import SocProcessor
from tandem.workbench.soc.description import SocDescription
from tandem.workbench.soc.firmware import NETWORK
from tandem.workbench.soc.gateware import (
    FOLDER,
    GatewareOptions,
    SocGateware,
    check_gateware_tools,
    make_gateware,
)
from tandem.workbench.soc.memory_contents import memory_words
from tandem.workbench.soc.program import padded_bytes
from tandem.workbench.soc.sources import (
    LICENCES,
    MEMORY_FILE,
    ROM_FILE,
    SocSources,
    check_memory,
    check_packages,
    soc_sources,
)

MOST_CYCLES = 1_000_000_000
"""After which a simulation is given up."""
_FOLDERS = ("accelerator", FOLDER, "firmware", "gateware", "network", "simulation")


@dataclass(frozen=True, slots=True)
class SocOptions:
    """What a system has.

    Attributes
    ----------
    memory
        The timing of the memory that accelerator and processor share.
    defines
        Macros of the firmware: `SOC_POLL` for one that polls instead of waiting for the interrupt,
        for tests `SOC_LOOK` for one that reads old outputs while a launch runs, and
        `SOC_NO_INVALIDATE` for one that forgets the data cache.
    """

    config: HardwareConfig
    processor: SocProcessor
    memory: MemoryModel
    defines: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Soc:
    """A system that was written.

    Attributes
    ----------
    files
        Names in the folder.
    cycles
        What the engine `cycle` says that a run of each of its streams takes, with this memory.
    run
        Its simulated run; None if it was not asked for.
    gateware
        The system placed and routed; None if it was not asked for.
    """

    folder: Path
    files: tuple[str, ...]
    options: SocOptions
    description: SocDescription
    cycles: int
    run: SocRun | None
    gateware: SocGateware | None


def make_soc(
    opened: Opened,
    options: SocOptions,
    folder: Path,
    *,
    run: bool = False,
    gateware: GatewareOptions | None = None,
    inputs: Sequence[Path] = (),
    pixels: PixelNormalisation = PixelNormalisation.IMAGENET,
    seed: int = 0,
    report: Report | None = None,
    warn: Callable[[str], None] = lambda text: None,
) -> Soc:
    """Write a system that runs a network: all of its files, or none.

    Parameters
    ----------
    run
        Build the firmware and a simulator, and run it.
    gateware
        Build the firmware, and place and route the system with it, which takes many minutes.
    inputs
        Files of the inputs that the firmware runs on; noise of `seed` without any.

    Raises
    ------
    SocError, MissingPackageError
        The system cannot be made, built or simulated; LiteX is not installed.
    SynthesisError, DoesNotFitError
        Yosys or nextpnr is missing or failed; the system does not fit the device.
    ExportError, CompilerError, InputError, OSError
        As `export_network`.
    """
    say = report or (lambda step: None)
    check_packages(options.processor)
    check_memory(options.memory)
    if run or gateware is not None:
        check_tools()
    if gateware is not None:
        check_gateware_tools(gateware)
    host = Cpu(1, options.processor.target)
    device = Accelerator(options.config, options.memory, host=host)
    network, given = compiled_with_inputs(
        opened, device, inputs, pixels, seed, report=report, warn=warn
    )
    launching = _launching(network.artifact)
    with TemporaryDirectory(prefix="tandem-soc-") as temporary:
        work = Path(temporary)
        exported = export_compiled(
            *(network, work / NETWORK, given.batches[0], NETWORK, report),
            LibraryOptions(profile=True),
        )
        made: dict[str, str | bytes] = {
            f"{NETWORK}/{name}": (work / NETWORK / name).read_bytes() for name in exported.files
        }
        check = made[f"{NETWORK}/check.bin"]
        assert isinstance(check, bytes), "it was read as such"
        say("the system, by LiteX")
        (work / "sources").mkdir()
        sources = soc_sources(
            *(exported.header, options.config, options.processor, options.memory),
            *(len(check), work / "sources"),
        )
        memory = memory_words(exported.header.streams, options.config.bus_bits)
        made |= {**sources.files, f"gateware/{MEMORY_FILE}": memory}
        found, routed = None, None
        if run or gateware is not None:
            say("the firmware")
            write_tree(work / "run", made)
            built = build_firmware(work / "run", [f"-D{name}" for name in options.defines])
            made |= {f"firmware/{name}": content for name, content in built.items()}
            made[f"gateware/{ROM_FILE}"] = built["firmware.init"]
        if run:
            console = _simulate(sources, built["firmware.init"], work / "run", say)
            expected = _expected(exported.header, check)
            found = read_console(console, exported.header, launching, expected)
        if gateware is not None:
            (work / FOLDER).mkdir()
            contents = {MEMORY_FILE: memory, ROM_FILE: built["firmware.init"].decode()}
            files, routed = make_gateware(
                *(sources, contents, len(built["firmware.bin"]), gateware),
                *(work / FOLDER, say),
            )
            made |= files
        write_files(folder, made, LICENCES, _obsolete(folder, made))
    cycles = device.cycles(network.artifact)
    return Soc(folder, tuple(made), options, sources.description, cycles, found, routed)


def _launching(artifact: Artifact) -> list[bool]:
    """Of each step, whether the accelerator computes it. Raises `SocError` if it computes none, and
    for a network that needs a heap."""
    steps = artifact.manifest.steps
    found = [isinstance(artifact.code[step.code], StreamCode) for step in steps]
    if not any(found):
        raise SocError("the accelerator computes nothing of this network: tandem run --explain")
    if reason := needs_heap(artifact.manifest):
        raise SocError(f"{reason}, for which the firmware has no memory")
    return found


def _simulate(sources: SocSources, rom: bytes, work: Path, say: Callable[[str], None]) -> str:
    """Build a simulator, and run it with contents of the ROM. Returns the console."""
    say("the simulator")
    simulator = build_simulator(sources.hardware())
    say("the simulation")
    (work / "gateware" / ROM_FILE).write_bytes(rom)
    with ProcessGroup() as group:
        _, console = group.run((str(simulator), str(MOST_CYCLES)), work / "gateware")
    return console


def _expected(header: Header, check: bytes) -> dict[str, NDArray[Any]]:
    """The outputs of a check's file, by the model's names. They lie behind the inputs."""
    begin = sum(padded_bytes(port) for port in header.inputs)
    found = {}
    for port in header.outputs:
        content = check[begin : begin + port.tensor.bytes]
        found[port.name] = np.frombuffer(content, dtype_of(port.tensor.dtype))
        begin += padded_bytes(port)
    return found


def _obsolete(folder: Path, made: Mapping[str, str | bytes]) -> list[str]:
    """The files of an earlier system in a folder."""
    return [
        name
        for part in _FOLDERS
        for path in sorted((folder / part).glob("*"))
        if path.is_file() and (name := f"{part}/{path.name}") not in made
    ]
