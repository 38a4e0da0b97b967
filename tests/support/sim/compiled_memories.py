"""The on-chip memories of the reference machine, random, and in the form of compiled code."""

from __future__ import annotations

import random

import numpy as np

from tandem.hw.config import HardwareConfig
from tandem.hw.topology import MemoryId
from tandem.sim.semantics.chip import LANES, Chip, make_chip
from tandem.sim.semantics.requantiser import PARAMETER_ROWS, Requantiser, make_requantiser
from tests.support.sim.random_modes import parameters, requantises
from tests.support.sim.reference import ReferenceMachine


def random_memories(
    config: HardwareConfig, seed: int, bases: dict[MemoryId, int] | None = None
) -> ReferenceMachine:
    """A machine whose memories, but for micro-ops, hold random numbers."""
    machine, values = ReferenceMachine(config, bases), np.random.default_rng(seed)
    for memory in (machine.inp, machine.wgt, machine.out):
        memory[:] = values.integers(-128, 128, memory.shape)
    machine.acc[:] = values.integers(-(1 << 31), 1 << 31, machine.acc.shape)
    if seed % 2:
        machine.acc[:] >>= 20
    if requantises(config):
        made = parameters(random.Random(seed), config, len(machine.par))
        machine.par[:] = made.reshape(machine.par.shape)
    return machine


def memories_of(machine: ReferenceMachine) -> tuple[Chip, Requantiser | None]:
    """The compiled code's form of a machine's memories."""
    config = machine.config
    chip = make_chip(config)
    inp, acc = len(machine.inp), len(machine.acc)
    chip.uop[:] = machine.uop
    chip.table[:] = machine.table
    chip.inp.reshape(inp, config.batch, -1)[..., : config.block_in] = machine.inp
    chip.acc.reshape(acc, config.batch, -1)[..., : config.block_out] = machine.acc
    for at, weights in enumerate(machine.wgt):
        for output, row in enumerate(weights):
            for channel, weight in enumerate(row.tolist()):
                group = at * chip.row_out + output // LANES * LANES
                place = channel // 2 * LANES + output % LANES
                chip.wgt[group * chip.row_in + place * 2 + channel % 2] = weight
    requantiser = make_requantiser(config, chip)
    if requantiser is not None:
        out = requantiser.out.reshape(acc, config.batch, -1)
        out[..., : config.block_out] = machine.out.view(np.uint8)
        par = requantiser.par.reshape(len(machine.par), PARAMETER_ROWS, -1)
        par = par[..., : config.block_out]
        par[:, 0] = machine.par[..., :4].copy().view("<i4")[..., 0]
        par[:, 1] = machine.par[..., 4:6].copy().view("<u2")[..., 0]
        par[:, 2] = machine.par[..., 6] & 31
    return chip, requantiser
