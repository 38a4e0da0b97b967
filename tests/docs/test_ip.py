"""The page of the core: its ports, offsets, limits and formats are the machine's."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from msgspec.structs import asdict

from tandem.hw.axi import ID_BITS, INCR
from tandem.hw.config import PAGE_BYTES, HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.faults import Fault
from tandem.hw.memory_model import DEFAULT_MEMORY, parse_memory
from tandem.hw.registers import (
    ADDRESS_BITS,
    MAGIC,
    NO_INSTRUCTION,
    VERSION,
    Control,
    Interrupt,
    Status,
    register_map,
)
from tandem.hw.rtl.verilog import Port
from tandem.hw.timing import FETCH_BURST
from tandem.runtime.artifact import PaddedAxis, PlacedTensor, Scale, Windows
from tandem.sim.rtl.design import verilog_of
from tandem.workbench.ip.__main__ import generator_folder
from tandem.workbench.ip.core_file import core_name
from tandem.workbench.ip.launches import RecordedLaunch, Transfer, launch_files
from tandem.workbench.ip.names import COMPANION_FILES
from tests.support.workbench.benches import fusesoc, passed, written

PAGE = Path("docs/ip.md").read_text("utf-8")
TOOLS = Path("docs/ip-tools.md").read_text("utf-8")


def table(heading: str) -> list[list[str]]:
    """The cells of the first table behind a heading, without its first two rows."""
    rows = PAGE.partition(f"\n## {heading}\n")[2].split("\n\n|", 1)[1].split("\n\n", 1)[0]
    lines = rows.splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def code(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


@pytest.mark.parametrize(
    "config", [*map(load_config, ("tiny", "ultra96"))], ids=["tiny", "ultra96"]
)
def test_ports(config: HardwareConfig) -> None:
    listed = {
        Port(name, _bits(config, row[2]), row[1] == "in")
        for row in table("Ports")
        for name in code(row[0])
    }
    assert listed == {*verilog_of(config).ports}


def _bits(config: HardwareConfig, cell: str) -> int:
    if cell.isdigit():
        return int(cell)
    field, _, divisor = cell.strip("`").partition(" / ")
    value: int = getattr(config, field)
    return value // int(divisor or 1)


def test_the_bus() -> None:
    rows = {row[0]: row[1:] for row in table("The memory bus")}
    assert INCR == 1
    assert f"| {ID_BITS} | the same for all bursts" in PAGE
    assert f"There are {['one', 'two', 'three', 'four'][(1 << ID_BITS) - 1]} IDs" in PAGE
    beats = rows["beats of a burst, at most"]
    assert beats == [
        f"`longest_burst`; of instructions, {FETCH_BURST} instructions",
        "`longest_burst`",
    ]
    assert f"a multiple of {PAGE_BYTES:,} bytes" in rows["4 KiB"][0]
    fields = {name for row in rows.values() for cell in row for name in code(cell)}
    limits = {"longest_burst", "reads_in_flight", "writes_in_flight"}
    assert fields == limits | {Fault.BUS_READ.name, Fault.BUS_WRITE.name}
    assert limits < {*HardwareConfig.__dataclass_fields__}
    assert f"Decode {(1 << ADDRESS_BITS) >> 10} KiB" in PAGE


def test_the_sequence() -> None:
    offsets = {register.name: register.offset for register in register_map()}
    registers = {register.name: register for register in register_map()}
    found = []
    for _, names, offset, access, _ in table("Programming"):
        *_, name = code(names)
        assert offsets[name] == int(offset, 16), name
        if access == "write":
            assert registers[name].access.value != "ro", name
        found.append(name)
    assert found.index("instruction_address") < found.index("control") < found.index("cycles")
    assert f"0x{MAGIC:08X}" in PAGE
    assert VERSION >> 16 == 1
    assert f"0x{NO_INSTRUCTION:08X}".replace("0X", "0x") in PAGE
    assert (Control.LAUNCH, Control.SOFT_RESET) == (1, 2)
    assert Interrupt.DONE | Interrupt.ERROR == 3
    bits = [("RUNNING", 0), ("DONE", 1), ("ERROR", 2), ("DRAINING", 3), ("FENCED", 4)]
    assert [(flag.name, flag.bit_length() - 1) for flag in Status] == bits


def test_the_names_of_a_launch() -> None:
    tensor = PlacedTensor("x", 0, (1, 2, 1, 1, 1, 8), "int8")
    windows = Windows((3, 3), (1, 1), (1, 1, 1, 1), (1, 1))
    transfer = Transfer(tensor, np.zeros(16, np.int8), (PaddedAxis(10, 1, 5),), windows)
    launch = RecordedLaunch("s", (transfer,), (transfer,), 7)
    scales = {"x": Scale(0.5)}
    files = launch_files("net", "tiny", [launch], ["s.bin"], scales, DEFAULT_MEMORY)
    listing = json.loads(files["net_launches.json"])
    keys = {*listing, *listing["launches"][0], *listing["launches"][0]["inputs"][0]}
    assert {*listing["scales"][0]} == {"name", "step", "zero"}
    rows = {name: row[1] for row in table("The launches of a network") for name in code(row[0])}
    assert {*rows} == keys - {"format"}
    assert {*code(rows["windows"])} == {*asdict(windows)}
    assert parse_memory(listing["memory"]) == DEFAULT_MEMORY
    assert {*listing["launches"][0]["inputs"][0]["extents"][0]} == {"outer", "inner", "extent"}


def test_the_words_of_a_file() -> None:
    """Its head; `tests.support.sim.streams` reads the whole anew."""
    head, *lists = table("The file of a stream")
    assert head[0] == "10"
    assert [row[0] for row in lists] == ["2 a check", "1 a base", "2 a segment"]
    words = head[1].replace(", and the numbers of", ",").replace(" and ", ", ").split(", ")
    assert words[:2] == ['"TDNS"', "version 1"]
    assert len(words) == 10


def test_names_of_files_and_cores() -> None:
    name = core_name(load_config("small8-x")).rpartition(":")[0]
    assert TOOLS.count(name) >= 4
    for file in ("tandem.sdc", "tandem.xdc", "tandem_vivado.v", "block_design.tcl", "lint.vlt"):
        assert f"`{file}`" in TOOLS
        assert file in COMPANION_FILES


def test_modules_have_names_that_can_be_replaced() -> None:
    """All begin with `tandem`, as the page's `sed` wants it; with another name none is twice."""
    assert "sed -i 's/\\btandem/second/g' second/*.v" in TOOLS
    texts = verilog_of(load_config("small8-x")).files.values()
    modules = [name for text in texts for name in re.findall(r"^module (\w+)", text, re.MULTILINE)]
    renamed = {re.sub(r"\btandem", "second", name) for name in modules}
    assert len(renamed) == len(modules)
    assert not renamed & {*modules}


