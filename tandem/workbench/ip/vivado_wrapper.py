"""A module around the machine whose ports have the attributes by which Vivado knows interfaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tandem.hw.axi import ID_BITS
from tandem.hw.config import HardwareConfig
from tandem.hw.registers import ADDRESS_BITS
from tandem.hw.rtl.verilog import GENERATED, Port, VerilogDesign
from tandem.workbench.ip.names import WRAPPER

_AXI: Final = "xilinx.com:interface:aximm:1.0"
_SIGNALS: Final = "xilinx.com:signal"
_EVENTS: Final = "events"
"""The port of the machine that the wrapper does not have."""


def vivado_wrapper(config: HardwareConfig, design: VerilogDesign) -> str:
    """The wrapper's Verilog.

    Interfaces are M_AXI, S_AXI, the clock, the reset and the interrupt; the parameters say of each
    what Vivado could not find in the ports.
    """
    ports = [port for port in design.ports if port.name != _EVENTS]
    parameters = _parameters(config)
    # The parameters of an interface stand at one of its ports, the first.
    firsts = {_interface(port.name)[0]: port.name for port in reversed(ports)}
    lines = [
        f"// {WRAPPER}: {GENERATED}, configuration {config.name}.",
        "// The machine for Vivado's block designs. The attributes follow its documents, and were",
        "// not tried in Vivado.",
        "",
        f"module {WRAPPER}(",
    ]
    for port in ports:
        interface, signal = _interface(port.name)
        lines.append(f'  (* X_INTERFACE_INFO = "{_kind(interface)} {interface} {signal}" *)')
        if firsts[interface] == port.name:
            values = ", ".join(f"{key} {value}" for key, value in parameters[interface].items())
            text = f"XIL_INTERFACENAME {interface}, {values}"
            lines.append(f'  (* X_INTERFACE_PARAMETER = "{text}" *)')
        lines.append(f"  {_declared(port)}{'' if port is ports[-1] else ','}")
    lines += [");", f"  {design.top} machine("]
    lines += _connections(design, ports)
    lines += ["  );", "endmodule", ""]
    return "\n".join(lines)


def _connections(design: VerilogDesign, ports: list[Port]) -> Iterator[str]:
    connected = {port.name for port in ports}
    for port in design.ports:
        inside = port.name if port.name in connected else ""
        yield f"    .{port.name}({inside}){'' if port is design.ports[-1] else ','}"


def _declared(port: Port) -> str:
    direction = "input" if port.is_input else "output"
    bits = f" [{port.width - 1}:0]" if port.width > 1 else ""
    return f"{direction} wire{bits} {port.name}"


def _interface(port: str) -> tuple[str, str]:
    """The interface that a port is of, and which of its signals it is."""
    match port:
        case "aclk":
            return "aclk", "CLK"
        case "aresetn":
            return "aresetn", "RST"
        case "irq":
            return "irq", "INTERRUPT"
        case _:
            bus, _, signal = port.rpartition("_")
            return bus.upper(), signal.upper()


def _kind(interface: str) -> str:
    match interface:
        case "aclk":
            return f"{_SIGNALS}:clock:1.0"
        case "aresetn":
            return f"{_SIGNALS}:reset:1.0"
        case "irq":
            return f"{_SIGNALS}:interrupt:1.0"
        case _:
            return _AXI


def _parameters(config: HardwareConfig) -> Mapping[str, Mapping[str, object]]:
    # No frequency: a block design passes on that of the clock's source.
    return {
        "aclk": {
            "ASSOCIATED_BUSIF": "M_AXI:S_AXI",
            "ASSOCIATED_RESET": "aresetn",
        },
        "aresetn": {"POLARITY": "ACTIVE_LOW"},
        "irq": {"SENSITIVITY": "LEVEL_HIGH"},
        "M_AXI": {
            "PROTOCOL": "AXI4",
            "DATA_WIDTH": config.bus_bits,
            "ADDR_WIDTH": config.address_bits,
            "ID_WIDTH": ID_BITS,
            "READ_WRITE_MODE": "READ_WRITE",
            "MAX_BURST_LENGTH": config.longest_burst,
            "NUM_READ_OUTSTANDING": config.reads_in_flight,
            "NUM_WRITE_OUTSTANDING": config.writes_in_flight,
            "SUPPORTS_NARROW_BURST": 0,
            "HAS_BURST": 1,
            "HAS_CACHE": 1,
            "HAS_PROT": 1,
            "HAS_LOCK": 0,
            "HAS_QOS": 0,
            "HAS_REGION": 0,
            "HAS_WSTRB": 1,
            "HAS_BRESP": 1,
            "HAS_RRESP": 1,
        },
        "S_AXI": {
            "PROTOCOL": "AXI4LITE",
            "DATA_WIDTH": 32,
            "ADDR_WIDTH": ADDRESS_BITS,
            "READ_WRITE_MODE": "READ_WRITE",
            "HAS_PROT": 1,
            "HAS_WSTRB": 1,
            "HAS_BRESP": 1,
            "HAS_RRESP": 1,
        },
    }
