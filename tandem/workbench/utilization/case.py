"""Test cases of convolutions: values, requantisation and expected result."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tandem.compiler.requantisation import RequantSpec
from tandem.workbench.utilization.conv_layers import LARGEST_SUM, ConvLayer

Int8 = npt.NDArray[np.int8]

MOST = 127
DEVIATIONS = 3
"""Standard deviations of a sum that are scaled to the greatest output."""


@dataclass(frozen=True, slots=True)
class Case:
    """The arguments of a convolution.

    Attributes
    ----------
    data, weight
        int8[1, IC, H, W] and int8[OC, IC, K, K].
    requantisation
        From accumulators to int8 in 0..127: per-channel bias, rounding, shift and clipping.
    """

    layer: ConvLayer
    data: Int8
    weight: Int8
    requantisation: RequantSpec


def make_case(layer: ConvLayer, seed: int) -> Case:
    """A case with random values, and a shift for which the outputs cover their range.

    The case depends on the layer and the seed only, not on other layers.
    """
    random = np.random.default_rng(seed)
    data = _bytes(random, (1, layer.inputs, layer.height, layer.width))
    weight = _bytes(random, (layer.outputs, layer.inputs, layer.kernel, layer.kernel))
    # The variance of a product of two numbers, each uniform over 256 values.
    deviation = math.sqrt(((256**2 - 1) / 12) ** 2 * layer.products)
    bias = random.integers(-round(deviation), round(deviation), layer.outputs, endpoint=True)
    shift = round(math.log2(DEVIATIONS * deviation / MOST))
    # Within this bound no accumulator has to be clipped before the bias is added: the passes are
    # ADD, SHR, MAX and MIN for every layer.
    return Case(layer, data, weight, RequantSpec.pow2(shift, bias, 0, MOST, bound=LARGEST_SUM))


def _bytes(random: np.random.Generator, shape: tuple[int, ...]) -> Int8:
    return random.integers(-128, 128, shape, dtype=np.int8)


def expected(case: Case) -> Int8:
    """The exact result, int8[1, OC, OH, OW], computed by NumPy alone."""
    layer = case.layer
    rows, columns = layer.size
    border = (layer.padding, layer.padding)
    # NumPy's matrix product is fastest in float64, which is exact for sums under 2^31.
    image = np.pad(case.data[0].astype(np.float64), ((0, 0), border, border))
    sums = np.zeros((layer.outputs, rows * columns))
    step = layer.stride
    for y in range(layer.kernel):
        for x in range(layer.kernel):
            part = image[:, y : y + step * rows : step, x : x + step * columns : step]
            part = part[:, :rows, :columns].reshape(layer.inputs, -1)
            sums += case.weight[:, :, y, x].astype(np.float64) @ part
    acc = sums.astype(np.int64).reshape(1, layer.outputs, rows, columns)
    return case.requantisation.reference(acc, axis=1).astype(np.int8)
