"""The verifier of commands: what elaboration and every pass over commands must leave true."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tandem.compiler.errors import LoweringError
from tandem.compiler.machines.accelerator.lower.commands import (
    Command,
    Commands,
    Compute,
    Copy,
    SetMode,
    SetTable,
)
from tandem.compiler.machines.accelerator.lower.compiled import NO_COMMAND, unwritten_read
from tandem.compiler.machines.accelerator.lower.encode import fields_of
from tandem.compiler.machines.accelerator.lower.footprints import Footprints, chip_elements
from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import AnyOperation
from tandem.hw.encoding import Opcode, instruction_layout
from tandem.hw.topology import MemoryId


@dataclass(frozen=True, slots=True, eq=False)
class CommandVerifier:
    """Checks a program's commands, again after each pass; each prototype only once.

    Columns have one length. The machine can execute every prototype: its indices lie within the
    memories, and its numbers within their fields, but for those that an operator sets.
    """

    config: HardwareConfig
    _legal: set[Command] = field(default_factory=set, repr=False)
    _limits: dict[int, dict[str, tuple[int, int]]] = field(default_factory=dict, repr=False)
    _operations: frozenset[AnyOperation] = field(init=False, repr=False)
    _depths: dict[MemoryId, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        depths = {memory: self.config.depth(memory) for memory in self.config.memories}
        operations = (*self.config.operations, *self.config.alu_operations)
        object.__setattr__(self, "_operations", frozenset(operations))
        object.__setattr__(self, "_depths", depths)

    def check(self, made_by: str, commands: Commands) -> None:
        """Raises `LoweringError` if the commands are not valid; the message names what made
        them."""
        for fault in self._faults(commands):
            raise _bug(made_by, fault)
        self._legal.update(commands.prototypes)

    def check_order(self, made_by: str, commands: Commands, footprints: Footprints) -> None:
        """Raises `LoweringError` if a command reads an element on chip that none before has
        written."""
        at = footprints
        size = chip_elements(self.config)
        reader, element = unwritten_read(commands.which, at.first, at.runs, at.keeps, size)
        if reader != NO_COMMAND:
            fault = f"command {reader}, {commands[reader]}, reads what nothing has written"
            raise _bug(made_by, f"{fault}: element {element} of those on chip")

    def _faults(self, commands: Commands) -> Iterator[str]:
        """Sentences of what is wrong."""
        which, prototypes = commands.which, commands.prototypes
        lengths = [len(which), len(commands.dram), len(commands.sites)]
        if len({*lengths}) > 1:
            yield f"columns of {lengths} commands"
        elif len(which) and not 0 <= int(which.min()) <= int(which.max()) < len(prototypes):
            yield f"prototypes {which.min()} to {which.max()} of {len(prototypes)}"
        else:
            copies = np.array([isinstance(each, Copy) for each in prototypes], np.bool_)
            if commands.dram[~copies[which]].any():
                yield "a command that is no copy has an address in DRAM"
        for command in prototypes:
            if command not in self._legal:
                yield from (f"{command}: {fault}" for fault in self._faults_of(command))

    def _faults_of(self, command: Command) -> Iterator[str]:
        match command:
            case SetMode() | SetTable():
                yield "modes and tables are set where streams are joined"
                return
            case Copy():
                yield from self._outside(command.memory, command.sram, command.size - 1)
            case Compute():
                if command.op is not None and command.op not in self._operations:
                    yield f"the machine has no {command.op.name}"
                size, depth = len(command.kernel), self._depths[MemoryId.UOP]
                if not 0 < size <= depth:
                    yield f"{size} micro-ops, of {depth} at most"
                yield from self._operands(command)
        yield from self._wide(command)

    def _operands(self, command: Compute) -> Iterator[str]:
        operands = [("dst", MemoryId.ACC)]
        operands += [("src", command.source)] if command.reads_src else []
        operands += [("wgt", MemoryId.WGT)] if command.reads_wgt else []
        operands += [("par", MemoryId.PAR)] if command.mode is not None else []
        for which, memory in operands:
            column = command.column(which)
            low, high = int(column.min()), int(column.max())
            for loop in (command.outer, command.inner):
                high += (loop.extent - 1) * int(getattr(loop, which))
            yield from self._outside(memory, low, high - low)

    def _outside(self, memory: MemoryId, first: int, more: int) -> Iterator[str]:
        """Whether an element and `more` elements behind it are outside of a memory."""
        depth = self._depths.get(memory)
        if depth is None:
            yield f"the machine has no {memory.name}"
        elif first < 0 or first + more >= depth:
            yield f"elements {first} to {first + more} of {memory.name}, which has {depth}"

    def _wide(self, command: Command) -> Iterator[str]:
        """What does not fit an instruction's fields; a field that the machine lacks has to be 0."""
        values = fields_of(command, self.config)
        opcode = values["opcode"]
        if opcode not in self._limits:
            layout = instruction_layout(self.config, Opcode(opcode))
            self._limits[opcode] = {each.name: each.limits for each in layout}
        for name, value in values.items():
            low, high = self._limits[opcode].get(name, (0, 0))
            # An address in DRAM is relative to a tensor that has no place yet.
            if not low <= value <= high and name != "dram_base":
                yield f"{name} {value}: {low} to {high} is allowed"


def _bug(made_by: str, fault: str) -> LoweringError:
    return LoweringError(f"compiler bug, please report it: after {made_by}: {fault}")
