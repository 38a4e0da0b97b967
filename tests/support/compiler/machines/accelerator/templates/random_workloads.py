"""Random workloads of the accelerator's templates with random choices and expected results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tandem.compiler.graph.operators.reductions import MaxPool
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.machines.accelerator.lower.stream import Stream
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.conv2d_max_pool import (
    LOWEST,
    PooledConv2dOnArray,
    PooledWorkload,
)
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.dense import DenseOnArray, DenseWorkload
from tandem.compiler.machines.accelerator.templates.dense_wide import WideDenseOnArray
from tandem.compiler.machines.accelerator.templates.elementwise import (
    ElementwiseOnAlu,
    ElementwiseWorkload,
)
from tandem.compiler.machines.accelerator.templates.global_average_pool import (
    GlobalPoolOnAlu,
    GlobalPoolWorkload,
)
from tandem.compiler.machines.accelerator.templates.matmul import MatmulOnArray, MatmulWorkload
from tandem.compiler.machines.accelerator.templates.max_pool import MaxPoolOnAlu, MaxPoolWorkload
from tandem.compiler.machines.accelerator.templates.packing import (
    block_groups,
    pack_data,
    pack_weight,
)
from tandem.compiler.machines.accelerator.templates.products import Products
from tandem.compiler.machines.accelerator.templates.requantise_passes import epilogue_passes
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.compiler.machines.accelerator.templates.upsample import (
    UpsampleByStores,
    UpsampleWorkload,
)
from tandem.compiler.plan.space import Choices
from tandem.compiler.requantisation import RequantSpec, Residual
from tandem.compiler.te.knobs import Choice, Setting
from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import drawn_size
from tests.support.compiler.machines.accelerator.templates.alu_passes import (
    Passes,
    Wide,
    draw_passes,
    draw_values,
    low_bytes,
)
from tests.support.compiler.machines.accelerator.templates.random_operators import Check
from tests.support.compiler.machines.accelerator.templates.streams import (
    Array,
    run_stream,
    stream_of,
)
from tests.support.compiler.machines.accelerator.templates.window_maxima import window_maxima


@dataclass(frozen=True, slots=True)
class RandomWorkload:
    """A workload, its arguments, and its expected output."""

    template: AcceleratorTemplate[Any]
    workload: Any
    values: Mapping[str, Array]
    immediates: Mapping[str, int]
    expected: Array

    def fits(self, choice: Choice, config: HardwareConfig) -> bool:
        """Whether the choice fits the machine, by the template."""
        machine = AcceleratorTarget.of(config)
        return bool(self.template.fits(self.workload, Choices.of([choice]), machine).item())

    def stream(self, choice: Choice, config: HardwareConfig) -> Stream:
        """The compiled stream of a choice."""
        schedule = self.template.schedule(self.workload, choice, AcceleratorTarget.of(config))
        return stream_of(schedule, config, self.immediates)

    def check(self, choice: Choice, config: HardwareConfig, engine: str = "functional") -> None:
        """Run the workload and compare the output."""
        outputs, _ = run_stream(self.stream(choice, config), self.values, engine)
        np.testing.assert_array_equal(outputs["out"], self.expected, f"{self.workload} {choice}")

    def fitting(
        self, rng: np.random.Generator, config: HardwareConfig, threads: int
    ) -> Choice | None:
        """A random choice that fits; the largest tiles are reduced if none does."""
        for attempt in range(60):
            choice = draw_choice(rng, self, config, threads, smaller=attempt // 10)
            if self.fits(choice, config):
                return choice
        return None


def draw_choice(
    rng: np.random.Generator,
    drawn: RandomWorkload,
    config: HardwareConfig,
    threads: int,
    *,
    smaller: int = 0,
    beyond: int = 0,
) -> dict[str, Setting]:
    """Random settings of the knobs, with any tile sizes, also outside of the search space.

    Parameters
    ----------
    smaller
        How often the largest tile is halved.
    beyond
        By how much tiles may be larger than their axes.
    """
    space = drawn.template.space(drawn.workload, AcceleratorTarget.of(config))
    choice: dict[str, Setting] = {}
    for name, settings in space.knobs.items():
        sizes = [each for each in settings if isinstance(each, int)]
        if name == "threads":
            choice[name] = threads
        elif name == "resident":
            choice[name] = int(rng.integers(0, 2))
        elif sizes:
            most = max(1, max(sizes) >> smaller) + int(rng.integers(0, beyond + 1))
            choice[name] = drawn_size(rng, most)
        else:
            choice[name] = str(rng.choice(settings))
    return choice


Drawer = Callable[[np.random.Generator, HardwareConfig], RandomWorkload]
"""Function that draws a random workload for a machine."""


def check_of(drawer: Drawer) -> Check:
    """The check that runs a random workload with a random choice that fits."""

    def check(seed: int, config: HardwareConfig, threads: int, engine: str = "functional") -> None:
        rng = np.random.default_rng(seed)
        while True:
            drawn = drawer(rng, config)
            for fewer in (threads, 1):
                choice = drawn.fitting(rng, config, fewer)
                if choice is not None:
                    drawn.check(choice, config, engine)
                    return

    return check


# Convolutions -------------------------------------------------------------------------------------


def convolve(
    data: Array,
    weight: Array,
    strides: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int = 1,
) -> Wide:
    """Reference convolution of [N, C, H, W] and [O, C / groups, KH, KW]: [N, O, OH, OW]."""
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


def pack_sums(sums: Wide, config: HardwareConfig) -> Wide:
    """Sums [N, O, H, W] packed in zero-padded blocks of output channels."""
    n, o, h, w = sums.shape
    batch, lanes = config.batch, config.block_out
    images, blocks = -(-n // batch), -(-o // lanes)
    padded = np.pad(sums, [(0, images * batch - n), (0, blocks * lanes - o), (0, 0), (0, 0)])
    return padded.reshape(images, batch, blocks, lanes, h, w).transpose(0, 2, 4, 5, 1, 3)


def draw_conv2d(
    rng: np.random.Generator, config: HardwareConfig, largest: int = 9
) -> RandomWorkload:
    """A random convolution, followed by a requantisation or by random passes."""
    kernel, strides = (_draw(rng, 1, 3), _draw(rng, 1, 3)), (_draw(rng, 1, 3), _draw(rng, 1, 2))
    dilation = _draw(rng, 1, 2), _draw(rng, 1, 2)
    padding = tuple(_draw(rng, 0, 2) for _ in range(4)) if rng.random() < 0.7 else (0, 0, 0, 0)
    least = [
        max(1, dilation[axis] * (kernel[axis] - 1) + 1 - padding[axis] - padding[axis + 2])
        for axis in (0, 1)
    ]
    groups, inputs, outputs = _channels(rng, config)
    size = tuple(_draw(rng, each, max(each, largest)) for each in least)
    data = draw_values(rng, (_draw(rng, 1, 2 * config.batch), groups * inputs, *size), INT8)
    weight = draw_values(rng, (groups * outputs, inputs, *kernel), INT8)
    sums = convolve(data, weight, strides, padding, dilation, groups)
    packed_sums = pack_sums(sums, config)
    if rng.random() < 0.5:
        after = _requantised(rng, groups * outputs, packed_sums, config)
    else:
        after = draw_passes(rng, packed_sums.shape, 3)
    merged, of_blocks = block_groups(weight, groups, config)
    values = {"data": pack_data(data, config), "weight": pack_weight(merged, config)}
    return RandomWorkload(
        Conv2dOnArray(),
        Conv2dWorkload(
            values["data"].shape,
            values["weight"].shape,
            strides,
            padding,
            dilation,
            of_blocks,
            after.passes,
        ),
        {**values, **after.values},
        after.immediates,
        low_bytes(after.applied(packed_sums)),
    )


def draw_pooled_conv2d(rng: np.random.Generator, config: HardwareConfig) -> RandomWorkload:
    """A random convolution of one group, its requantisation, and maxima over windows of that."""
    kernel, strides = (_draw(rng, 1, 3), _draw(rng, 1, 3)), (_draw(rng, 1, 3), _draw(rng, 1, 2))
    padding = tuple(_draw(rng, 0, 2) for _ in range(4)) if rng.random() < 0.5 else (0, 0, 0, 0)
    least = [max(1, kernel[axis] - padding[axis] - padding[axis + 2]) for axis in (0, 1)]
    size = tuple(_draw(rng, each, max(each, 9)) for each in least)
    inputs, outputs = _draw(rng, 1, 2 * config.block_in), _draw(rng, 1, 3 * config.block_out)
    data = draw_values(rng, (_draw(rng, 1, 2 * config.batch), inputs, *size), INT8)
    weight = draw_values(rng, (outputs, inputs, *kernel), INT8)
    packed_sums = pack_sums(convolve(data, weight, strides, padding, (1, 1)), config)
    after = _requantised(rng, outputs, packed_sums, config, residual=False)
    pool = _pool_of(rng, packed_sums.shape[2:4])
    small = int(np.abs(packed_sums).max()) <= -LOWEST[0] and rng.random() < 0.7
    values = {"data": pack_data(data, config), "weight": pack_weight(weight, config)}
    shapes = values["data"].shape, values["weight"].shape
    conv = Conv2dWorkload(*shapes, strides, padding, (1, 1), 1, after.passes)
    workload = PooledWorkload(conv, pool, LOWEST[0 if small else 1])
    results = low_bytes(after.applied(packed_sums))
    return RandomWorkload(
        PooledConv2dOnArray(),
        workload,
        {**values, **after.values},
        after.immediates,
        window_maxima(results, workload.maxima),
    )


def _channels(rng: np.random.Generator, config: HardwareConfig) -> tuple[int, int, int]:
    """The number of groups, mostly one, and the input and output channels of a group."""
    if rng.random() < 0.6:
        return 1, _draw(rng, 1, 3 * config.block_in), _draw(rng, 1, 4 * config.block_out)
    if rng.random() < 0.5:
        # Groups of whole blocks.
        blocks_in, blocks_out = _draw(rng, 1, 2), _draw(rng, 1, 3)
        return _draw(rng, 2, 3), blocks_in * config.block_in, blocks_out * config.block_out
    return _draw(rng, 2, 2 * config.block_in), _draw(rng, 1, 3), _draw(rng, 1, 3)


def _requantisation(rng: np.random.Generator, channels: int) -> RequantSpec:
    bias = rng.integers(-(2**12), 2**12, channels).tolist()
    low, high = (0, 127) if rng.random() < 0.5 else (-128, 127)
    if rng.random() < 0.5:
        return RequantSpec.pow2(int(rng.integers(0, 12)), bias, low, high)
    scales = rng.uniform(2**-11, 2**-7, channels).tolist()
    return RequantSpec.from_scales(scales, bias, low, high)


def _requantised(
    rng: np.random.Generator,
    channels: int,
    sums: Wide,
    config: HardwareConfig,
    *,
    residual: bool = True,
) -> Passes:
    """A requantisation, as the machine does it; maybe with a residual, where that is one pass."""
    spec, skip = _requantisation(rng, channels), dict[str, Array]()
    if residual and _ONE_PASS <= config.features and rng.random() < 0.5:
        spec = replace(spec, residuals=(Residual(int(rng.integers(1 << 22))),))
        skip = {"skip": draw_values(rng, sums.shape, INT8)}
    after = Passes.of(epilogue_passes(spec, channels, config))
    return replace(after, values={**after.values, **skip})


_ONE_PASS = frozenset({Feature.REQUANTISE, Feature.INPUT_OPERANDS})
"""Features with which a residual is added and requantised in one pass."""


def _passes_after(
    rng: np.random.Generator,
    sums: Wide,
    most: int,
    config: HardwareConfig,
    *,
    residual: bool = True,
) -> Passes:
    """Random passes, or on machines that have it a requantisation."""
    if Feature.REQUANTISE in config.features and rng.random() < 0.7:
        channels = sums.shape[1] * config.block_out
        return _requantised(rng, channels, sums, config, residual=residual)
    return draw_passes(rng, sums.shape, most)


# Dense layers -------------------------------------------------------------------------------------


def draw_dense(rng: np.random.Generator, config: HardwareConfig) -> RandomWorkload:
    """A random dense layer, followed by random passes."""
    products, values, sums = _products(rng, config)
    after = _passes_after(rng, sums, 2, config)
    return RandomWorkload(
        DenseOnArray(),
        DenseWorkload(products, after.passes),
        {**values, **after.values},
        after.immediates,
        low_bytes(after.applied(sums)),
    )


def draw_dense_wide(rng: np.random.Generator, config: HardwareConfig) -> RandomWorkload:
    """A random dense layer that stores planes of the sums' bytes."""
    products, values, sums = _products(rng, config)
    bits = 8 * np.arange(4)
    amounts = np.broadcast_to(bits[:, None, None], (4, config.batch, config.block_out))
    planes = sums[:, :, 0, 0] >> bits[:, None, None, None, None]
    return RandomWorkload(
        WideDenseOnArray(),
        products,
        {**values, "amounts": amounts.astype(np.int32)},
        {},
        low_bytes(planes),
    )


