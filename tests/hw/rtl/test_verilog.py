"""The generated Verilog, as the tools of others will see it."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.rtl import verilog
from tandem.hw.rtl.queue import SHALLOW
from tandem.hw.rtl.verilog import TOP, VerilogDesign, generate
from tandem.sim.rtl.design import verilog_of

QUICK = ("tiny", pytest.param("pynq", marks=pytest.mark.exhaustive))

NAMED = ("tiny", "small8")
ROOT = Path(__file__).parents[3]

_PORT = re.compile(r"^  (input|output) (?:wire|reg) (?:\[(\d+):0\] )?(\w+),?(?:  // .+)?$", re.M)
_SIGNAL = re.compile(r"^ .*\b(?:wire|reg) (?:\[\d+:0\] )?(\w+)(?: \[\d+:0\])?[,;]?", re.M)
_MEMORY = re.compile(r"^  reg (?:\[\d+:0\] )?(\w+) \[\d+:0\];$", re.M)


@cache
def design(name: str, *, events: bool = True, locations: bool = False) -> VerilogDesign:
    """A preset's, generated once; the one of another process, below, is made anew."""
    return verilog_of(load_config(name), events=events, locations=locations)


def test_a_failure_of_yosys_is_shown() -> None:
    with pytest.raises(RuntimeError, match=r"^Yosys ended with status 1: .*no_such_pass"):
        verilog._yosys("no_such_pass\n")


def digest(files: dict[str, str]) -> str:
    return hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()


@pytest.mark.exhaustive
def test_the_same_bytes_every_time() -> None:
    again = generate(load_config("tiny"))
    assert again.files == design("tiny").files
    assert list(again.files) == list(design("tiny").files)


def test_the_same_bytes_in_another_process() -> None:
    """Nothing may depend on the order of a set or a dictionary of objects."""
    script = (
        "import hashlib\n"
        "from tandem.hw.config_files import load_config\n"
        "from tandem.hw.rtl.verilog import generate\n"
        "files = generate(load_config('tiny')).files\n"
        "print(hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest())\n"
    )
    root = str(ROOT)
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "PYTHONPATH": root}
    answer = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == digest(design("tiny").files)


@pytest.mark.parametrize("name", QUICK)
def test_a_file_for_each_module(name: str) -> None:
    found = design(name)
    assert found.top == TOP == "tandem"
    assert found.modules[0] == TOP
    assert list(found.files) == [f"{module}.v" for module in found.modules]
    for module in found.modules:
        text = found.files[f"{module}.v"]
        assert re.findall(r"^module (\S+?)\(", text, re.M) == [module]
        assert re.fullmatch(r"tandem\w*", module)
        assert text.startswith(f"// {module}: part of the Tandem accelerator, configuration {name}")


@pytest.mark.parametrize("name", QUICK)
def test_every_module_is_used(name: str) -> None:
    found = design(name)
    used = {TOP}
    for text in found.files.values():
        used |= set(re.findall(r"^  (tandem_\w+) \w+ \($", text, re.M))
    assert used == set(found.modules)


def test_equal_lanes_are_one_module() -> None:
    config = load_config("small8")
    found = design("small8")
    assert [module for module in found.modules if "lane" in module] == ["tandem_lane"]
    assert [module for module in found.modules if "mac" in module] == ["tandem_mac"]
    instances = re.findall(r"^  tandem_lane (lane_\d+) \($", found.files["tandem_array.v"], re.M)
    assert len(set(instances)) == config.acc_lanes


@pytest.mark.parametrize("name", QUICK)
def test_nothing_of_this_machine_is_in_it(name: str) -> None:
    text = "".join(design(name).files.values())
    assert str(ROOT) not in text
    assert ".py" not in text


