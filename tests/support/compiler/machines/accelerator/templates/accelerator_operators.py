"""Machines, tile sizes and shapes that tests of the accelerator's operators share."""

from __future__ import annotations

from functools import cache

import numpy as np

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.errors import ConfigError
from tandem.hw.features import Feature
from tests.support.hw.configs import UNCOMMON

CONFIGS = ("tiny", "small8", "block4", "batch2", "wide_bus", "tall")
"""Presets, and machines whose blocks of input and output channels differ."""

EXTENDED = ("extended", "extended_batch", "requantising")
"""Machines with features: all of them, with one row and with two; and of REQUANTISE alone."""

THREADS = (1, 2, 4)

RTL_SEEDS = range(3)
"""Seeds of quick tests on the RTL of `tiny`."""

ON_RTL = ("tiny", "small8", "batch2")
"""Configurations whose RTL runs in exhaustive tests."""

MORE_RTL_SEEDS = range(3, 20)
"""Seeds of exhaustive tests on the RTL."""


@cache
def machine(name: str) -> HardwareConfig:
    """A configuration by its name."""
    uncommon = {each.name: each for each in UNCOMMON}
    extended = uncommon["extended"]
    uncommon |= {
        "extended_batch": extended.replace(name="extended_batch", log_batch=1, log_par_buffer=6),
        "requantising": extended.replace(
            name="requantising", features=frozenset({Feature.REQUANTISE}), log_block_in=1
        ),
    }
    return uncommon[name] if name in uncommon else load_config(name)


def drawn_size(rng: np.random.Generator, most: int) -> int:
    """A random size from 1 to `most`; `most` is the most frequent size."""
    return most if rng.random() < 0.4 else int(rng.integers(1, most + 1))


def drawn_machine(rng: np.random.Generator) -> HardwareConfig:
    """A random configuration: an array of any shape, with buffers of few elements."""
    while True:
        batch, inputs, outputs = (int(rng.integers(0, most)) for most in (3, 6, 6))
        exponents = [int(rng.integers(least, 9)) for least in (2, 1, 1, 2)]
        try:
            return machine("tiny").replace(
                name="drawn",
                log_batch=batch,
                log_block_in=inputs,
                log_block_out=outputs,
                log_uop_buffer=2 + exponents[0],
                log_inp_buffer=batch + inputs + exponents[1],
                log_wgt_buffer=inputs + outputs + exponents[2],
                log_acc_buffer=2 + batch + outputs + exponents[3],
            )
        except ConfigError:
            continue


def with_drawn_features(rng: np.random.Generator, config: HardwareConfig) -> HardwareConfig:
    """The configuration with features, as far as its array may have them; but for compressed
    weights, without which programs of int8 weights are the same."""
    drawn = [each for each in Feature if each is not Feature.COMPRESSED_WEIGHTS]
    features = {each for each in drawn if rng.random() < 0.7}
    if config.block_in != config.block_out:
        features -= {Feature.INPUT_OPERANDS}
    elements = int(rng.integers(1, 5))
    size = config.log_block_out + 3 + elements
    return config.replace(features=frozenset(features), log_par_buffer=size)
