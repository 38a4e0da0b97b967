"""Modules of Verilog as Yosys writes them, of a few lines."""

from __future__ import annotations

from tandem.hw.rtl.verilog_module import VerilogModule, parse_module

_PORTS = {
    **dict.fromkeys(("clk", "rst", "a", "b", "c"), ("input", 1)),
    **dict.fromkeys(("v", "w"), ("input", 4)),
    "y": ("output", 1),
    "z": ("output", 4),
}


def module_of(*lines: str, name: str = "m") -> VerilogModule:
    """A module of inputs clk, rst, a, b, c and v, w of four bits, and outputs y and z."""
    text = f"module {name}({', '.join(_PORTS)});\n"
    for port, (direction, width) in _PORTS.items():
        bits = f"[{width - 1}:0] " if width > 1 else ""
        text += f"  {direction} {bits}{port};\n  wire {bits}{port};\n"
    return parse_module(text + "".join(f"  {line}\n" for line in lines) + "endmodule\n")
