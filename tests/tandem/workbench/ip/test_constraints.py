"""Constraints of the clock, as Tcl reads them."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tandem.hw.config_files import load_config
from tandem.hw.rtl.verilog import VerilogDesign
from tandem.sim.rtl.design import verilog_of
from tandem.workbench.ip.constraints import sdc, xdc

# Commands of synthesis tools that print their arguments, an argument a line.
_COMMANDS = """
proc get_ports {ports} { return $ports }
foreach name {create_clock set_input_delay set_output_delay} {
    proc $name {args} "puts $name; foreach word \\$args { puts \\[join \\$word { }\\] }"
}
"""


@pytest.fixture(scope="module")
def design() -> VerilogDesign:
    return verilog_of(load_config("tiny"))


def commands(text: str) -> list[str]:
    assert shutil.which("tclsh"), "tclsh is not installed (Debian: apt install tcl)"
    done = subprocess.run(
        ("tclsh",), input=_COMMANDS + text, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


def test_the_clock_and_a_delay_at_every_port(design: VerilogDesign) -> None:
    found = commands(sdc(design, 125))
    assert found[:6] == ["create_clock", "-name", "aclk", "-period", "8.000", "aclk"]
    inputs, outputs = (found[7:11], found[11:])
    assert inputs[:3] == ["-clock", "aclk", "2.400"]
    assert outputs[:4] == ["set_output_delay", "-clock", "aclk", "2.400"]
    listed = {*inputs[3].split(), *outputs[4].split()}
    ports = {port.name: port.width for port in design.ports if port.name != "aclk"}
    assert listed == {f"{name}[*]" if width > 1 else name for name, width in ports.items()}
    assert "m_axi_arready" in inputs[3].split()
    assert "irq" in outputs[4].split()


def test_vivados(design: VerilogDesign) -> None:
    assert commands(xdc(200)) == ["create_clock", "-name", "aclk", "-period", "5.000", "aclk"]
