"""Systems for an ECP5: what is laid out, and what is written; one is placed and routed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

import tandem
from tandem.compiler.quantise.options import Mode
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import MemoryModel
from tandem.hw.synthesis.chip import CellUse, Chip, Layout, PartUse
from tandem.hw.synthesis.native_tool import Program
from tandem.hw.synthesis.nextpnr import Device
from tandem.hw.synthesis.routes import Route, Timing
from tandem.workbench.errors import SocError
from tandem.workbench.models import ModelOptions
from tandem.workbench.opened import open_model
from tandem.workbench.soc import (
    GatewareOptions,
    SocGateware,
    SocOptions,
    gateware,
    make_soc,
    soc_processor,
)
from tandem.workbench.soc.description import LEAST_LATENCY
from tandem.workbench.soc.firmware import NETWORK, SocMap
from tandem.workbench.soc.gateware import make_gateware
from tandem.workbench.soc.sources import SocSources, soc_sources
from tests.support.compiler.models.digits import digits

pytest.importorskip("litex", reason="the extra soc")

CONTENTS = {"soc_rom.init": "00000013\n" * 1250, "soc_memory.init": f"{7:016x}\n"}
BYTES = 5000
"""Of the firmware."""
FOUND = Layout(
    Timing(
        Device.ECP5_85,
        6,
        tuple(Route(seed, mhz, ()) for seed, mhz in enumerate((71.0, 69.0, 75.5), 1)),
    ),
    {"accelerator": PartUse(lut=10, ff=3), "ROM": PartUse(bram=3)},
    {"DP16KD": CellUse(60, 208)},
)


@dataclass
class Tools:
    """Stands for Yosys and nextpnr."""

    chips: list[Chip] = field(default_factory=list)
    arguments: tuple[Device, int, list[int]] | None = None

    def lay_out(
        self,
        chip: Chip,
        device: Device,
        speed: int,
        seeds: Iterable[int],
        *,
        nextpnr: Program,
        report: object,
    ) -> Layout:
        self.chips.append(chip)
        self.arguments = (device, speed, [*seeds])
        return FOUND


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Tools:
    found = Tools()
    monkeypatch.setattr(gateware, "lay_out", found.lay_out)
    return found


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], SocSources]:
    """Makes the sources of a system with a processor, each once."""

    @cache
    def make(processor: str) -> SocSources:
        return made_in(tmp_path_factory.mktemp(processor), processor)

    return make


def made_in(folder: Path, processor: str) -> SocSources:
    for name in ("library", "sources"):
        (folder / name).mkdir()
    cpu = tandem.Cpu("riscv32-unknown-elf", features=["m"])
    exported = digits("tiny-x", processor=cpu).export(folder / "library", name=NETWORK)
    config, memory = load_config("tiny-x"), MemoryModel(LEAST_LATENCY)
    return soc_sources(
        exported.header, config, soc_processor(processor), memory, 64, folder / "sources"
    )


@pytest.mark.parametrize("processor", ["vexriscv", "picorv32"])
def test_a_chip(
    tools: Tools, sources: Callable[[str], SocSources], tmp_path: Path, processor: str
) -> None:
    made = sources(processor)
    options = GatewareOptions(Device.ECP5_45, 8, 2, 62.5)
    (tmp_path / "ecp5").mkdir()
    said: list[str] = []
    files, found = make_gateware(made, CONTENTS, BYTES, options, tmp_path / "ecp5", said.append)
    (chip,) = tools.chips
    assert tools.arguments == (Device.ECP5_45, 8, [1, 2])
    assert said == ["the system, by LiteX"]
    # The firmware fills the ROM, in whole blocks.
    assert "reg [31:0] rom[0:1535];" in chip.files["soc.v"]
    # What LiteX wrote as contents is in the place of those that there are.
    assert {name: chip.files[name] for name in CONTENTS} == CONTENTS
    for name in CONTENTS:
        assert f'$readmemh("{name}"' in chip.files["soc.v"]
    assert 'FREQUENCY PORT "sys_clk" 62.5 MHZ;' in chip.constraints
    ports = chip.files["soc.v"].partition("module soc (")[2].partition(");")[0]
    assert {line.split()[-1].rstrip(",") for line in ports.splitlines() if line.strip()} == {
        *("serial_rx", "serial_tx", "sys_clk")
    }
    # Each part is somewhere in the Verilog.
    text = chip.files["soc.v"]
    for begin in chip.parts:
        assert begin.rstrip("._") in text
    assert processor in chip.parts.values()
    assert text.count("(* no_rw_check *)") == 1
    assert sorted(files) == sorted(
        f"ecp5/{name}"
        for name in (
            *("report.json", "soc.lpf", "soc.v", "soc.ys"),
            *("soc_memory.init", "soc_rom.init", "soc_sram.init"),
        )
    )
    # What Yosys reads by hand is in the folder.
    script = files["ecp5/soc.ys"]
    assert isinstance(script, str)
    for line in script.splitlines():
        if line.startswith("read_verilog "):
            name = line.split()[1].removeprefix("../")
            assert name == "soc.v" or name in made.files
    report = json.loads(files["ecp5/report.json"])
    assert report == json.loads(json.dumps(found.as_json()))
    assert (report["mhz"], report["asked_mhz"]) == (71.0, 62.5)
    assert report["resources"]["DP16KD"] == {"used": 60, "available": 208}
    assert report["parts"]["ROM"]["bram"] == 3


def test_a_system_is_fast_enough_by_its_median() -> None:
    assert SocGateware(GatewareOptions(mhz=71.0), FOUND).is_fast_enough
    assert not SocGateware(GatewareOptions(mhz=71.1), FOUND).is_fast_enough


def test_other_addresses_are_refused(
    tools: Tools, sources: Callable[[str], SocSources], tmp_path: Path
) -> None:
    made = sources("vexriscv")
    other = SocMap(made.addresses.regions, {"clock_cycles": 4}, made.addresses.interrupts)
    (tmp_path / "ecp5").mkdir()
    moved = SocSources(made.files, made.description, other, made.cores)
    with pytest.raises(SocError, match="the registers of the simulated system other addresses"):
        make_gateware(moved, CONTENTS, BYTES, GatewareOptions(), tmp_path / "ecp5", print)
    assert not tools.chips


@pytest.mark.exhaustive
@pytest.mark.timeout(4 * 3600)
def test_digits_is_placed_and_routed(tmp_path: Path) -> None:
    """Many minutes: 70 MHz or more, the median of three seeds."""
    if shutil.which("riscv64-unknown-elf-gcc") is None:
        pytest.skip("riscv64-unknown-elf-gcc is not installed")
    options = SocOptions(
        load_config("small8-x"), soc_processor("vexriscv"), MemoryModel(LEAST_LATENCY)
    )
    model = open_model("digits", ModelOptions(Mode.MULTIPLIER), None)
    found = make_soc(model, options, tmp_path / "soc", gateware=GatewareOptions()).gateware
    assert found is not None
    assert found.is_fast_enough, found.as_json()
    assert found.layout.cells["DP16KD"].used <= 208
