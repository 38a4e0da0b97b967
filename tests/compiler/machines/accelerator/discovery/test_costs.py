"""Costs of operations: more for more, and stages as they need."""

from __future__ import annotations

import pytest

from tandem.compiler.machines.accelerator.discovery.costs import (
    Budget,
    SetCost,
    cost_of,
    opcodes_left,
    tables_of,
    with_operations,
)
from tandem.hw.config_files import load_config
from tandem.hw.custom_operations import CustomOperation
from tests.support.hw.found_machines import PACKED_FOR_PYNQ

PYNQ = load_config("pynq")
XOR = CustomOperation.from_json({"name": "XOR", "result": "a ^ b"})
CLIP = CustomOperation.from_json(
    {
        "name": "CLIP",
        "result": "min(max(int32(a + b) >> shift, low), 127)",
        "parameters": {"shift": "uint5", "low": "int8"},
    }
)


def test_costs() -> None:
    assert cost_of(PYNQ, ()) == SetCost(0, 0, 0.0)
    small, large = cost_of(PYNQ, (XOR,)), cost_of(PYNQ, (XOR, CLIP))
    assert 0 < small.lut < large.lut
    assert small.dsp == large.dsp == 0
    assert large.share == large.lut / tables_of(PYNQ)
    product = CustomOperation.from_json({"name": "PRODUCT", "result": "a * uint16(b) >> 8"})
    assert cost_of(PYNQ, (product,)).dsp == 2 * PYNQ.acc_lanes


def test_beside_what_yosys_counts() -> None:
    """9.1 % of the look-up tables and 32 multiplier blocks."""
    cost = cost_of(PYNQ, PACKED_FOR_PYNQ)
    assert cost.share == pytest.approx(0.091, rel=0.05)
    assert cost.dsp == 32


def test_stages() -> None:
    """One gate needs one stage; a sum, a shift and limits need several."""
    assert with_operations(PYNQ, ()) == PYNQ
    assert with_operations(PYNQ, (XOR,)).alu_stages == 1
    assert with_operations(PYNQ, (CLIP,)).alu_stages > 1
    assert with_operations(PYNQ, PACKED_FOR_PYNQ).alu_stages == 4


def test_budgets() -> None:
    cost = SetCost(10, 2, 0.1) + SetCost(5, 1, 0.05)
    assert cost.lut == 15
    assert cost.dsp == 3
    assert cost.within(Budget(0.16, 3))
    assert not cost.within(Budget(0.16, 2))
    assert not cost.within(Budget(0.1, 3))


def test_opcodes() -> None:
    assert opcodes_left(PYNQ) == 3
    assert opcodes_left(with_operations(PYNQ, (XOR, CLIP))) == 1
    assert opcodes_left(load_config("pynq-x")) == 1
