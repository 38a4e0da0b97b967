"""The sources of systems: LiteX makes them, and the firmware's compiler takes its part."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest

import tandem
from tandem.base.processes import ProcessGroup
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import MemoryModel
from tandem.workbench.errors import MissingPackageError, SocError
from tandem.workbench.export.header import Header
from tandem.workbench.ip.names import FILE_LIST
from tandem.workbench.soc import build, sources
from tandem.workbench.soc.build import build_firmware, write_tree
from tandem.workbench.soc.cores import PROCESSORS, soc_processor
from tandem.workbench.soc.description import LEAST_LATENCY
from tandem.workbench.soc.firmware import NETWORK
from tandem.workbench.soc.sources import LICENCES, check_memory, check_packages, soc_sources
from tests.support.compiler.models.digits import digits

pytest.importorskip("litex", reason="the extra soc")
MEMORY = MemoryModel(LEAST_LATENCY, in_flight=4)
ROOT = Path(__file__).parents[4]


@dataclass(frozen=True, slots=True)
class Library:
    """An exported network and its files, by their names in a system's folder."""

    exported: Header
    files: Mapping[str, bytes]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("library")
    processor = tandem.Cpu("riscv32-unknown-elf", features=["m"])
    artifact = digits("tiny-x", processor=processor)
    exported = artifact.export(folder, name=NETWORK, profile=True)
    files = {f"{NETWORK}/{name}": (folder / name).read_bytes() for name in exported.files}
    return Library(exported.header, files)


@pytest.fixture(scope="module")
def made(
    library: Library, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], sources.SocSources]:
    """Makes the sources of a system with a processor, each once."""

    @cache
    def make(name: str) -> sources.SocSources:
        check = len(library.files[f"{NETWORK}/check.bin"])
        processor, config = soc_processor(name), load_config("tiny-x")
        folder = tmp_path_factory.mktemp(name)
        return soc_sources(library.exported, config, processor, MEMORY, check, folder)

    return make


@pytest.mark.parametrize("name", PROCESSORS)
def test_a_system(made: Callable[[str], sources.SocSources], name: str) -> None:
    found = made(name)
    described = found.description
    assert (described.processor, described.latency, described.in_flight) == (name, LEAST_LATENCY, 4)
    assert described.bus_bits == load_config("tiny-x").bus_bits
    for size in (described.rom_bytes, described.ram_bytes, described.memory_bytes):
        assert size % 4096 == 0
    for listed in found.files["simulation/sources.f"].split():
        assert listed.removeprefix("../") in found.files
    addresses = found.files["firmware/soc.h"]
    assert "#define SOC_TANDEM 0x90000000u" in addresses
    assert f"#define SOC_MAIN_RAM_BYTES {described.memory_bytes:#x}u" in addresses
    assert ("#define SOC_INTERRUPTS" in addresses) == (name == "vexriscv")
    assert ("#define SOC_DATA_CACHE" in addresses) == (name == "vexriscv")
    assert soc_processor(name).licence in found.files[LICENCES]


def test_nothing_depends_on_the_day_or_the_folder(
    library: Library, made: Callable[[str], sources.SocSources], tmp_path: Path
) -> None:
    """Simulators are kept by these texts."""
    check = len(library.files[f"{NETWORK}/check.bin"])
    config, processor = load_config("tiny-x"), soc_processor("vexriscv")
    again = soc_sources(library.exported, config, processor, MEMORY, check, tmp_path)
    assert again.files == made("vexriscv").files
    assert str(tmp_path) not in "".join(again.files.values())


def test_networks_share_a_simulator(
    library: Library, made: Callable[[str], sources.SocSources], tmp_path: Path
) -> None:
    """Another network needs other sizes: the firmware has them, and the hardware is the same."""
    config, processor = load_config("tiny-x"), soc_processor("vexriscv")
    larger = soc_sources(library.exported, config, processor, MEMORY, 1 << 19, tmp_path)
    first = made("vexriscv")
    assert larger.description.rom_bytes > first.description.rom_bytes
    assert larger.files["firmware/firmware.ld"] != first.files["firmware/firmware.ld"]
    assert larger.hardware() == first.hardware()


