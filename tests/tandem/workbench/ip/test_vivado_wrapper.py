"""The wrapper for Vivado: the machine's ports with attributes, and Verilog that tools take."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.sim.rtl.design import verilog_of
from tandem.sim.rtl.toolchain import find_toolchain
from tandem.workbench.ip.vivado_wrapper import vivado_wrapper

_PORT = re.compile(
    r'\(\* X_INTERFACE_INFO = "(?P<kind>\S+) (?P<interface>\S+) (?P<signal>\S+)" \*\)\n'
    r'(?:  \(\* X_INTERFACE_PARAMETER = "(?P<parameters>[^"]*)" \*\)\n)?'
    r"  (?P<direction>input|output) wire(?: \[(?P<high>\d+):0\])? (?P<name>\w+)"
)
TINY = load_config("tiny")


@pytest.fixture(scope="module")
def tiny() -> VerilogDesign:
    return verilog_of(TINY)


def widened(design: VerilogDesign) -> VerilogDesign:
    """Its ports with a wider bus and longer addresses."""
    widths = {64: 128, 32: 40, 8: 16}
    ports = (
        replace(port, width=widths.get(port.width, port.width))
        if port.name.startswith("m_axi_") and not port.name.endswith("len")
        else port
        for port in design.ports
    )
    return replace(design, ports=tuple(ports))


@pytest.mark.parametrize("wide", [False, True])
def test_every_port_has_its_interface(wide: bool, tiny: VerilogDesign) -> None:
    config = TINY.replace(bus_bits=128, address_bits=40) if wide else TINY
    design = widened(tiny) if wide else tiny
    text = vivado_wrapper(config, design)
    found = {match["name"]: match for match in _PORT.finditer(text)}
    expected = [port for port in design.ports if port.name != "events"]
    assert [*found] == [port.name for port in expected]
    for port in expected:
        match = found[port.name]
        assert match["direction"] == ("input" if port.is_input else "output")
        assert int(match["high"] or 0) + 1 == port.width
        if "_axi_" in port.name:
            assert match["kind"] == "xilinx.com:interface:aximm:1.0"
            assert f"{match['interface']}_{match['signal']}".lower() == port.name
    first = {match["interface"]: match for match in reversed(found.values())}
    parameters = {name: match["parameters"] for name, match in first.items()}
    assert {*parameters} == {"aclk", "aresetn", "irq", "M_AXI", "S_AXI"}
    given = [match["parameters"] for match in found.values() if match["parameters"]]
    assert len(given) == len(parameters), "the parameters of an interface stand once"
    assert "ASSOCIATED_BUSIF M_AXI:S_AXI" in parameters["aclk"]
    assert f"DATA_WIDTH {config.bus_bits}, ADDR_WIDTH {config.address_bits}" in parameters["M_AXI"]


def test_verilator_and_icarus_are_silent(tiny: VerilogDesign, tmp_path: Path) -> None:
    files = {**tiny.files, "tandem_vivado.v": vivado_wrapper(TINY, tiny)}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    icarus = ("iverilog", "-g2005", "-Wall", "-s", "tandem_vivado", "-t", "null", *files)
    tools = find_toolchain()
    lint = (str(tools.verilator), "--lint-only", "-Wall", "--top-module", "tandem_vivado")
    silent = ("-Wno-WIDTHEXPAND", "-Wno-WIDTHTRUNC", "-Wno-UNUSEDSIGNAL", "-Wno-CMPCONST")
    # The wrapper leaves the machine's port for logic analysers open.
    verilator = (*lint, *silent, "-Wno-PINCONNECTEMPTY", *files)
    for command in (icarus, verilator):
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "VERILATOR_ROOT": str(tools.verilator_root)},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
