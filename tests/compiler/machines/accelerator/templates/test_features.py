from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tandem.compiler.lower.lowering import lower
from tandem.compiler.machines.accelerator.lower.onchip import footprint
from tandem.compiler.machines.accelerator.lower.programs import accelerator_passes
from tandem.compiler.machines.accelerator.target import TEMPLATES
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.conv2d_max_pool import PooledWorkload
from tandem.compiler.machines.accelerator.templates.features import COUNTED, FEATURES, features
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost, MemoryTiming
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.hw.encoding import Opcode
from tandem.hw.isa.work import work_of
from tandem.hw.topology import MemoryId
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import (
    CONFIGS,
    machine,
)
from tests.support.compiler.machines.accelerator.templates.random_choices import Drawn, drawn

PLACED = {"inp": MemoryId.INP, "wgt": MemoryId.WGT, "acc": MemoryId.ACC}


def row(found: Drawn, number: int = 0, memory: MemoryTiming | None = None) -> dict[str, float]:
    """The features of a choice, by name."""
    cost = MachineCost(found.machine.config, memory or MemoryTiming())
    matrix = features(found.template, found.workload, found.choices, cost)
    assert matrix.shape == (len(found.choices), len(FEATURES))
    assert matrix.dtype == np.float64
    assert np.isfinite(matrix).all()
    return dict(zip(FEATURES, matrix[number].tolist(), strict=True))


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
@settings(max_examples=3)
@given(seed=st.integers(0, 2**32 - 1), config=st.sampled_from(CONFIGS))
@example(seed=45, config="tiny")
def test_features_are_those_of_the_program(
    template: AcceleratorTemplate[Any], seed: int, config: str
) -> None:
    """Bytes from the page of zeros are no tensor's: `test_work_counts` counts without them."""
    found = drawn(template, seed, machine(config), 1)
    told = row(found)
    choice, config_ = found.choices.choice(0), found.machine.config
    work = work_of(found.stream(choice).program)
    assert told["out bytes"] == work.stored
    if not isinstance(found.workload, PooledWorkload):
        assert told["wgt bytes"] == work.loaded[MemoryId.WGT]
    assert told["acc bytes"] == work.loaded[MemoryId.ACC] + work.loaded[MemoryId.ACC_8BIT]
    assert told["products"] == work.gemm_uops
    # Of maxima of sums `test_work_counts` says what else is counted.
    if not isinstance(found.workload, PooledWorkload):
        counted = told["inp bytes"] / (2 if found.loads_next_group(choice) else 1)
        assert counted <= work.loaded[MemoryId.INP]
        assert told["resets"] == work.reset_uops
        assert told["alu operations"] == work.alu_uops
        assert told["gemms"] == work.instructions[Opcode.GEMM]
    assert told["out copies"] == work.instructions[Opcode.STORE]
    assert told["threads size"] == np.log2(float(choice["threads"]))
    assert told[f"along {choice['along']}"] == 1
    # What lowering places.
    program = found.template.schedule(found.workload, choice, found.machine).program
    placed = footprint(lower(program, accelerator_passes(found.machine)), found.machine)
    for name, memory in PLACED.items():
        assert told[f"{name} elements"] == placed.get(memory, 0)
        assert told[f"{name} occupancy"] == placed.get(memory, 0) / config_.depth(memory)


def test_reuse_bursts_and_bounds_hang_together() -> None:
    found = drawn(Conv2dOnArray(), 3, machine("small8"), 50)
    slow = MemoryTiming(16, 4)
    for number in range(len(found.choices)):
        told, slower = row(found, number), row(found, number, slow)
        assert told["inp reuse"] * told["inp bytes"] == pytest.approx(told["products"])
        assert told["inp bytes"] >= told["inp burst"] > 0
        assert told["array cycles"] == told["products"] + told["resets"]
        compute = told["array cycles"] + told["alu cycles"]
        assert told["least cycles"] == max(compute, told["bus cycles"])
        assert slower["bus cycles"] == 4 * told["bus cycles"]


def test_one_read_port_makes_tensor_operands_slow() -> None:
    fast, slow = machine("batch2"), machine("batch2").replace(acc_read_ports=1)
    template = next(each for each in TEMPLATES if each.name == "elementwise")
    told = [row(drawn(template, 5, config, 1))["alu cycles"] for config in (fast, slow)]
    assert told[0] < told[1] <= 2 * told[0]


def test_every_column_says_what_it_is() -> None:
    assert all(FEATURES.values())
    assert "least cycles" in FEATURES


def test_columns_that_count_are_those_that_grow_with_the_layer() -> None:
    counted = {[*FEATURES][at] for at in COUNTED}
    assert counted >= {"inp bytes", "gemms", "tiles", "tiles of a thread", "bus cycles", "kernel"}
    assert not counted & {"inp burst", "inp reuse", "steps", "oc size", "acc occupancy", "resident"}
