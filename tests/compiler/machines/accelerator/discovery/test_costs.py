"""Costs of operations: more for more, and stages as they need."""

from __future__ import annotations

from tandem.compiler.machines.accelerator.discovery.costs import (
    Budget,
    SetCost,
    cost_of,
    free_opcodes,
    tables_of,
    with_operations,
)
from tandem.hw.config_files import load_config
from tandem.hw.custom_operations import CustomOperation

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


def test_stages() -> None:
    """One gate needs one stage; a sum, a shift and limits need several."""
    assert with_operations(PYNQ, ()) == PYNQ
    assert with_operations(PYNQ, (XOR,)).alu_stages == 1
    assert with_operations(PYNQ, (CLIP,)).alu_stages > 1


def test_budgets() -> None:
    cost = SetCost(10, 2, 0.1) + SetCost(5, 1, 0.05)
    assert cost.lut == 15
    assert cost.dsp == 3
    assert cost.within(Budget(0.16, 3))
    assert not cost.within(Budget(0.16, 2))
    assert not cost.within(Budget(0.1, 3))


def test_opcodes() -> None:
    assert free_opcodes(PYNQ) == 3
    assert free_opcodes(with_operations(PYNQ, (XOR, CLIP))) == 1
    assert free_opcodes(load_config("pynq-x")) == 1
