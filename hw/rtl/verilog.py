"""Regenerates the Verilog: hierarchical, one file a module, the same bytes every time."""

from __future__ import annotations

import re
from dataclasses import dataclass

from amaranth._toolchain.yosys import find_yosys
from amaranth.hdl import ClockDomain, Module, Signal
from amaranth.hdl._ir import PortDirection

from hw.config import HardwareConfig
from hw.rtl.multiplexers import unfold_multiplexers
from hw.rtl.netlist import Netlist, ports_of
from hw.rtl.top import Accelerator

__all__ = ["TOP", "VerilogDesign", "generate"]

TOP = "tandem"

_SIMPLIFY = """\
read_rtlil <<rtlil
{netlist}
rtlil
proc
opt_expr
opt_clean -purge
opt_dff
opt_expr
opt_clean -purge
memory_collect
write_rtlil
"""

_WRITE = """\
read_rtlil <<rtlil
{netlist}
rtlil
opt_expr
opt_clean -purge
write_verilog
"""

# Yosys's own notes. The attributes that are left are those that the design gives.
_NOTES = re.compile(r'^ *\(\* unused_bits = "[^"]*" \*\)\n|\(\* full_case = 32\'d1 \*\) ', re.M)


@dataclass(frozen=True, slots=True)
class VerilogDesign:
    """The design as text. `files` maps file names to contents, the top module's first."""

    top: str
    files: dict[str, str]
    modules: tuple[str, ...]


def generate(config: HardwareConfig) -> VerilogDesign:
    """The Verilog of the accelerator that `config` describes."""
    netlist = Netlist(TOP)
    accelerator = Accelerator(config)
    aclk, aresetn = Signal(name="aclk"), Signal(name="aresetn")
    board = Module()
    board.domains.sync = sync = ClockDomain()
    board.d.comb += [sync.clk.eq(aclk), sync.rst.eq(~aresetn)]
    board.submodules.accelerator = accelerator
    clocking = {"aclk": (aclk, PortDirection.Input), "aresetn": (aresetn, PortDirection.Input)}
    netlist.add(TOP, board, {**clocking, **ports_of(accelerator)})

    yosys = find_yosys(lambda version: version >= (0, 40))
    simple = yosys.run(["-q", "-"], _SIMPLIFY.format(netlist=netlist.text), ignore_warnings=True)
    final = _WRITE.format(netlist=unfold_multiplexers(simple))
    text = _NOTES.sub("", yosys.run(["-q", "-"], final, ignore_warnings=True))
    modules = _split(text)
    names = (TOP, *sorted(name for name in modules if name != TOP))
    return VerilogDesign(
        top=TOP,
        files={f"{name}.v": _header(config, name) + modules[name] for name in names},
        modules=names,
    )


def _split(text: str) -> dict[str, str]:
    """The modules of one Verilog text, by name."""
    modules: dict[str, str] = {}
    for chunk in text.split("endmodule\n"):
        start = chunk.find("module ")
        if start >= 0:
            name = chunk[start + len("module ") :].split("(", 1)[0].strip()
            modules[name] = chunk[start:] + "endmodule\n"
    return modules


def _header(config: HardwareConfig, name: str) -> str:
    return (
        f"// {name}: part of the Tandem accelerator, configuration {config.name}.\n"
        "// Generated; change the source in hw/rtl and regenerate.\n\n"
    )
