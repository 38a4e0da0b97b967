"""Where the second operand of an ALU instruction comes from: ACC, INP, or the instruction."""

from __future__ import annotations

from amaranth.hdl import Const, Value
from amaranth.lib import data

from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature


def not_from_acc(config: HardwareConfig, alu: data.View) -> Value:
    """Whether it is no accumulator."""
    if Feature.INPUT_OPERANDS in config.features:
        return alu.use_imm | alu.from_inp
    return alu.use_imm


def takes_input(config: HardwareConfig, alu: data.View) -> Value:
    """Whether it is an element of INP, of a legal instruction."""
    return alu.from_inp if Feature.INPUT_OPERANDS in config.features else Const(0)
