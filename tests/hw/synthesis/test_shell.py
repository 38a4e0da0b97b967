"""The shell around a design: every port but the clock lies between registers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tandem.base.cache import default_cache
from tandem.hw.config_files import load_config
from tandem.hw.rtl.verilog import Port, VerilogDesign
from tandem.hw.synthesis.shell import SHELL, UNCONNECTED, registered_shell
from tandem.hw.synthesis.yosys import run
from tandem.sim.rtl.design import verilog_of

PORTS = (
    Port("aclk", 1, True),
    Port("a", 3, True),
    Port("b", 1, True),
    Port("y", 4, False),
    Port("events", 2, False),
)
INVERTER = VerilogDesign(
    "inverter",
    {
        "inverter.v": "module inverter(input aclk, input [2:0] a, input b, output [3:0] y, "
        "output [1:0] events); assign y = ~{b, a}; assign events = a; endmodule\n"
    },
    ("inverter",),
    PORTS,
)


def cells(design: VerilogDesign, folder: Path) -> dict[str, int]:
    """The number of cells of each type in the flat shell."""
    for name, text in {**design.files, "shell.v": registered_shell(design)}.items():
        (folder / name).write_text(text)
    files = " ".join(["shell.v", *design.files])
    script = f"read_verilog {files}\nhierarchy -check -top {SHELL}\nproc\nflatten\nopt\n"
    run(f"{script}simplemap\nopt\ntee -q -o s.json stat -json\n", folder, default_cache())
    found: dict[str, int] = json.loads((folder / "s.json").read_text())["design"][
        "num_cells_by_type"
    ]
    return found


def test_each_bit_has_its_registers(tmp_path: Path) -> None:
    found = cells(INVERTER, tmp_path)
    # The inputs, the outputs, and the chain that shifts the outputs out.
    assert found["$_DFF_P_"] == 3 * 4
    assert found["$_XOR_"] == 4
    assert found["$_NOT_"] == 4


@pytest.mark.parametrize("name", ["tiny", pytest.param("pynq", marks=pytest.mark.exhaustive)])
def test_the_accelerator_s_ports(name: str) -> None:
    design = verilog_of(load_config(name))
    text = registered_shell(design)
    for port in design.ports:
        assert (f".{port.name}(" in text) == (port.name not in UNCONNECTED), port
        width = f"[{port.width - 1}:0] " if port.width > 1 else ""
        declared = f"  {'input' if port.is_input else 'output'} wire {width}{port.name}"
        lines = design.files["tandem.v"].splitlines()
        assert any(line.partition("  //")[0].rstrip(",") == declared for line in lines)
