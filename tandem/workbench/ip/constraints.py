"""Constraints of the clock, for synthesis and timing analysis of the machine by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tandem.hw.rtl.verilog import Port, VerilogDesign

CLOCK: Final = "aclk"
DEFAULT_MHZ: Final = 100.0
_SHARE: Final = 0.3
"""Of the period, what the outside takes before an input and behind an output."""


def sdc(design: VerilogDesign, mhz: float) -> str:
    """Constraints in Synopsys' format: the clock, and what is left for paths through the ports."""
    period = 1000 / mhz
    outside = f"-clock {CLOCK} {period * _SHARE:.3f}"
    inputs = [port for port in design.ports if port.is_input and port.name != CLOCK]
    outputs = [port for port in design.ports if not port.is_input]
    return "\n".join(
        (
            "# The clock of the machine, in ns. Every register changes at its rising edge.",
            "# aresetn is in step with the clock: its paths are like others, without an exception.",
            f"create_clock -name {CLOCK} -period {period:.3f} [get_ports {CLOCK}]",
            "",
            f"# Of a period, {_SHARE:.0%} belong to what is connected to a port.",
            f"set_input_delay {outside} [get_ports {_listed(inputs)}]",
            f"set_output_delay {outside} [get_ports {_listed(outputs)}]",
            "",
        )
    )


def xdc(mhz: float) -> str:
    """The clock in Vivado's format, for synthesis of the machine by itself (out of context): in a
    block design the clock comes with its source."""
    return (
        "# The clock of the machine, in ns, where it is synthesised by itself: out of context.\n"
        f"create_clock -name {CLOCK} -period {1000 / mhz:.3f} [get_ports {CLOCK}]\n"
    )


def _listed(ports: Sequence[Port]) -> str:
    """A list in Tcl; of a port of several bits, all of them."""
    names = (f"{port.name}[*]" if port.width > 1 else port.name for port in ports)
    return "{\n" + "".join(f"    {name}\n" for name in names) + "}"