def user(folder: Path) -> str:
    """Write the Verilog and the testbench of the page's core; returns the core itself."""
    blocks = dict(re.findall(r"```(verilog|python)\n(.*?)```", TOOLS, re.DOTALL))
    folder.mkdir()
    (folder / "top.v").write_text(blocks["verilog"])
    (folder / "test_top.py").write_text(blocks["python"])
    whole, _ = re.findall(r"```yaml\n(.*?)```", TOOLS, re.DOTALL)
    return str(whole)


@pytest.mark.parametrize("generated", [False, True])
def test_a_core_that_depends_on_the_machine(generated: bool, tmp_path: Path) -> None:
    """FuseSoC finds the files that the page promises; it starts no tool."""
    whole = user(tmp_path / "user")
    if generated:
        _, other = re.findall(r"```yaml\n(.*?)```", TOOLS, re.DOTALL)
        whole = whole.partition("    depend:")[0] + other + whole[whole.index("  lint:") :]
        whole = whole.replace("config: small8-x", "config: tiny")
    else:
        written(load_config("small8-x"), tmp_path / "user" / "small8-x")
    (tmp_path / "user" / "top.core").write_text(whole)
    ours = str(Path(__file__).parents[2])
    roots = (tmp_path / "user", *([generator_folder()] * generated))
    how = ("--target=lint", "--setup", "me:soc:top")
    status, output = fusesoc(tmp_path, roots, *how, PYTHONPATH=ours)
    assert status == 0, output
    (listing,) = tmp_path.rglob("*.eda.yml")
    listed = {Path(file["name"]).name for file in yaml.safe_load(listing.read_text())["files"]}
    assert {"top.v", "tandem.v", "tandem_core.v"} <= listed
    assert not listed & {"tandem.sdc", "tandem.xdc", "tandem_vivado.v"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("options", [("lint",), ("sim",), ("sim", "--tool", "verilator")])
def test_the_tools_of_a_core_that_depends_on_the_machine(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    target, *others = options
    core = user(folder := tmp_path / "user")
    (folder / "top.core").write_text(core)
    written(load_config("small8-x"), folder / "small8-x")
    how = (f"--target={target}", "me:soc:top", *others)
    status, output = fusesoc(tmp_path, (folder,), *how)
    assert status == 0, output
    if target == "sim":
        assert passed(output) == 1