def _products(
    rng: np.random.Generator, config: HardwareConfig
) -> tuple[Products, dict[str, Array], Wide]:
    n, ic, oc = (drawn_size(rng, most) for most in (4, 6, 7))
    data = draw_values(rng, (n, ic, 1, 1, config.batch, config.block_in), INT8)
    weight = draw_values(rng, (oc, ic, 1, 1, config.block_out, config.block_in), INT8)
    sums: Wide = np.einsum("niyxbk,oiyxlk->noyxbl", data.astype(np.int64), weight.astype(np.int64))
    products = Products(n, oc, ic, config.batch, config.block_out, config.block_in)
    return products, {"data": data, "weight": weight}, sums


# Products of activations --------------------------------------------------------------------------


def draw_matmul(rng: np.random.Generator, config: HardwareConfig) -> RandomWorkload:
    """Random products of matrices whose rows are pixels, followed by random passes."""
    count, inputs, outputs, rows = (drawn_size(rng, most) for most in (3, 3, 4, 9))
    image = bool(rng.random() < 0.5)
    block = config.block_out, config.block_in
    data = draw_values(rng, (count, inputs, rows, config.batch, config.block_in), INT8)
    kernels = draw_values(rng, (count, outputs, inputs, *block), INT8)
    sums: Wide = np.einsum("gimbk,goilk->gombl", data.astype(np.int64), kernels.astype(np.int64))
    sums = sums.reshape(1, count * outputs, 1, rows, config.batch, config.block_out)
    after = _passes_after(rng, sums, 2, config, residual=False)
    workload = MatmulWorkload(
        (1, count * inputs, 1, rows, config.batch, config.block_in),
        (count * outputs, inputs, 1, 1, *block),
        strides=(1, 1),
        padding=(0, 0, 0, 0),
        dilation=(1, 1),
        groups=count,
        passes=after.passes,
        image=image,
    )
    order = (0, 2, 1, 3, 4) if image else (1, 2, 0, 3, 4)
    values = {"data": data.reshape(workload.data), "weight": kernels.transpose(order).copy()}
    return RandomWorkload(
        MatmulOnArray(),
        workload,
        {**values, **after.values},
        after.immediates,
        low_bytes(after.applied(sums)),
    )


