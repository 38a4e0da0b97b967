"""A shell that registers every port of a design, so that place and route times registers only.

The design has more ports than a package has pins, and a path from a pin says nothing about the
design: on a chip its neighbours are other registered blocks. So the shell has three pins. Inputs
are a chain of registers, through which they are shifted in; outputs are registered, and folded
into a second chain, which is shifted out. Every part of the design can change the
output pin, except what only drives the ports that are left unconnected.
"""

from __future__ import annotations

from collections.abc import Sequence

from tandem.hw.rtl.verilog import Port, VerilogDesign

SHELL = "shell"
"""The shell's module, and the stem of its file."""
INSTANCE = "design"
"""The name of the design's instance in the shell."""
UNCONNECTED = ("events",)
"""Ports for simulators and logic analysers, which chips leave unconnected."""


def registered_shell(design: VerilogDesign, clock: str = "aclk") -> str:
    """The Verilog of the shell around `design`, whose ports but `clock` get registers."""
    ports = [port for port in design.ports if port.name not in (clock, *UNCONNECTED)]
    inputs = [port for port in ports if port.is_input]
    outputs = [port for port in ports if not port.is_input]
    wide, long = (sum(port.width for port in each) for each in (inputs, outputs))
    connections = ", ".join(
        [f".{clock}(clk)", *_slices(inputs, "inputs"), *_slices(outputs, "driven")]
    )
    return f"""\
module {SHELL}(input clk, input scan_in, output scan_out);
  reg [{wide - 1}:0] inputs;
  wire [{long - 1}:0] driven;
  reg [{long - 1}:0] outputs, chain;
  always @(posedge clk) begin
    inputs <= (inputs << 1) | scan_in;
    outputs <= driven;
    chain <= ((chain << 1) | inputs[{wide - 1}]) ^ outputs;
  end
  assign scan_out = chain[{long - 1}];
  {design.top} {INSTANCE}({connections});
endmodule
"""


def _slices(ports: Sequence[Port], vector: str) -> list[str]:
    """Connections of `ports` to consecutive bits of a vector."""
    found, first = [], 0
    for port in ports:
        found.append(f".{port.name}({vector}[{first + port.width - 1}:{first}])")
        first += port.width
    return found