AXI = {
    "m_axi_arvalid": "output",
    "m_axi_arready": "input",
    "m_axi_rvalid": "input",
    "m_axi_rready": "output",
    "m_axi_awvalid": "output",
    "m_axi_awready": "input",
    "m_axi_wvalid": "output",
    "m_axi_wready": "input",
    "m_axi_bvalid": "input",
    "m_axi_bready": "output",
    "s_axi_arvalid": "input",
    "s_axi_arready": "output",
    "s_axi_rvalid": "output",
    "s_axi_rready": "input",
    "s_axi_awvalid": "input",
    "s_axi_awready": "output",
    "s_axi_wvalid": "input",
    "s_axi_wready": "output",
    "s_axi_bvalid": "output",
    "s_axi_bready": "input",
}
BESIDE = {
    "output": "m_axi_ araddr arlen arsize arburst arcache arprot arid "
    "awaddr awlen awsize awburst awcache awprot awid wdata wstrb wlast",
    "input": "m_axi_ rdata rresp rlast rid bresp bid",
}
LITE = {
    "output": "s_axi_ rdata rresp bresp",
    "input": "s_axi_ araddr arprot awaddr awprot wdata wstrb",
}


@pytest.mark.parametrize(
    ("name", "data", "address"),
    [("tiny", 64, 32), pytest.param("ultra96", 128, 40, marks=pytest.mark.exhaustive)],
)
def test_the_top_has_the_ports_that_vendor_tools_infer(name: str, data: int, address: int) -> None:
    found = _PORT.findall(design(name).files["tandem.v"])
    wanted = dict(AXI) | {"aclk": "input", "aresetn": "input"}
    wanted |= {"irq": "output", "events": "output"}
    for channels in (BESIDE, LITE):
        for way, text in channels.items():
            prefix, *names = text.split()
            wanted |= {prefix + each: way for each in names}
    assert {port: way for way, _, port in found} == wanted
    widths = {port: int(high or 0) + 1 for _, high, port in found}
    assert widths["m_axi_araddr"] == widths["m_axi_awaddr"] == address
    assert widths["m_axi_rdata"] == widths["m_axi_wdata"] == data
    assert widths["m_axi_wstrb"] == data // 8
    assert (widths["m_axi_arlen"], widths["s_axi_wdata"], widths["s_axi_wstrb"]) == (8, 32, 4)
    assert widths["aclk"] == widths["aresetn"] == widths["irq"] == 1


@pytest.mark.parametrize("name", QUICK)
def test_everything_is_clocked_by_one_edge_and_reset_in_step_with_it(name: str) -> None:
    for file, text in design(name).files.items():
        edges = set(re.findall(r"always @\s*(\([^)]*\)|\*)", text))
        assert edges <= {"(posedge clk)", "*"}, file
        assert not re.search(r"\binitial\b", text), file
        assert not re.search(r"\breg\b[^;\n]*=", text), file


@pytest.mark.parametrize("name", QUICK)
def test_memories_are_block_ram(name: str) -> None:
    """One write port, one read, no reset; the read is synchronous but in shallow queues."""
    seen = 0
    for file, text in design(name).files.items():
        for memory in _MEMORY.findall(text):
            seen += 1
            writes = re.findall(rf"\b{memory}\[([^\]]+)\](?:\[\d+:\d+\])? <= ", text)
            assert len(set(writes)) == 1, f"{file}: {memory} is written at {set(writes)}"
            shallow = re.fullmatch(r"tandem_queue_\d+x(\d+)(?:_numbered)?(?:_\d+)?\.v", file)
            clocked = shallow is None or int(shallow[1]) > SHALLOW
            assign = "<=" if clocked else "="
            reads = re.findall(rf"{assign} {memory}\[([^\]]+)\]", text)
            assert len(reads) == 1, f"{file}: {memory} is read at {reads}"
            assert len(re.findall(rf"\b{memory}\[", text)) == len(writes) + 1
            for block in text.split("always @")[1:]:
                if f"{memory}[" in block:
                    body = block[: block.index("\n  end\n")]
                    assert "rst" not in body, f"{file}: {memory} is reset"
    assert seen > 8