# On the ALU ---------------------------------------------------------------------------------------


def draw_elementwise(rng: np.random.Generator, config: HardwareConfig) -> RandomWorkload:
    """Random passes over int8 or int32."""
    dtype = INT8 if rng.random() < 0.5 else INT32
    data = draw_values(rng, _image(rng, config, (2, 5, 7, 6)), dtype)
    after = _passes_after(rng, data.astype(np.int64), 3, config)
    from_inp = dtype == INT8 and Feature.INPUT_OPERANDS in config.features
    return RandomWorkload(
        ElementwiseOnAlu(),
        ElementwiseWorkload(data.shape, after.passes, dtype, from_inp),
        {"data": data, **after.values},
        after.immediates,
        low_bytes(after.applied(data.astype(np.int64))),
    )


def draw_global_pool(rng: np.random.Generator, config: HardwareConfig) -> RandomWorkload:
    """Random sums of images, followed by random passes."""
    data = draw_values(rng, _image(rng, config, (2, 6, 7, 7)), INT8)
    sums: Wide = data.astype(np.int64).sum(axis=(2, 3), keepdims=True)
    after = _passes_after(rng, sums, 2, config, residual=False)
    return RandomWorkload(
        GlobalPoolOnAlu(),
        GlobalPoolWorkload(data.shape, after.passes, Feature.INPUT_OPERANDS in config.features),
        {"data": data, **after.values},
        after.immediates,
        low_bytes(after.applied(sums)),
    )


