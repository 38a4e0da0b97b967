"""Registers of products in the multiplier blocks of an ECP5.

A block MULT18X18D has registers behind its product. Yosys leaves them alone and puts products into
registers of the fabric, to which wires may take as long as the multiplication: blocks lie in a few
rows of the chip. Vendors' tools use the blocks' registers, as `absorb_registers` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

Cell: TypeAlias = dict[str, Any]
"""A cell of a netlist in Yosys' JSON: its type, parameters, directions and nets of ports."""
Reader: TypeAlias = tuple[str | None, str]
"""A cell and a port of it that reads a net; None for a port of the module."""

BLOCK = "MULT18X18D"
REGISTER = "TRELLIS_FF"
PRODUCT_BITS = 36
_ZERO, _ONE = ["0"], ["1"]


def absorb_registers(netlist: Mapping[str, Any]) -> int:
    """Move registers that hold nothing but a product into its block, in place.

    A block's registers are used if every used bit of its product is read by one register and by
    nothing else, and all these have the same clock, enable and reset, and are reset to 0.

    Parameters
    ----------
    netlist
        A flat design, as Yosys' `write_json` writes it.

    Returns
    -------
        The number of blocks whose registers are used.
    """
    return sum(_absorb(module) for module in netlist["modules"].values())


def _absorb(module: Mapping[str, Any]) -> int:
    cells: dict[str, Cell] = module.get("cells", {})
    blocks = [cell for cell in cells.values() if cell["type"] == BLOCK]
    readers = _readers(module, cells) if blocks else {}
    absorbed = 0
    for block in blocks:
        registers = _registers(block, cells, readers)
        controls = [_controls(cells[name]) for name in registers.values()]
        if not controls or controls[0] is None or any(each != controls[0] for each in controls):
            continue
        clock, enable, reset = controls[0]
        for port, name in registers.items():
            block["connections"][port] = cells.pop(name)["connections"]["Q"]
        for port, net in (("CLK0", clock), ("CE0", enable), ("RST0", reset)):
            block["connections"][port] = net
            block["port_directions"][port] = "input"
        block["parameters"] |= {
            "CLK0_DIV": "ENABLED",
            "REG_OUTPUT_CLK": "CLK0",
            "REG_OUTPUT_CE": "CE0",
            "REG_OUTPUT_RST": "RST0",
            "RESETMODE": "SYNC",
        }
        absorbed += 1
    return absorbed


def _readers(
    module: Mapping[str, Any], cells: Mapping[str, Cell]
) -> Mapping[int, Sequence[Reader]]:
    """Who reads each net."""
    found: dict[int, list[Reader]] = {}
    for net, reader in _reads(module, cells):
        found.setdefault(net, []).append(reader)
    return found


def _reads(module: Mapping[str, Any], cells: Mapping[str, Cell]) -> Iterator[tuple[int, Reader]]:
    for name, cell in cells.items():
        for port, nets in cell["connections"].items():
            if cell["port_directions"].get(port) == "input":
                # Constants are strings.
                yield from ((net, (name, port)) for net in nets if isinstance(net, int))
    for name, port in module["ports"].items():
        yield from ((net, (None, name)) for net in port["bits"] if isinstance(net, int))


def _registers(
    block: Cell, cells: Mapping[str, Cell], readers: Mapping[int, Sequence[Reader]]
) -> Mapping[str, str]:
    """The register of each used bit of a product, by port; empty if a bit has another reader."""
    found = {}
    for port in (f"P{bit}" for bit in range(PRODUCT_BITS)):
        for net in block["connections"].get(port, ()):
            of_net = readers.get(net, ())
            if not of_net:
                continue
            name, input_ = of_net[0]
            if len(of_net) > 1 or name is None or input_ != "DI":
                return {}
            if cells[name]["type"] != REGISTER:
                return {}
            found[port] = name
    return found


def _controls(register: Cell) -> tuple[Any, Any, Any] | None:
    """Nets of clock, enable and reset; None if a block's registers have no such control."""
    parameters, nets = register["parameters"], register["connections"]
    inverted = parameters["CLKMUX"] != "CLK" or parameters["LSRMUX"] != "LSR"
    if inverted or parameters["REGSET"] != "RESET" or parameters.get("SRMODE") == "ASYNC":
        return None
    match parameters["CEMUX"].strip():
        case "1":
            enable = _ONE
        case "CE":
            enable = nets["CE"]
        case _:
            return None
    return nets["CLK"], enable, nets.get("LSR", _ZERO)
