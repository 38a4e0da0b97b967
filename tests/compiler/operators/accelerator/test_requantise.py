"""Requantisation as passes: which, and with which tensors."""

from __future__ import annotations

import numpy as np

from compiler.operators.accelerator.requantise import requantise
from compiler.requantisation import RequantSpec
from compiler.te import Tensor
from hw.config import HardwareConfig
from hw.encoding import AluOp

PYNQ = HardwareConfig()


def test_a_power_of_two_for_the_whole_tensor_needs_no_tensor() -> None:
    after = requantise(RequantSpec.pow2(3, bound=1 << 20), 20, PYNQ, "q")
    assert [each.op for each in after.passes] == [AluOp.ADD, AluOp.SHR, AluOp.MAX, AluOp.MIN]
    assert [each.operand for each in after.passes] == [4, 3, -128, 127]
    assert after.values == {}


def test_numbers_of_channels_are_tensors_named_by_their_pass() -> None:
    spec = RequantSpec.from_scales([0.01 + 0.001 * c for c in range(20)], list(range(20)))
    after = requantise(spec, 20, PYNQ, "q")
    steps = spec.steps()
    assert [each.op for each in after.passes] == [each.op for each in steps]
    for number, (step, each) in enumerate(zip(steps, after.passes, strict=True)):
        if isinstance(step.operand, int):
            assert each.operand == step.operand
            continue
        assert isinstance(each.operand, Tensor)
        assert (each.operand.name, each.operand.shape) == (f"q_{number}", (2, 1, 16))
        packed = after.values[f"q_{number}"]
        np.testing.assert_array_equal(packed.reshape(-1)[:20], step.operand)
        assert not packed.reshape(-1)[20:].any()