def draw_max_pool(rng: np.random.Generator, config: HardwareConfig) -> RandomWorkload:
    """A random max pool whose windows all have data."""
    data = draw_values(rng, _image(rng, config, (2, 4, 9, 8)), INT8)
    pool = _pool_of(rng, data.shape[2:4])
    from_inp = Feature.INPUT_OPERANDS in config.features
    workload = MaxPoolWorkload(data.shape, pool, from_inp=from_inp)
    return RandomWorkload(
        MaxPoolOnAlu(), workload, {"data": data}, {}, window_maxima(data, workload)
    )


def _pool_of(rng: np.random.Generator, image: Sequence[int]) -> MaxPool:
    """Random windows of an image of rows and columns, which all have data."""
    dilation = _draw(rng, 1, 2), _draw(rng, 1, 2)
    kernel = tuple(
        _draw(rng, 1, min(3, (extent - 1) // apart + 1))
        for extent, apart in zip(image, dilation, strict=True)
    )
    return MaxPool(
        kernel,
        tuple(_draw(rng, 1, 3) for _ in kernel),
        # The first and the last window have at least one tap on the image.
        tuple(_draw(rng, 0, size - 1) for size in (*kernel, *kernel)),
        dilation,
        bool(rng.random() < 0.5),
    )


def draw_upsample(rng: np.random.Generator, config: HardwareConfig) -> RandomWorkload:
    """Random images, of which each row and column is repeated."""
    data = draw_values(rng, _image(rng, config, (2, 4, 6, 6)), INT8)
    rows, columns = factors = _draw(rng, 1, 3), _draw(rng, 1, 3)
    n, channels, height, width, *block = data.shape
    repeated = np.broadcast_to(
        data[:, :, :, None, :, None], (n, channels, height, rows, width, columns, *block)
    )
    workload = UpsampleWorkload(data.shape, factors)
    return RandomWorkload(UpsampleByStores(), workload, {"data": data}, {}, repeated)


def _image(
    rng: np.random.Generator, config: HardwareConfig, most: Sequence[int]
) -> tuple[int, ...]:
    return (*(drawn_size(rng, each) for each in most), config.batch, config.block_out)


def _draw(rng: np.random.Generator, low: int, high: int) -> int:
    return int(rng.integers(low, high + 1))


DRAWERS: Mapping[str, Drawer] = {
    "conv2d": draw_conv2d,
    "conv2d_max_pool": draw_pooled_conv2d,
    "dense": draw_dense,
    "dense_wide": draw_dense_wide,
    "elementwise": draw_elementwise,
    "global_average_pool": draw_global_pool,
    "matmul": draw_matmul,
    "max_pool": draw_max_pool,
    "upsample": draw_upsample,
}
"""Drawers by template name."""
