"""Random workloads of the accelerator's templates, and schedule choices that fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from tandem.compiler.graph.operators.reductions import MaxPool
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.machines.accelerator.lower import Operator, Stream, compile_stream
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
from tandem.compiler.machines.accelerator.templates.epilogue import (
    EpiloguePass,
)
from tandem.compiler.machines.accelerator.templates.global_average_pool import (
    GlobalPoolOnAlu,
    GlobalPoolWorkload,
)
from tandem.compiler.machines.accelerator.templates.matmul import MatmulOnArray, MatmulWorkload
from tandem.compiler.machines.accelerator.templates.max_pool import MaxPoolOnAlu, MaxPoolWorkload
from tandem.compiler.machines.accelerator.templates.products import Products
from tandem.compiler.machines.accelerator.templates.requantise_passes import (
    epilogue_passes,
)
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.compiler.machines.accelerator.templates.upsample import (
    UpsampleByStores,
    UpsampleWorkload,
)
from tandem.compiler.plan.space import Choices
from tandem.compiler.requantisation import RequantSpec, Residual
from tandem.compiler.te.knobs import Choice
from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature


@dataclass(frozen=True, slots=True)
class Drawn:
    """A workload and some choices that fit.

    Attributes
    ----------
    immediates
        The values of the program's immediates, by name.
    """

    template: AcceleratorTemplate[Any]
    workload: Any
    immediates: Mapping[str, int]
    choices: Choices
    machine: AcceleratorTarget

    def stream(self, choice: Choice) -> Stream:
        """The compiled program of a choice."""
        program = self.template.schedule(self.workload, choice, self.machine).program
        return compile_stream([Operator(program, {}, immediates=self.immediates)], self.machine)

    def loads_next_group(self, choice: Choice) -> bool:
        """Whether a group's last step loads channels of the next group, which nothing reads.

        Such a LOAD is counted; the program leaves out those that load nothing else.
        """
        workload = self.workload
        return (
            isinstance(workload, Conv2dWorkload)
            and workload.groups > 1
            and workload.extents["ic"] % int(choice["ic"]) != 0
        )


_Workload = tuple[Any, Mapping[str, int]]
_Draw = Callable[[np.random.Generator, HardwareConfig], _Workload]


MOST_DRAWS: Final = 500
"""Workloads that are drawn until one fits a machine."""


class NothingFits(Exception):
    """No drawn workload of a template fits a machine: its memories may hold none at all."""


def drawn(
    template: AcceleratorTemplate[Any], seed: int, config: HardwareConfig, count: int
) -> Drawn:
    """A random workload of the template, and at most `count` choices that fit.

    Raises
    ------
    NothingFits
        None of `MOST_DRAWS` workloads fits the machine.
    """
    rng = np.random.default_rng(seed)
    machine = AcceleratorTarget.of(config)
    for _ in range(MOST_DRAWS):
        workload, immediates = DRAWS[type(template)](rng, config)
        choices = template.space(workload, machine).choices()
        fitting = np.flatnonzero(template.fits(workload, choices, machine))
        if len(fitting):
            rows = rng.choice(fitting, min(count, len(fitting)), replace=False)
            return Drawn(template, workload, immediates, choices.where(rows), machine)
    raise NothingFits(f"{template.name} on {config.name}, seed {seed}")


def _between(rng: np.random.Generator, low: int, high: int) -> int:
    return int(rng.integers(low, high + 1))


def _passes(
    rng: np.random.Generator, channels: int, config: HardwareConfig, *, residual: bool = True
) -> tuple[tuple[EpiloguePass, ...], Mapping[str, int]]:
    return _lowered(_spec(rng, channels, residual=residual), channels, config)


def _spec(rng: np.random.Generator, channels: int, *, residual: bool = True) -> RequantSpec:
    scales = rng.uniform(2**-11, 2**-9, channels).tolist()
    bias = rng.integers(-(2**8), 2**8, channels).tolist()
    match _between(rng, 0, 2 if residual else 1):
        case 0:
            return RequantSpec.pow2(_between(rng, 0, 12), bias, 0, 127)
        case 1:
            return RequantSpec.from_scales(scales, bias, -128, 127)
        case _:
            numbers = (3,) * channels, (5,) * channels
            return RequantSpec(*numbers, 9, -128, 127, 2**12, (Residual(7),))


def _lowered(
    spec: RequantSpec, channels: int, config: HardwareConfig
) -> tuple[tuple[EpiloguePass, ...], Mapping[str, int]]:
    passes, arguments = epilogue_passes(spec, channels, config)
    return passes, arguments.immediates


def _reads_inp(config: HardwareConfig) -> bool:
    return Feature.INPUT_OPERANDS in config.features


def _conv2d(rng: np.random.Generator, config: HardwareConfig) -> _Workload:
    conv, spec = _products_of_windows(rng, config)
    passes, immediates = _lowered(spec, conv.weight[0] * config.block_out, config)
    return replace(conv, passes=passes), immediates


def _products_of_windows(
    rng: np.random.Generator, config: HardwareConfig
) -> tuple[Conv2dWorkload, RequantSpec]:
    """A convolution without passes, and what these have to do."""
    kernel, strides, dilation = (
        tuple(_between(rng, 1, most) for _ in range(2)) for most in (3, 3, 2)
    )
    padding = tuple(_between(rng, 0, 2) if rng.random() < 0.6 else 0 for _ in range(4))
    least = [
        max(1, step * (taps - 1) + 1 - padding[axis] - padding[axis + 2])
        for axis, (step, taps) in enumerate(zip(dilation, kernel, strict=True))
    ]
    sizes = [_between(rng, low, max(low, 12)) for low in least]
    groups, inputs, outputs = (_between(rng, 1, most) for most in (2, 3, 3))
    spec = _spec(rng, groups * outputs * config.block_out)
    n, batch, depth = _between(rng, 1, 2), config.batch, config.block_in
    workload = Conv2dWorkload(
        (n, groups * inputs, *sizes, batch, depth),
        (groups * outputs, inputs, *kernel, config.block_out, depth),
        strides,
        padding,
        dilation,
        groups,
        (),
    )
    return workload, spec


def _pooled_conv2d(rng: np.random.Generator, config: HardwareConfig) -> _Workload:
    while True:
        conv, _ = _products_of_windows(rng, config)
        rows, columns = (window.count for window in conv.windows)
        if conv.groups == 1 and min(rows, columns) >= 3:
            break
    passes, immediates = _passes(rng, conv.weight[0] * config.block_out, config, residual=False)
    lowest = LOWEST[int(rng.integers(2))]
    return PooledWorkload(replace(conv, passes=passes), _pool(rng), lowest), immediates


def _matmul(rng: np.random.Generator, config: HardwareConfig) -> _Workload:
    groups, inputs, outputs, rows = (_between(rng, 1, most) for most in (3, 3, 3, 12))
    passes, immediates = _passes(rng, groups * outputs * config.block_out, config, residual=False)
    workload = MatmulWorkload(
        (1, groups * inputs, 1, rows, config.batch, config.block_in),
        (groups * outputs, inputs, 1, 1, config.block_out, config.block_in),
        (1, 1),
        (0, 0, 0, 0),
        (1, 1),
        groups,
        passes,
        image=bool(rng.integers(2)),
    )
    return workload, immediates


def _products(rng: np.random.Generator, config: HardwareConfig) -> Products:
    rows, outputs, inputs = (_between(rng, 1, 8) for _ in range(3))
    return Products(rows, outputs, inputs, config.batch, config.block_out, config.block_in)


def _dense(rng: np.random.Generator, config: HardwareConfig) -> _Workload:
    products = _products(rng, config)
    passes, immediates = _passes(rng, products.outputs * config.block_out, config)
    return DenseWorkload(products, passes), immediates


def _image(rng: np.random.Generator, config: HardwareConfig, least: int = 1) -> tuple[int, ...]:
    n, channels = _between(rng, 1, 2), _between(rng, 1, 4)
    height, width = (_between(rng, least, 10) for _ in range(2))
    return (n, channels, height, width, config.batch, config.block_out)


def _pool(rng: np.random.Generator) -> MaxPool:
    kernel = (_between(rng, 1, 3), _between(rng, 1, 3))
    padding = tuple(_between(rng, 0, kernel[axis % 2] - 1) for axis in range(4))
    strides = (_between(rng, 1, 3), _between(rng, 1, 3))
    return MaxPool(kernel, strides, padding, ceil_mode=bool(rng.integers(2)))


def _max_pool(rng: np.random.Generator, config: HardwareConfig) -> _Workload:
    pool, from_inp = _pool(rng), _reads_inp(config)
    return MaxPoolWorkload(_image(rng, config, least=3), pool, from_inp=from_inp), {}


def _global_pool(rng: np.random.Generator, config: HardwareConfig) -> _Workload:
    data = _image(rng, config)
    passes, immediates = _passes(rng, data[1] * config.block_out, config, residual=False)
    return GlobalPoolWorkload(data, passes, _reads_inp(config)), immediates


def _elementwise(rng: np.random.Generator, config: HardwareConfig) -> _Workload:
    data = _image(rng, config)
    passes, immediates = _passes(rng, data[1] * config.block_out, config)
    dtype = INT8 if rng.random() < 0.7 else INT32
    from_inp = dtype == INT8 and _reads_inp(config)
    return ElementwiseWorkload(data, passes, dtype, from_inp), immediates


def _upsample(rng: np.random.Generator, config: HardwareConfig) -> _Workload:
    return UpsampleWorkload(_image(rng, config), (_between(rng, 1, 3), _between(rng, 1, 3))), {}


DRAWS: Mapping[type, _Draw] = {
    Conv2dOnArray: _conv2d,
    PooledConv2dOnArray: _pooled_conv2d,
    DenseOnArray: _dense,
    MatmulOnArray: _matmul,
    WideDenseOnArray: lambda rng, config: (_products(rng, config), {}),
    MaxPoolOnAlu: _max_pool,
    GlobalPoolOnAlu: _global_pool,
    ElementwiseOnAlu: _elementwise,
    UpsampleByStores: _upsample,
}
"""Generators of a random workload and its immediates, by template."""
