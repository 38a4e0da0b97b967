"""Random parameters of requantisation, and random instructions REQUANTISE that fit loops."""

from __future__ import annotations

import random

import numpy as np
import numpy.typing as npt

from tandem.hw.config import PARAMETER_BYTES, HardwareConfig
from tandem.hw.features import Feature
from tandem.hw.instruction_fields import SCALE_BITS
from tandem.hw.isa import Alu, Gemm, MemoryId, Requantise

_CLIPS = ((-128, 127), (0, 127), (-100, 99), (-1, 0), (5, -5))
"""Bounds of results: the last are not in order."""


def requantises(config: HardwareConfig) -> bool:
    """Whether the machine has REQUANTISE."""
    return Feature.REQUANTISE in config.features


def parameters(rng: random.Random, config: HardwareConfig, count: int) -> npt.NDArray[np.uint8]:
    """`count` elements of PAR, as bytes, many of them with results that need no clipping."""
    data = np.frombuffer(rng.randbytes(count * config.element_bytes(MemoryId.PAR)), np.uint8).copy()
    channels = data.reshape(-1, PARAMETER_BYTES)
    for channel in channels[: len(channels) // 4 * 3]:
        shift = rng.randint(0, 31)
        top = rng.choice((0, 4, 8, 15))
        channel[:4] = np.array([rng.randint(-64, 64) << max(0, shift - 1)], "<i8").view("u1")[:4]
        channel[4:6] = np.array([rng.randint(0, (2 << top) - 1)], "<u2").view("u1")
        channel[6] = shift | rng.randint(0, 7) << 5
    return data


def random_requantise(
    rng: random.Random, window: range, loops: Gemm | Alu | None = None
) -> Requantise:
    """A REQUANTISE with parameters inside `window` in all iterations of `loops`.

    Without `loops` it is for one iteration, with factors that reach anywhere.
    """
    low, high = rng.choice(_CLIPS)
    base = rng.choice(window)
    space = window.stop - 1 - base
    counts = (1, 1) if loops is None else (loops.iter_out, loops.iter_in)
    within = _factor(rng, counts[1], space)
    outer = _factor(rng, counts[0], space - (counts[1] - 1) * within)
    return Requantise(
        active=rng.random() < 0.8,
        low=low,
        high=high,
        scale=rng.choice((0, 1, 1 << 20, (1 << SCALE_BITS) - 1, rng.getrandbits(SCALE_BITS))),
        par_base=base,
        par_factor_out=outer,
        par_factor_in=within,
    )


def fits(mode: Requantise, window: range, loops: Gemm | Alu) -> bool:
    """Whether all parameters that `loops` reads lie inside `window`."""
    last = (loops.iter_out - 1) * mode.par_factor_out + (loops.iter_in - 1) * mode.par_factor_in
    return not mode.active or (mode.par_base in window and mode.par_base + last in window)


def _factor(rng: random.Random, count: int, space: int) -> int:
    if count == 1:
        return rng.choice((0, 1))
    most = space // (count - 1)
    return rng.choice((min(1, most), 0, most, rng.randint(0, most)))
