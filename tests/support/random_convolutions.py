"""Convolutions of random shapes, cut into random tiles, and what they should give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from compiler.ir.dtypes import INT8
from compiler.operators.accelerator.conv2d import PackedConv2d, packed_conv2d
from compiler.operators.accelerator.conv2d_cost import ConvShape
from compiler.operators.accelerator.conv2d_schedule import conv2d_schedule
from compiler.operators.accelerator.conv2d_tiles import fits
from compiler.operators.accelerator.packing import (
    block_groups,
    pack_data,
    pack_weight,
    unpack_data,
)
from compiler.operators.accelerator.requantise import requantise
from compiler.operators.accelerator.tiling import Order, Tiling
from compiler.requantisation import RequantSpec
from compiler.target import AcceleratorTarget
from compiler.te import Schedule, placeholder
from hw.config import HardwareConfig
from tests.support.streams import Array

__all__ = ["RandomConvolution", "convolve"]


def convolve(
    data: Array,
    weight: Array,
    strides: tuple[int, int],
    padding: tuple[int, int, int, int],
    dilation: tuple[int, int],
    groups: int = 1,
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """[N, C, H, W] and [O, C / groups, KH, KW] to [N, O, OH, OW], tap by tap."""
    if groups > 1:
        parts = zip(np.split(data, groups, axis=1), np.split(weight, groups), strict=True)
        return np.concatenate(
            [convolve(*part, strides, padding, dilation) for part in parts], axis=1
        )
    top, left, bottom, right = padding
    image = np.pad(data.astype(np.int64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    taps = weight.astype(np.int64)
    _, _, tall, wide = weight.shape
    (sy, sx), (dy, dx) = strides, dilation
    rows = (image.shape[2] - dy * (tall - 1) - 1) // sy + 1
    columns = (image.shape[3] - dx * (wide - 1) - 1) // sx + 1
    total = np.zeros((data.shape[0], weight.shape[0], rows, columns), dtype=np.int64)
    for ky in range(tall):
        for kx in range(wide):
            part = image[:, :, ky * dy :: sy, kx * dx :: sx][:, :, :rows, :columns]
            total += np.einsum("nchw,oc->nohw", part, taps[:, :, ky, kx])
    return total


@dataclass(frozen=True, slots=True)
class RandomConvolution:
    """A convolution, its tiles, its tensors and the result.

    Attributes
    ----------
    expected
        [N, O, OH, OW], int8.
    """

    config: HardwareConfig
    conv: PackedConv2d
    tiling: Tiling
    values: Mapping[str, Array]
    expected: Array

    @staticmethod
    def of(seed: int, config: HardwareConfig, largest: int = 9) -> RandomConvolution:
        """Everything from one seed; tiles that fit, however bad they are."""
        rng = np.random.default_rng(seed)
        while True:
            found = _drawn(rng, config, largest)
            if found is not None:
                return found

    def schedule(self) -> Schedule:
        """For the accelerator."""
        return conv2d_schedule(self.conv, self.tiling, AcceleratorTarget.of(self.config))

    def check(self, outputs: Mapping[str, Array]) -> None:
        """Compare what a run has left."""
        found = unpack_data(outputs[self.conv.output.name], self.expected.shape)
        np.testing.assert_array_equal(found, self.expected, str(self.tiling))


def _drawn(
    rng: np.random.Generator, config: HardwareConfig, largest: int
) -> RandomConvolution | None:
    """None where no tile of what was drawn fits."""

    def draw(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    tall, wide = draw(1, 3), draw(1, 3)
    strides, dilation = (draw(1, 3), draw(1, 2)), (draw(1, 2), draw(1, 2))
    padding = (draw(0, 2), draw(0, 2), draw(0, 2), draw(0, 2))
    least_y = max(1, dilation[0] * (tall - 1) + 1 - padding[0] - padding[2])
    least_x = max(1, dilation[1] * (wide - 1) + 1 - padding[1] - padding[3])
    groups, inputs, outputs = _channels(rng, config)
    shape = (
        draw(1, 2 * config.batch),
        groups * inputs,
        draw(least_y, max(least_y, largest)),
        draw(least_x, max(least_x, largest)),
    )
    data = rng.integers(-128, 128, shape, dtype=np.int8)
    weight = rng.integers(-128, 128, (groups * outputs, inputs, tall, wide), dtype=np.int8)
    sums = convolve(data, weight, strides, padding, dilation, groups)
    spec = _requantisation(rng, groups * outputs)
    after = requantise(spec, groups * outputs, config, "operand")
    packed = pack_data(data, config)
    merged, of_blocks = block_groups(weight, groups, config)
    kernel = pack_weight(merged, config)
    conv = packed_conv2d(
        placeholder(packed.shape, INT8, "data"),
        placeholder(kernel.shape, INT8, "weight"),
        after.passes,
        strides=strides,
        padding=padding,
        dilation=dilation,
        groups=of_blocks,
    )
    tiling = _tiling(rng, ConvShape.of(conv), config)
    if tiling is None:
        return None
    values = {"data": packed, "weight": kernel, **after.values}
    expected = spec.reference(sums, axis=1).astype(np.int8)
    return RandomConvolution(config, conv, tiling, values, expected)


def _channels(rng: np.random.Generator, config: HardwareConfig) -> tuple[int, int, int]:
    """Groups, and the input and output channels of each; most have one group."""

    def draw(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    if rng.random() < 0.6:
        return 1, draw(1, 3 * config.block_in), draw(1, 4 * config.block_out)
    if rng.random() < 0.5:
        # Groups of whole blocks.
        blocks_in, blocks_out = draw(1, 2), draw(1, 2)
        return draw(2, 3), blocks_in * config.block_in, blocks_out * config.block_out
    return draw(2, 2 * config.block_in), draw(1, 3), draw(1, 3)


def _requantisation(rng: np.random.Generator, channels: int) -> RequantSpec:
    bias = rng.integers(-(2**12), 2**12, channels).tolist()
    low, high = (0, 127) if rng.random() < 0.5 else (-128, 127)
    if rng.random() < 0.5:
        return RequantSpec.pow2(int(rng.integers(0, 12)), bias, low, high)
    scales = rng.uniform(2**-11, 2**-7, channels).tolist()
    return RequantSpec.from_scales(scales, bias, low, high)


def _tiling(rng: np.random.Generator, shape: ConvShape, config: HardwareConfig) -> Tiling | None:
    for _ in range(50):
        order = Order(rng.choice([each.value for each in Order]))
        along = {
            Order.IMAGE: ("oc",),
            Order.WEIGHTS: ("y", "x"),
            Order.OUTPUTS: ("oc", "y", "x"),
        }[order]
        oc, y, x, ic = (
            int(rng.integers(1, extent + 1)) for extent in (shape.oc, shape.y, shape.x, shape.ic)
        )
        threads = int(rng.choice([1, 2, 4]))
        tiling = Tiling(oc, y, x, ic, order, threads, str(rng.choice(along)))
        if fits(shape, tiling, config):
            return tiling
    return None
