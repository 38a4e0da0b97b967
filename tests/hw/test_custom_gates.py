"""Estimates of custom operations, beside what Yosys counted."""

from __future__ import annotations

import pytest

from tandem.hw.area.estimate import AreaModel
from tandem.hw.area.estimate import samples as area_samples
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.custom_gates import LaneGates, lane_gates
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.synthesis.estimate import resource_model
from tandem.hw.synthesis.families import Family
from tests.support.hw.configs import TWO_PASSES

CLIP = {
    "name": "CLIP",
    "result": "min(max(int32(a + b) >> shift, low), 127)",
    "parameters": {"shift": "uint5", "low": "int8"},
}


def with_operation(result: str, stages: int = 1, **parameters: str) -> HardwareConfig:
    value = {"name": "OWN", "result": result, "parameters": parameters}
    operation = CustomOperation.from_json(value)
    return load_config("pynq").replace(alu_operations=(operation,), alu_stages=stages)


def with_results(*results: str) -> HardwareConfig:
    """`pynq` with an operation for each result."""
    operations = (
        CustomOperation.from_json({"name": f"OWN_{number}", "result": result})
        for number, result in enumerate(results)
    )
    return load_config("pynq").replace(alu_operations=(*operations,))


def test_beside_synthesis() -> None:
    """`pynq` with CLIP in three stages: 20,925 look-up tables, 11,403 registers by Yosys."""
    config = load_config("pynq").replace(
        alu_operations=(CustomOperation.from_json(CLIP),), alu_stages=3
    )
    found = resource_model(Family.XC7).resources(config)
    assert found["lut"] == pytest.approx(20_925, rel=0.02)
    assert found["ff"] == pytest.approx(11_403, rel=0.02)
    assert found["dsp"] == 305
    # With a product in full, and a clip of fewer shifts: 20,664 and 11,419.
    found = resource_model(Family.XC7).resources(
        load_config("pynq").replace(alu_operations=TWO_PASSES, alu_stages=3)
    )
    assert found["lut"] == pytest.approx(20_664, rel=0.02)
    assert found["ff"] == pytest.approx(11_419, rel=0.04)
    assert found["dsp"] == 337


def test_without_operations() -> None:
    assert lane_gates(load_config("pynq")) == LaneGates()


def test_by_hand() -> None:
    assert lane_gates(with_operation("a + b")) == LaneGates(33, 0, 0, 9 * 33 + 3 * 33)
    # A constant shift is wiring, and so is what chooses among four.
    assert lane_gates(with_operation("a >> 5")).lut == 0
    assert lane_gates(with_results("a >> 5", "b >> 9")).lut == 0
    assert lane_gates(with_results("a >> 5", "b >> 9", "a >> 9")).lut == 27 / 3
    # One register for each bit of the sum, and of what it is compared with.
    assert lane_gates(with_operation("min(a + b, 7)", 2)).ff == 33
    assert lane_gates(with_operation("max(a + b, a)", 2)).ff == 33 + 32
    # Factors of 32 and 17 bits, of 32 and 32.
    assert lane_gates(with_operation("a * uint16(b)")).dsp == 2
    assert lane_gates(with_operation("a * b")).dsp == 4
    assert lane_gates(with_operation("int8(a) * n", n="int8")).dsp == 1
    # In stages, two blocks of 17 bits and what is above: the second one adds, and both have a
    # register; of what is above 17 + 16 bits there is one of the sum.
    assert lane_gates(with_operation("a * uint16(b)", 2)) == LaneGates(
        0, 0, 2, 10.5 * 17 * (15 + 18) + 9 * (48 - 17) + 3 * 48
    )
    assert lane_gates(with_operation("a * uint16(b)", 3)).ff == 48


@pytest.mark.parametrize("result", ["a & b", "a | b", "a ^ b", "a - b", "min(a, b)"])
def test_all_operators_take_something(result: str) -> None:
    found = lane_gates(with_operation(result))
    assert found.lut > 0
    assert found.nand2 > 0


def test_area_grows_by_the_lanes() -> None:
    model = AreaModel(area_samples())
    plain, own = load_config("pynq"), with_operation("a + b")
    more = model.gates(own) - model.gates(plain)
    assert more == pytest.approx(plain.acc_lanes * lane_gates(own).nand2)
