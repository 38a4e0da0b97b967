"""Requantisation by the machine's output stage: a single pass, with parameters in PAR."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.machines.accelerator.intrinsics.extensions import parameter_word
from tandem.compiler.operators.blocks import blocks
from tandem.compiler.plan.schedule_template import Arguments
from tandem.compiler.requantisation import RequantSpec
from tandem.compiler.requantisation.channels import broadcast
from tandem.compiler.requantisation.spec import Channel
from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature
from tandem.hw.instruction_fields import SCALE_BITS
from tandem.hw.parameter_word import MULTIPLIER_BITS
from tandem.hw.topology import MemoryId

PARAMETERS, LOW, HIGH, SCALE = "parameters", "low", "high", "scale"
"""The pass's operands in the program; the last three are immediates."""


@dataclass(frozen=True, slots=True)
class RequantisePass:
    """A requantisation of every accumulator of a tile on the way to OUT.

    Attributes
    ----------
    residual
        The name of the residual: packed int8 data of the output's shape, loaded into INP. None for
        plain requantisation, which the products before it do as they write their sums.
    resident
        Whether the parameters of all channels are loaded once; else with every tile.
    """

    residual: str | None = None
    resident: bool = True

    @property
    def name(self) -> str:
        """The name of the pass in the names of its stages."""
        return "requantise" if self.residual is None else "requantise_add"


def parameter_pass(
    spec: RequantSpec, channels: int, config: HardwareConfig
) -> tuple[RequantisePass, Arguments] | None:
    """The pass that computes `spec`, and its arguments; None if the machine has no such pass.

    Parameters
    ----------
    channels
        Number of output channels, which are padded to blocks.
    """
    needs = {Feature.REQUANTISE, *([Feature.INPUT_OPERANDS] if spec.residuals else [])}
    if not needs <= config.features:
        return None
    reduced = spec.reduced()
    numbers = tuple(_without_products(channel, reduced) for channel in reduced.per_channel)
    if not spec.residuals:
        # A residual has one scale for all channels; without it each channel has a shift of its own.
        numbers = tuple(channel.reduced() for channel in numbers)
    if not _fits(reduced, numbers):
        return None
    words = [parameter_word(each.multiplier, each.addend, each.shift) for each in numbers]
    immediates = {LOW: spec.low, HIGH: spec.high}
    if reduced.residuals:
        immediates[SCALE] = reduced.residuals[0].multiplier
    packed = _packed(words, channels, config)
    resident = len(packed) <= config.depth(MemoryId.PAR)
    made = RequantisePass("skip" if spec.residuals else None, resident)
    return made, Arguments({PARAMETERS: packed}, immediates)


def _without_products(channel: Channel, spec: RequantSpec) -> Channel:
    """The channel without a multiplier, if all accumulators have one result: far beyond the limits
    its addend might be too long."""
    constant = spec.constant_sum(channel)
    if constant is None or INT32.low <= channel.addend <= INT32.high:
        return channel
    return Channel(0, constant, channel.shift)


def _fits(spec: RequantSpec, channels: tuple[Channel, ...]) -> bool:
    """Whether all numbers fit PAR and REQUANTISE."""
    return (
        INT8.low <= spec.low
        and spec.high <= INT8.high
        and len(spec.residuals) <= 1
        and all(each.multiplier < 1 << SCALE_BITS for each in spec.residuals)
        and all(INT8.low <= each.low and each.high <= INT8.high for each in spec.residuals)
        and all(each.multiplier < 1 << MULTIPLIER_BITS for each in channels)
        and all(INT32.low <= each.addend <= INT32.high for each in channels)
    )


def _packed(words: list[int], channels: int, config: HardwareConfig) -> npt.NDArray[np.generic]:
    """A word for each channel as int64[O / L, L]; zeros for the channels beyond."""
    lanes = config.block_out
    found = np.zeros(blocks(channels, lanes) * lanes, np.int64)
    found[:channels] = broadcast(tuple(words) if len(words) > 1 else words[0], channels)
    return found.reshape(-1, lanes)
