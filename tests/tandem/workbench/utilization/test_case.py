"""The reference against sums written out, and values that make a fair test."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.machines.accelerator.templates.alu_lowering import (
    AluOperation,
    lower_requantisation,
)
from tandem.hw.operations import AluOp
from tandem.workbench.utilization.case import Case, expected, make_case
from tandem.workbench.utilization.conv_layers import RESNET18, ConvLayer

LAYERS = [
    ConvLayer("plain", 5, 6, 3, 4, 3, 1, 0),
    ConvLayer("padded", 5, 4, 2, 3, 3, 1, 1),
    ConvLayer("strided", 7, 8, 3, 2, 3, 2, 1),
    ConvLayer("over", 5, 5, 2, 2, 2, 3, 2),
    ConvLayer("point", 6, 6, 5, 3, 1, 2, 0),
    ConvLayer("whole", 4, 4, 2, 3, 4, 1, 0),
]


def _operations(case: Case) -> list[AluOperation]:
    lowered = lower_requantisation(case.requantisation)
    return [*lowered.accumulator, *lowered.output]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_the_reference(layer: ConvLayer) -> None:
    case = make_case(layer, seed=3)
    got = expected(case)
    rows, columns = layer.size
    assert got.shape == (1, layer.outputs, rows, columns)
    operands = {operation.op: operation.operand for operation in _operations(case)}
    shift, addends = operands[AluOp.SHR], operands[AluOp.ADD]
    assert isinstance(shift, int)
    assert isinstance(addends, tuple)
    for o, y, x in np.ndindex(layer.outputs, rows, columns):
        total = addends[o]
        for c, ky, kx in np.ndindex(layer.inputs, layer.kernel, layer.kernel):
            row, column = y * layer.stride + ky - layer.padding, x * layer.stride + kx
            column -= layer.padding
            if 0 <= row < layer.height and 0 <= column < layer.width:
                total += int(case.data[0, c, row, column]) * int(case.weight[o, c, ky, kx])
        assert got[0, o, y, x] == min(max(total >> shift, 0), 127)


@pytest.mark.parametrize(
    "layer",
    [
        *RESNET18[-2:],
        ConvLayer("one", 3, 3, 1, 1, 1, 1, 0),
        ConvLayer("most", 2, 2, 1 << 14, 2, 2, 1, 0),
    ],
    ids=lambda layer: layer.name,
)
def test_the_epilogue_is_always_the_same_four_passes(layer: ConvLayer) -> None:
    operations = _operations(make_case(layer, seed=0))
    ops = [operation.op for operation in operations]
    assert ops == [AluOp.ADD, AluOp.SHR, AluOp.MAX, AluOp.MIN]
    assert [operation.operand for operation in operations[2:]] == [0, 127]


@pytest.mark.parametrize("products", [8, 64, 512])
def test_outputs_use_their_range(products: int) -> None:
    got = expected(make_case(ConvLayer("a", 24, 24, products, 32, 1, 1, 0), seed=1))
    # Half of the sums are negative; few are beyond the greatest output.
    assert 0.4 < np.mean(got == 0) < 0.6
    assert np.mean(got == 127) < 0.05
    assert got.max() > 90


def test_values_depend_on_the_seed_alone() -> None:
    one, same, other = (make_case(LAYERS[0], seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.data, same.data)
    np.testing.assert_array_equal(one.weight, same.weight)
    assert one.requantisation == same.requantisation
    assert (one.data != other.data).any()
    assert one.requantisation != other.requantisation