@pytest.mark.parametrize(
    ("name", "defines"),
    [("vexriscv", ()), ("vexriscv", ("-DSOC_POLL", "-DSOC_NO_INVALIDATE")), ("picorv32", ())],
)
def test_firmware_fits_its_rom(
    library: Library,
    made: Callable[[str], sources.SocSources],
    tmp_path: Path,
    name: str,
    defines: tuple[str, ...],
) -> None:
    if shutil.which("riscv64-unknown-elf-gcc") is None:
        pytest.skip("riscv64-unknown-elf-gcc is not installed")
    found = made(name)
    write_tree(tmp_path, {**found.files, **library.files})
    built = build_firmware(tmp_path, defines)
    assert built["firmware.elf"].startswith(b"\x7fELF\x01")
    size = len(built["firmware.bin"])
    assert found.description.rom_bytes // 4 < size <= found.description.rom_bytes
    words = built["firmware.init"].split()
    assert int(words[0], 16).to_bytes(4, "little") == built["firmware.bin"][:4]
    assert len(words) == size // 4


def test_errors_of_the_compiler_are_told(
    library: Library, made: Callable[[str], sources.SocSources], tmp_path: Path
) -> None:
    if shutil.which("riscv64-unknown-elf-gcc") is None:
        pytest.skip("riscv64-unknown-elf-gcc is not installed")
    write_tree(tmp_path, {**made("vexriscv").files, **library.files})
    (tmp_path / "firmware" / "soc_board.c").write_text("int f(void) { return x; }\n")
    with pytest.raises(SocError, match=r"make firmware.init in firmware ended with status 2:\n"):
        build_firmware(tmp_path)


def test_errors_of_litex_are_told(library: Library, tmp_path: Path) -> None:
    other = replace(soc_processor("vexriscv"), variant="none")
    with pytest.raises(SocError, match="LiteX ended with status 1; its output ended with"):
        soc_sources(library.exported, load_config("tiny-x"), other, MEMORY, 64, tmp_path)


@pytest.mark.parametrize("memory", [MemoryModel(LEAST_LATENCY - 1), MemoryModel(16, interval=2)])
def test_other_timing_is_refused(memory: MemoryModel) -> None:
    with pytest.raises(SocError, match=r"memory of latency \d+ and interval \d: that of a system"):
        check_memory(memory)


@pytest.mark.parametrize("package", ["litex", "migen", "pythondata_cpu_picorv32"])
def test_missing_packages_are_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "find_spec", lambda name: None if name == package else object())
    with pytest.raises(
        MissingPackageError, match=r"pip install 'tandem-workbench\[soc\]'"
    ) as found:
        check_packages(soc_processor("picorv32"))
    assert package.replace("_", "-") in str(found.value)


def test_missing_tools_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(SocError, match=r"no riscv64-unknown-elf-gcc, .*: apt install gcc-riscv64"):
        build.check_tools()


BOARD = """\
import sys

{code}
assert "tandem tandem" in text or "tandem tandem_" in text
assert soc.irq.locs["tandem"] >= 0
print(len(platform.sources), core.config.name)
"""


def test_a_system_of_ones_own(tmp_path: Path) -> None:
    """The code of `docs/soc.md`: the accelerator on the system's bus, which has words."""
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "soc.md").read_text(), re.DOTALL)
    code = code.replace('"build/small8-x"', "sys.argv[1]")
    tandem.verilog("tiny-x", tmp_path / "rtl")
    with ProcessGroup() as group:
        status, output = group.run(
            (sys.executable, "-c", BOARD.replace("{code}", code), str(tmp_path / "rtl")), ROOT
        )
    assert status == 0, output
    count, name = output.split()[-2:]
    assert int(count) == len((tmp_path / "rtl" / FILE_LIST).read_text().split()) + 1
    assert name == "tiny-x"
