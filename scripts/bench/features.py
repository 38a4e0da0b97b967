"""Speed of computing cost-model features of schedule choices.

`python -m tandem.scripts.bench.features` prints it. A search by simulated annealing scores tens of
thousands of choices at a time. Times are CPU time, the best of several rounds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np

from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.dense import DenseOnArray, DenseWorkload
from tandem.compiler.machines.accelerator.templates.elementwise import (
    ElementwiseOnAlu,
    ElementwiseWorkload,
)
from tandem.compiler.machines.accelerator.templates.features import features
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.products import Products
from tandem.compiler.machines.accelerator.templates.requantise_passes import alu_passes
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.compiler.requantisation import RequantSpec
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.scripts.bench.measurements import Measurement, print_measurements
from tandem.scripts.options import DEFAULT_CONFIG

ROUNDS = 3
COUNT = 100_000
TARGET = 1e5
"""Minimum choices per second."""


def measure(config: HardwareConfig, count: int = COUNT) -> Iterator[Measurement]:
    """Choices per second for a convolution, a dense layer and an elementwise sum."""
    machine, cost = AcceleratorTarget.of(config), MachineCost(config)
    for template, workload in _workloads(config):
        every = template.space(workload, machine).choices()
        fitting = np.flatnonzero(template.fits(workload, every, machine))
        choices = every.where(np.resize(fitting, count))
        best = 0.0
        for _ in range(ROUNDS):
            begun = process_time()
            features(template, workload, choices, cost)
            best = max(best, count / (process_time() - begun))
        yield Measurement(f"features, {template.name}", best, "choices/s", TARGET)


def _workloads(config: HardwareConfig) -> Iterator[tuple[AcceleratorTemplate[Any], Any]]:
    """Workloads of 256 channels of 14 x 14, as in the middle of a ResNet."""
    channels, pixels = 256, 14
    spec = RequantSpec.pow2(8, [0] * channels, 0, 127)
    passes, _ = alu_passes(spec, channels, config)
    batch, inputs, outputs = config.batch, config.block_in, config.block_out
    blocks, depth = -(-channels // outputs), -(-channels // inputs)
    conv = Conv2dWorkload(
        (1, depth, pixels, pixels, batch, inputs),
        (blocks, depth, 3, 3, outputs, inputs),
        strides=(1, 1),
        padding=(1, 1, 1, 1),
        dilation=(1, 1),
        groups=1,
        passes=passes,
    )
    yield Conv2dOnArray(), conv
    products = Products(pixels, blocks, depth, batch, outputs, inputs)
    yield DenseOnArray(), DenseWorkload(products, passes)
    image = (1, blocks, pixels, pixels, batch, outputs)
    yield ElementwiseOnAlu(), ElementwiseWorkload(image, passes)


def main() -> int:
    """Print the report; 1 where a target is missed."""
    return print_measurements(measure(load_config(DEFAULT_CONFIG)))


if __name__ == "__main__":
    sys.exit(main())
