"""Checks a program against every rule that can be decided before it runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import Opcode
from tandem.hw.errors import ProgramError
from tandem.hw.faults import Fault
from tandem.hw.isa.columns import Columns, Ints
from tandem.hw.isa.diagnostics import describe
from tandem.hw.isa.element_sizes import dram_units, element_sizes
from tandem.hw.isa.program import Program
from tandem.hw.isa.rules import broken_rules, rule_inputs
from tandem.hw.isa.tokens import check_tokens
from tandem.hw.topology import MemoryId


def validate(program: Program) -> None:
    """Raise an error for an illegal program.

    Reports the lowest fault number of the earliest instruction at fault; rules over the whole
    program (no FINISH, tokens) are checked after all instructions. Faults that depend on the
    contents of memory (micro-ops, tensor shifts, the bus) are found while the program runs.

    Raises
    ------
    ProgramError
        Names the rule (`fault`), the instruction and what is allowed.
    DeadlockError
        The program can never finish; names the tokens that each unit waits for.
    """
    validate_columns(program.config, program.columns())


def validate_columns(config: HardwareConfig, columns: Columns) -> None:
    """`validate` for a program that is decoded already."""
    _check_instructions(config, columns)
    if not np.any(columns.opcode == Opcode.FINISH):
        raise ProgramError(Fault.NO_FINISH, None, "it has no FINISH, which must end it")
    check_tokens(config, columns)


def _check_instructions(config: HardwareConfig, columns: Columns) -> None:
    broken = broken_rules(rule_inputs(config, columns))
    firsts = [(int(np.argmax(mask)), fault) for fault, mask in broken.items() if mask.any()]
    if firsts:
        position, fault = min(firsts)
        message = describe(config, columns, position, fault)
        raise ProgramError(fault, position, message)


@dataclass(frozen=True, slots=True)
class DramRanges:
    """The DRAM bytes that each instruction accesses, from its memory's base register.

    Attributes
    ----------
    first, end
        First byte and one past the last; both 0 for an instruction without DRAM access.
    is_write
        True for STOREs.
    memory
        The `MemoryId` whose base register is added (`MemoryId.base`); -1 for an instruction
        without DRAM access.
    """

    first: Ints
    end: Ints
    is_write: npt.NDArray[np.bool_]
    memory: Ints


_BASES = np.array([memory.base for memory in MemoryId], np.int64)


def dram_ranges(program: Program) -> DramRanges:
    """For each instruction of a legal program, the smallest range that has all its DRAM bytes."""
    columns = program.columns()
    element, unit = element_sizes(program.config, columns), dram_units(program.config, columns)
    moves = (columns.x_size > 0) & (columns.y_size > 0)
    length = (columns.y_size - 1) * columns.x_stride * unit + columns.x_size * element
    first = np.where(moves, columns.dram_base * unit, 0)
    return DramRanges(
        first=first,
        end=np.where(moves, first + length, 0),
        is_write=moves & (columns.opcode == Opcode.STORE),
        memory=np.where(moves, _BASES[columns.memory_type], -1),
    )