@pytest.mark.parametrize("name", QUICK)
def test_clocked_memories_have_files_of_their_own(name: str) -> None:
    """No reset, no logic, and a contract for a macro in the file's place."""
    seen = 0
    for file, text in design(name).files.items():
        if not any(f"<= {memory}[" in text for memory in _MEMORY.findall(text)):
            continue
        seen += 1
        assert file.startswith("tandem_on_chip_memory_")
        assert [port for _, _, port in _PORT.findall(text)] == [
            *("clk", "write_enable", "write_address", "write_data"),
            *("read_enable", "read_address", "read_data"),
        ]
        assert "assign" not in text
        assert "// - There is no reset" in text
    assert seen > 4


@pytest.mark.parametrize("name", NAMED)
def test_signals_have_names(name: str) -> None:
    """At most one in twenty may be called `_12_`; before, more than half were."""
    names = [each for text in design(name).files.values() for each in _SIGNAL.findall(text)]
    nameless = [each for each in names if re.fullmatch(r"_\d+_", each)]
    assert len(names) > 1000
    assert len(nameless) <= 0.05 * len(names)
    assert not [text for text in design(name).files.values() if "\\" in text]


def test_fields_of_structures_have_names() -> None:
    text = design("tiny").files["tandem_store.v"]
    assert "  wire writes_order_payload_ends;" in text


def test_ports_of_the_top_are_in_order_with_comments() -> None:
    text = design("tiny").files["tandem.v"]
    lines = text[text.index("module ") : text.index(");\n")].splitlines()[1:]
    titles = [line.strip(" /") for line in lines if line.startswith("  //")]
    channels = ("read address", "read data", "write address", "write data", "write response")
    slave = ("write address", "write data", "write response", "read address", "read data")
    assert titles == [
        *(f"AXI4 master, {channel} channel" for channel in channels),
        *(f"AXI4-Lite slave, {channel} channel" for channel in slave),
    ]
    ports = [port for _, _, port in _PORT.findall(text)]
    assert ports == [port.name for port in design("tiny").ports]
    assert ports[:2] == ["aclk", "aresetn"]
    assert ports[-2:] == ["irq", "events"]
    assert all("  // " in line for line in lines)


@pytest.mark.parametrize("name", QUICK)
def test_ports_of_modules_are_clock_reset_inputs_outputs(name: str) -> None:
    for file, text in design(name).files.items():
        if file == "tandem.v":
            continue
        ports = [(way, port) for way, _, port in _PORT.findall(text)]
        ways = [way for way, _ in ports]
        assert ways == sorted(ways), file
        clocking = [port for _, port in ports if port in ("clk", "rst")]
        assert [port for _, port in ports[: len(clocking)]] == clocking, file
        assert clocking == sorted(clocking), file


def test_without_events_there_is_no_such_port() -> None:
    found = design("tiny", events=False)
    assert "events" not in [port.name for port in found.ports]
    assert not re.search(r"\bevents\b", found.files["tandem.v"])
    assert found.modules == design("tiny").modules


def test_places_in_source_change_nothing_else() -> None:
    found = design("tiny", events=False, locations=True)
    places = re.compile(r'^  \(\* src = "(.*)" \*\)\n', re.M)
    without = {name: places.sub("", text) for name, text in found.files.items()}
    assert without == design("tiny", events=False).files
    joined = "|".join(name for text in found.files.values() for name in places.findall(text))
    named = set(joined.split("|"))
    assert len(named) > 500
    for place in named:
        file, line = place.split(":")
        assert int(line) <= len((ROOT / file).read_text().splitlines())


@pytest.mark.parametrize("name", QUICK)
def test_the_only_attribute_is_that_of_memories(name: str) -> None:
    for file, text in design(name).files.items():
        attributes = re.findall(r"\(\*.*?\*\)", text)
        memories = _MEMORY.findall(text)
        clocked = sum(f"<= {memory}[" in text for memory in memories)
        assert attributes == ["(* no_rw_check = 32'd1 *)"] * clocked, file
