"""Convolutions: their stages, and exact results for random shapes, choices and machines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.compiler.errors import ScheduleError, TensorError
from tandem.compiler.ir.buffer import Scope
from tandem.compiler.ir.stmt import Alloc, PrimFunc
from tandem.compiler.ir.visit import statements
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.epilogue import AluPass
from tandem.compiler.te.knobs import Choice
from tandem.hw.config import HardwareConfig
from tandem.hw.operations import AluOp
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import (
    EXTENDED,
    machine,
)
from tests.support.compiler.machines.accelerator.templates.random_operators import random_tests
from tests.support.compiler.machines.accelerator.templates.random_workloads import (
    check_of,
    draw_conv2d,
)

TEMPLATE = Conv2dOnArray()
PYNQ = AcceleratorTarget.of(HardwareConfig())
WORKLOAD = Conv2dWorkload(
    data=(1, 2, 6, 5, 1, 16),
    weight=(3, 2, 3, 3, 16, 16),
    strides=(2, 1),
    padding=(1, 0, 1, 2),
    dilation=(1, 1),
    groups=1,
    passes=(AluPass(AluOp.SHR, "shift"),),
)
CHOICE: Choice = {"threads": 2, "ic": 1, "oc": 1, "x": 5, "y": 2, "order": "outputs", "along": "oc"}

CONFIGS = ("tiny", "small8", "block4", "batch2", "pynq", "tall", *EXTENDED)
test_few, test_many, test_few_on_rtl, test_many_on_rtl = random_tests(
    check_of(draw_conv2d), few=30, many=170, configs=CONFIGS
)


def _buffers(program: PrimFunc) -> dict[str, tuple[Scope, tuple[int, ...]]]:
    inside = (each.buffer for each in statements(program.body) if isinstance(each, Alloc))
    buffers = (*program.inputs, *program.outputs, *inside)
    return {each.name: (each.scope, each.shape) for each in buffers}


def test_stages_and_shapes() -> None:
    found = _buffers(TEMPLATE.schedule(WORKLOAD, CHOICE, PYNQ).program)
    assert found == {
        "data": (Scope.GLOBAL, (1, 2, 6, 5, 1, 16)),
        "weight": (Scope.GLOBAL, (3, 2, 3, 3, 16, 16)),
        "shift": (OnChip.IMM, ()),
        "out": (Scope.GLOBAL, (1, 3, 3, 5, 1, 16)),
        "out_pad": (OnChip.INP, (1, 2, 8, 7, 1, 16)),
        "out_weight": (OnChip.WGT, (3, 2, 3, 3, 16, 16)),
        "out_sum": (OnChip.ACC, (1, 3, 3, 5, 1, 16)),
        "out_0_shr": (OnChip.ACC, (1, 3, 3, 5, 1, 16)),
    }


def test_without_padding_the_image_itself_is_loaded() -> None:
    plain = replace(WORKLOAD, padding=(0, 0, 0, 0))
    found = _buffers(TEMPLATE.schedule(plain, {**CHOICE, "x": 3}, PYNQ).program)
    assert "out_pad" not in found
    assert found["out_data"] == (OnChip.INP, (1, 2, 6, 5, 1, 16))


def test_groups_read_blocks_of_their_own() -> None:
    """Four output blocks in two groups, and two input blocks for each group."""
    grouped = replace(
        WORKLOAD, data=(1, 4, 6, 5, 1, 16), weight=(4, 2, 3, 3, 16, 16), groups=2, strides=(1, 1)
    )
    assert grouped.blocks_per_group == 2
    assert grouped.extents == {"oc": 4, "y": 6, "x": 5, "ic": 2}
    text = str(TEMPLATE.start(grouped, PYNQ))
    assert "out_pad[n, oc // 2 * 2 + ic, y + ky, x + kx, b, bi]" in text


def test_refuses_windows_larger_than_the_image() -> None:
    large = replace(WORKLOAD, weight=(3, 2, 9, 3, 16, 16))
    with pytest.raises(TensorError, match=r"^conv2d out: axis 2 of data .* the window needs 9$"):
        TEMPLATE.space(large, PYNQ)


def test_refuses_settings_that_no_primitive_takes() -> None:
    with pytest.raises(ScheduleError, match=r"split.*factor"):
        TEMPLATE.schedule(WORKLOAD, {**CHOICE, "oc": 0}, PYNQ)


def test_a_machine_of_other_blocks_takes_its_own_workloads() -> None:
    """Blocks are what the machine's instructions expect."""
    with pytest.raises(ScheduleError, match=r"iterations; those of alu_shr_imm have \[1, 4\]"):
        TEMPLATE.schedule(WORKLOAD, CHOICE, AcceleratorTarget.of(machine("tiny")))
