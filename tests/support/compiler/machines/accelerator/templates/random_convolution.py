"""A random convolution with a choice, compiled to a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tandem.compiler.machines.accelerator.lower.stream import Stream
from tandem.compiler.te.knobs import Choice
from tandem.hw.config import HardwareConfig
from tests.support.compiler.machines.accelerator.templates.random_workloads import (
    RandomWorkload,
    draw_conv2d,
)
from tests.support.compiler.machines.accelerator.templates.streams import Array


@dataclass(frozen=True, slots=True)
class RandomConvolution:
    """A convolution and a choice for it."""

    config: HardwareConfig
    drawn: RandomWorkload
    choice: Choice

    @staticmethod
    def of(seed: int, config: HardwareConfig, largest: int = 9) -> RandomConvolution:
        """A random convolution and choice from one seed."""
        rng = np.random.default_rng(seed)
        while True:
            drawn = draw_conv2d(rng, config, largest)
            choice = drawn.fitting(rng, config, int(rng.choice([1, 2, 4])))
            if choice is not None:
                return RandomConvolution(config, drawn, choice)

    @property
    def values(self) -> Mapping[str, Array]:
        """The input tensors by name."""
        return self.drawn.values

    def stream(self) -> Stream:
        """The compiled stream."""
        return self.drawn.stream(self.choice, self.config)
