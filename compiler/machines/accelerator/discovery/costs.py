"""What a set of operations takes of a machine, by the estimates that need no synthesis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tandem.hw.alu_terms import parse_term
from tandem.hw.config import HardwareConfig
from tandem.hw.custom_gates import lane_gates
from tandem.hw.custom_operations import MOST_STAGES, CustomOperation, free_opcodes
from tandem.hw.custom_stages import stage_terms
from tandem.hw.synthesis.estimate import resource_model
from tandem.hw.synthesis.families import Family


@dataclass(frozen=True, slots=True)
class Budget:
    """What operations may take beside a machine.

    Attributes
    ----------
    share
        Look-up tables, as a part of the machine's.
    dsp
        Multiplier blocks.
    """

    share: float
    dsp: int


@dataclass(frozen=True, slots=True)
class SetCost:
    """What operations take beside a machine.

    Attributes
    ----------
    lut, dsp
        Look-up tables and multiplier blocks of a 7-series FPGA.
    share
        The look-up tables as a part of the machine's.
    """

    lut: int
    dsp: int
    share: float

    def __add__(self, other: SetCost) -> SetCost:
        return SetCost(self.lut + other.lut, self.dsp + other.dsp, self.share + other.share)

    def within(self, budget: Budget) -> bool:
        """Whether a budget allows it."""
        return self.share <= budget.share and self.dsp <= budget.dsp


def with_operations(
    config: HardwareConfig, operations: Sequence[CustomOperation]
) -> HardwareConfig:
    """A machine with more operations, computed in as few stages as leave none slower than the
    ALU's multiplier, or in as many as there may be."""
    own = (*config.alu_operations, *operations)
    if not own:
        return config
    limit = _slowest((_PRODUCT,), 1)
    fewer = (number for number in range(1, MOST_STAGES) if _slowest(own, number) <= limit)
    return config.replace(alu_operations=own, alu_stages=next(fewer, MOST_STAGES))


_PRODUCT = CustomOperation("PRODUCT", parse_term("a * b"))


def _slowest(operations: Sequence[CustomOperation], stages: int) -> int:
    """The delay of the slowest stage; opcodes say nothing of it."""
    return stage_terms(dict(enumerate(operations)), stages).slowest


def opcodes_left(config: HardwareConfig) -> int:
    """The number of operations that a machine could still have."""
    return len(free_opcodes(config.features)) - len(config.alu_operations)


def cost_of(config: HardwareConfig, operations: Sequence[CustomOperation]) -> SetCost:
    """What operations take beside a machine that has opcodes for them."""
    more = with_operations(config, operations)
    base, own = lane_gates(config), lane_gates(more)
    lut = round(config.acc_lanes * (own.lut - base.lut))
    return SetCost(lut, config.acc_lanes * (own.dsp - base.dsp), lut / tables_of(config))


def tables_of(config: HardwareConfig) -> int:
    """The look-up tables of a machine on a 7-series FPGA, by the model."""
    return resource_model(Family.XC7).resources(config)["lut"]
