"""Buses carry the names and widths that AXI4 gives them."""

from __future__ import annotations

import pytest
from amaranth.hdl import Shape
from amaranth.lib.wiring import In, Out, Signature

from tandem.hw.config import HardwareConfig
from tandem.hw.registers import ADDRESS_BITS
from tandem.hw.rtl.ports import AxiLite, axi_master

Wire = tuple[str, int]
"""Direction and width."""


def wires(signature: Signature) -> dict[str, Wire]:
    """Every member of a flat signature."""
    found = {}
    for name, member in signature.members.items():
        assert member.flow in (In, Out)
        width = Shape.cast(member.shape).width
        found[name] = ("out" if member.flow == Out else "in", width)
    return found


def address_channel(prefix: str, address_bits: int) -> dict[str, Wire]:
    """AR or AW of an AXI4 master."""
    widths = {"valid": 1, "id": 2, "addr": address_bits, "len": 8, "size": 3, "burst": 2}
    outs = {prefix + name: ("out", width) for name, width in widths.items()}
    outs |= {f"{prefix}cache": ("out", 4), f"{prefix}prot": ("out", 3)}
    return outs | {f"{prefix}ready": ("in", 1)}


@pytest.mark.parametrize(("bus_bits", "address_bits"), [(64, 32), (512, 64), (128, 40)])
def test_axi_master(bus_bits: int, address_bits: int) -> None:
    config = HardwareConfig(bus_bits=bus_bits, address_bits=address_bits)
    data = {
        "rvalid": ("in", 1),
        "rready": ("out", 1),
        "rid": ("in", 2),
        "rdata": ("in", bus_bits),
        "rresp": ("in", 2),
        "rlast": ("in", 1),
        "wvalid": ("out", 1),
        "wready": ("in", 1),
        "wdata": ("out", bus_bits),
        "wstrb": ("out", bus_bits // 8),
        "wlast": ("out", 1),
        "bvalid": ("in", 1),
        "bready": ("out", 1),
        "bid": ("in", 2),
        "bresp": ("in", 2),
    }
    addresses = address_channel("ar", address_bits) | address_channel("aw", address_bits)
    assert wires(axi_master(config)) == addresses | data


def test_axi_lite() -> None:
    assert wires(AxiLite()) == {
        "awvalid": ("out", 1),
        "awready": ("in", 1),
        "awaddr": ("out", ADDRESS_BITS),
        "awprot": ("out", 3),
        "wvalid": ("out", 1),
        "wready": ("in", 1),
        "wdata": ("out", 32),
        "wstrb": ("out", 4),
        "bvalid": ("in", 1),
        "bready": ("out", 1),
        "bresp": ("in", 2),
        "arvalid": ("out", 1),
        "arready": ("in", 1),
        "araddr": ("out", ADDRESS_BITS),
        "arprot": ("out", 3),
        "rvalid": ("in", 1),
        "rready": ("out", 1),
        "rdata": ("in", 32),
        "rresp": ("in", 2),
    }
