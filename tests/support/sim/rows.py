"""Instructions as the rows of fields that compiled code takes."""

from __future__ import annotations

from typing import Any

from tandem.hw.config import HardwareConfig
from tandem.hw.isa import Instruction, Load, MemoryId, Program, Store
from tandem.hw.isa.columns import InstructionFields, make_table


def row_of(config: HardwareConfig, instruction: Instruction) -> InstructionFields:
    """The fields of one instruction."""
    return make_table(Program.from_instructions(config, [instruction]).columns())[0]


def load_row(config: HardwareConfig, memory: MemoryId, **fields: Any) -> InstructionFields:
    """A LOAD of one element from the start of memory, but for what `fields` say."""
    values: dict[str, Any] = {"sram_base": 0, "dram_base": 0, "y_size": 1, "x_size": 1}
    return row_of(config, Load(memory=memory, **{**values, "x_stride": 1, **fields}))


def store_row(config: HardwareConfig, **fields: Any) -> InstructionFields:
    """A STORE of one element to the start of memory, but for what `fields` say."""
    values: dict[str, Any] = {"sram_base": 0, "dram_base": 0, "y_size": 1, "x_size": 1}
    return row_of(config, Store(memory=MemoryId.OUT, **{**values, "x_stride": 1, **fields}))
