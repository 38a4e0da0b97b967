"""Registers of products move into multiplier blocks, if they hold nothing else."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from tandem.hw.synthesis.product_registers import absorb_registers

CLOCK, ENABLE, RESET = 2, 3, 4
BITS = 16
PARAMETERS = {"CEMUX": "CE", "CLKMUX": "CLK", "LSRMUX": "LSR", "REGSET": "RESET"}


def register(bit: int) -> dict[str, Any]:
    """The register of a bit of the product: net 100 + bit becomes 200 + bit."""
    nets = {"CLK": [CLOCK], "CE": [ENABLE], "LSR": [RESET], "DI": [100 + bit], "Q": [200 + bit]}
    return {
        "type": "TRELLIS_FF",
        "parameters": dict(PARAMETERS),
        "port_directions": {port: "output" if port == "Q" else "input" for port in nets},
        "connections": nets,
    }


def netlist() -> dict[str, Any]:
    """A product whose 16 used bits are registered; its other bits are read by nobody."""
    products = {f"P{bit}": [100 + bit] for bit in range(36)}
    block = {
        "type": "MULT18X18D",
        "parameters": {},
        "port_directions": {"A0": "input"} | dict.fromkeys(products, "output"),
        "connections": {"A0": [50]} | products,
    }
    cells = {"block": block} | {f"ff{bit}": register(bit) for bit in range(BITS)}
    ports = {"y": {"direction": "output", "bits": [200 + bit for bit in range(BITS)]}}
    return {"modules": {"top": {"cells": cells, "ports": ports}, "MULT18X18D": {"ports": {}}}}


def test_registers_of_a_product() -> None:
    found = netlist()
    assert absorb_registers(found) == 1
    cells = found["modules"]["top"]["cells"]
    assert list(cells) == ["block"]
    nets = cells["block"]["connections"]
    assert [nets[f"P{bit}"] for bit in (0, 15, 16)] == [[200], [215], [116]]
    assert (nets["CLK0"], nets["CE0"], nets["RST0"]) == ([CLOCK], [ENABLE], [RESET])
    assert cells["block"]["port_directions"]["CE0"] == "input"
    assert cells["block"]["parameters"]["REG_OUTPUT_CLK"] == "CLK0"


def test_registers_that_are_always_enabled_and_have_no_reset() -> None:
    found = netlist()
    for bit in range(BITS):
        ff = found["modules"]["top"]["cells"][f"ff{bit}"]
        ff["parameters"]["CEMUX"] = "1 "
        del ff["connections"]["CE"]
        ff["connections"]["LSR"] = ["0"]
    assert absorb_registers(found) == 1
    nets = found["modules"]["top"]["cells"]["block"]["connections"]
    assert (nets["CE0"], nets["RST0"]) == (["1"], ["0"])


@pytest.mark.parametrize(
    ("port", "net"), [("CLK", 9), ("CE", 9), ("LSR", 9)], ids=["clock", "enable", "reset"]
)
def test_one_register_with_another_control(port: str, net: int) -> None:
    found = netlist()
    found["modules"]["top"]["cells"]["ff7"]["connections"][port] = [net]
    _stays(found)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("CEMUX", "INV"),
        ("CLKMUX", "INV"),
        ("LSRMUX", "INV"),
        ("REGSET", "SET"),
        ("SRMODE", "ASYNC"),
    ],
)
def test_registers_that_a_block_does_not_have(parameter: str, value: str) -> None:
    found = netlist()
    for bit in range(BITS):
        found["modules"]["top"]["cells"][f"ff{bit}"]["parameters"][parameter] = value
    _stays(found)


def test_a_product_with_another_reader() -> None:
    found = netlist()
    found["modules"]["top"]["ports"]["y"]["bits"].append(103)
    _stays(found)
    found = netlist()
    found["modules"]["top"]["cells"]["more"] = register(3)
    _stays(found)
    found = netlist()
    found["modules"]["top"]["cells"]["ff3"]["type"] = "LUT4"
    _stays(found)


def test_a_product_that_nobody_reads() -> None:
    found = netlist()
    for bit in range(BITS):
        del found["modules"]["top"]["cells"][f"ff{bit}"]
    _stays(found)


def _stays(found: dict[str, Any]) -> None:
    before = deepcopy(found)
    assert absorb_registers(found) == 0
    assert found == before
