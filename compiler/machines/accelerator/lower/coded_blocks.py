"""Weights that lie in DRAM as codes, and the commands that load them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.errors import LoweringError
from tandem.compiler.machines.accelerator.lower.commands import Command, Copy, SetTable
from tandem.hw.codings import TABLE_ENTRIES, Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.topology import MemoryId

_HALF = TABLE_ENTRIES // 2


@dataclass(frozen=True, slots=True, eq=False)
class CodedBlocks:
    """The weights of an operator as blocks of codes, which LOADs widen to the int8 values that its
    program names.

    Attributes
    ----------
    coding
        How a block lies in DRAM.
    table
        The int8 value of each code.
    data
        uint8 [..., bytes of a block], one block for each element of WGT.
    """

    coding: Coding
    table: tuple[int, ...]
    data: NDArray[np.uint8]

    @property
    def tables(self) -> tuple[SetTable, ...]:
        """The commands that set the table: those of the halves that codes reach."""
        entries = (*self.table, *(0 for _ in range(-len(self.table) % _HALF)))
        return tuple(
            SetTable(upper=bool(first), entries=entries[first : first + _HALF])
            for first in range(0, len(entries), _HALF)
        )

    @property
    def block_bytes(self) -> int:
        """The bytes of a block."""
        return self.data.shape[-1]


def with_codes(
    command: Command, coded: Mapping[str, CodedBlocks], config: HardwareConfig
) -> Command:
    """The command as one that loads codes, if it loads weights of which there are codes.

    Raises
    ------
    LoweringError
        The command copies such a tensor to another memory than WGT.
    """
    tensor = command.tensor if isinstance(command, Copy) else None
    if not isinstance(command, Copy) or tensor is None or tensor not in coded:
        return command
    if command.memory is not MemoryId.WGT:
        raise LoweringError(
            f"{tensor} lies in DRAM as codes, which are loaded into WGT, not into "
            f"{command.memory.name}"
        )
    beats = coded[tensor].block_bytes // config.bus_bytes
    return replace(
        command,
        memory=MemoryId.WGT_CODES,
        coding=coded[tensor].coding,
        dram=command.dram * beats,
        stride=command.stride * beats,
    )
