"""The script for Vivado, in Tcl with commands of Vivado that do nothing: its syntax, and its ends.

Vivado itself was not there.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tandem.hw.config_files import load_config
from tandem.sim.rtl.design import verilog_of
from tandem.workbench.ip.block_design import block_design
from tandem.workbench.ip.vivado_wrapper import vivado_wrapper

_COMMANDS = (
    "create_project add_files set_property update_compile_order create_bd_design create_bd_cell "
    "apply_bd_automation connect_bd_net connect_bd_intf_net assign_bd_address validate_bd_design "
    "save_bd_design make_wrapper get_bd_pins get_bd_intf_pins get_files current_fileset"
)
# Each prints a line, and returns its last argument, as pins and cells are what they are called.
_STUBS = r"""
proc call {name arguments} {
    puts [regsub -all {\s+} "$name [join $arguments { }]" { }]
    return [lindex $arguments end]
}
foreach name [split $names] { proc $name {args} "call $name \$args" }
set argv {}
"""


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The commands of Vivado that the script calls."""
    assert shutil.which("tclsh"), "tclsh is not installed (Debian: apt install tcl)"
    folder = tmp_path_factory.mktemp("vivado")
    config = load_config("tiny")
    (folder / "tandem.f").write_text("tandem.v\ntandem_core.v\n")
    script = folder / "block_design.tcl"
    script.write_text(block_design(config, 125))
    around = folder / "around.tcl"
    around.write_text(f"set names {{{_COMMANDS}}}\n{_STUBS}\nsource {script}\n")
    done = subprocess.run(("tclsh", str(around)), capture_output=True, text=True, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return [line.strip() for line in done.stdout.splitlines()]


def test_every_source_is_added(lines: list[str]) -> None:
    added = [Path(line.split()[-1]).name for line in lines if line.startswith("add_files ")]
    assert added == ["tandem.v", "tandem_core.v", "tandem_vivado.v", "tandem.xdc"]


def test_every_interface_of_the_machine_is_connected(lines: list[str]) -> None:
    """Once, by its name in the wrapper."""
    config = load_config("tiny")
    text = vivado_wrapper(config, verilog_of(config))
    interfaces = {*re.findall(r'X_INTERFACE_INFO = "\S+ (\S+) ', text)}
    connected = [
        pin
        for line in lines
        if line.startswith(("connect_bd_net ", "connect_bd_intf_net "))
        for pin in re.findall(r"\btandem/(\w+)", line)
    ]
    assert sorted(connected) == sorted(interfaces)


def test_the_end_is_a_design_with_a_clock(lines: list[str]) -> None:
    assert any("CONFIG.PCW_FPGA0_PERIPHERAL_FREQMHZ 125" in line for line in lines)
    assert lines.index("validate_bd_design") < lines.index("save_bd_design")
