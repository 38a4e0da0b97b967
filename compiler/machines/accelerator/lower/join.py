"""The commands of several operators as one sequence, with addresses, immediates and micro-ops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tandem.compiler.errors import LoweringError
from tandem.compiler.machines.accelerator.intrinsics.base import check_immediate
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.lower.coded_blocks import CodedBlocks, with_codes
from tandem.compiler.machines.accelerator.lower.commands import (
    Command,
    Commands,
    Compute,
    Copy,
    Ints,
    Kernel,
    Mode,
    SetMode,
    SetTable,
)
from tandem.compiler.machines.accelerator.lower.dram_layout import Operator
from tandem.compiler.machines.accelerator.lower.footprints import Footprints
from tandem.compiler.machines.accelerator.lower.programs import ElaboratedProgram
from tandem.compiler.machines.accelerator.lower.residency import KernelStore, load_kernels
from tandem.hw.codings import Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import requantise_layout
from tandem.hw.topology import MemoryId


@dataclass(frozen=True, slots=True, eq=False)
class JoinedCommands:
    """The commands of a stream, loads of their micro-ops, and changes of the mode, in order.

    Attributes
    ----------
    commands
        Commands whose addresses in DRAM are absolute.
    footprints
        The footprints of the commands' prototypes.
    operator
        For each command the number of its operator.
    source
        For each command its position in its operator's program, for a change of the mode or of the
        table that of the next command; -1 for loads of micro-ops.
    imm, uop
        For each command its immediate, and the address of its kernel in the micro-op memory.
    """

    commands: Commands
    footprints: Footprints
    operator: Ints
    source: Ints
    imm: Ints
    uop: Ints

    def inserted(
        self,
        at: Ints,
        prototypes: Sequence[Command],
        which: Ints,
        source: Ints,
        config: HardwareConfig,
    ) -> JoinedCommands:
        """With further commands before those at the positions `at`, of the same operators.

        Parameters
        ----------
        prototypes
            Commands to add to the prototypes.
        which, source
            The new commands' entries of `commands.which` and `source`.
        """
        commands = self.commands
        return JoinedCommands(
            Commands(
                (*commands.prototypes, *prototypes),
                np.insert(commands.which, at, which),
                np.insert(commands.dram, at, 0),
                (),
            ),
            Footprints.joined([self.footprints, Footprints.of(prototypes, config)]),
            np.insert(self.operator, at, self.operator[at]),
            np.insert(self.source, at, source),
            np.insert(self.imm, at, 0),
            np.insert(self.uop, at, 0),
        )


def join(
    operators: Sequence[tuple[Operator, ElaboratedProgram]],
    addresses: Sequence[Mapping[str, int]],
    store: KernelStore,
    dram: int,
    config: HardwareConfig,
) -> JoinedCommands:
    """The operators' commands as one sequence, with loads of their micro-ops and modes.

    Parameters
    ----------
    addresses
        For each operator the addresses of its program's buffers and of `ZEROS`, in bytes.
    store
        The kernels in DRAM; new kernels are added.
    dram
        The store's address in DRAM, in micro-ops.

    Raises
    ------
    LoweringError
        For tensors at addresses that are not aligned to elements, and immediates that do not fit.
    """
    parts: dict[tuple[int, tuple[tuple[str, Coding], ...]], tuple[int, ElaboratedProgram]] = {}
    prototypes: list[Command] = []
    which, dram_bases, imm, modes, tables = [], [], [], [], []
    numbers = dict[SetMode, int]()
    for (operator, program), tensors in zip(operators, addresses, strict=True):
        commands = program.commands
        made = [with_codes(each, operator.coded, config) for each in commands.prototypes]
        # Operators of one program share prototypes, unless their weights lie otherwise in DRAM.
        key = id(program), tuple((name, each.coding) for name, each in operator.coded.items())
        if key not in parts:
            parts[key] = len(prototypes), program
            prototypes += made
        immediates = _immediates_of(operator, commands.prototypes, config)
        bases = [_base(each, tensors, config) for each in made]
        names = [each.imm if isinstance(each, Compute) else None for each in commands.prototypes]
        values = [immediates[name] if isinstance(name, str) else 0 for name in names]
        which.append(commands.which + parts[key][0])
        units = [_beats(each, operator.coded, config) for each in commands.prototypes]
        moved = commands.dram * np.array(units, np.int64)[commands.which]
        dram_bases.append(moved + np.array(bases, np.int64)[commands.which])
        imm.append(np.array(values, np.int64)[commands.which])
        modes.append(_modes(commands.prototypes, immediates, numbers)[commands.which])
        tables.append(operator.tables)
    lengths = [len(each) for each in which]
    joined = JoinedCommands(
        Commands(tuple(prototypes), _concatenated(which), _concatenated(dram_bases), ()),
        Footprints.joined([each.footprints for _, each in parts.values()]),
        np.repeat(np.arange(len(operators)), lengths),
        _concatenated([np.arange(each) for each in lengths]),
        _concatenated(imm),
        np.zeros(sum(lengths), np.int64),
    )
    joined = _with_modes(joined, _concatenated(modes), tuple(numbers), config)
    joined = _with_tables(joined, tables, config)
    return _with_micro_ops(joined, store, dram, config)


def _beats(command: Command, coded: Mapping[str, CodedBlocks], config: HardwareConfig) -> int:
    """What an element is in the unit of a copy's address in DRAM: an element, or of codes beats."""
    found = coded.get(command.tensor or "") if isinstance(command, Copy) else None
    return 1 if found is None else found.block_bytes // config.bus_bytes


def _base(command: Command, addresses: Mapping[str, int], config: HardwareConfig) -> int:
    """The address of a copy's tensor in DRAM, in elements; of codes in beats."""
    if not isinstance(command, Copy) or command.tensor is None:
        return 0
    address = addresses[command.tensor]
    size = config.dram_unit(command.memory)
    if address % size:
        raise LoweringError(
            f"{command.tensor} lies at {address:#x}, no multiple of the {size} bytes of an element "
            f"of {command.memory.name}"
        )
    return address // size


def _immediates_of(
    operator: Operator, commands: Iterable[Command], config: HardwareConfig
) -> dict[str, int]:
    """The operator's immediates, by the names of its program's inputs in IMM.

    Parameters
    ----------
    commands
        The program's commands: these determine each immediate's ALU operation.

    Raises
    ------
    LoweringError
        For an immediate that is missing, that is no input's name, or that does not fit into its
        instruction.
    """
    wanted = {each.name for each in operator.program.inputs if each.scope == OnChip.IMM}
    given = dict(operator.immediates)
    if missing := wanted - given.keys():
        raise LoweringError(f"{operator.title} has no value for {', '.join(sorted(missing))}")
    if extra := given.keys() - wanted:
        known = ", ".join(sorted(wanted)) or "none"
        raise LoweringError(
            f"{operator.title} has no immediate {', '.join(sorted(extra))}; it has {known}"
        )
    uses = {(each.op, each.imm) for each in commands if isinstance(each, Compute)}
    for op, name in uses:
        if op is not None and isinstance(name, str):
            try:
                check_immediate(config, op, given[name])
            except LoweringError as error:
                raise LoweringError(f"{operator.title}: {name}: {error}") from None
    modes = {each.mode for each in commands if isinstance(each, Compute)}
    for mode in modes - {None}:
        assert mode is not None
        _check_mode(operator.title, mode, given, config)
    return given


def _check_mode(title: str, mode: Mode, given: Mapping[str, int], config: HardwareConfig) -> None:
    """Raises `LoweringError` for a number that the instruction REQUANTISE cannot carry."""
    layout = requantise_layout(config)
    for field, name in mode.immediates.items():
        value = given[name] if isinstance(name, str) else name
        low, high = layout[field].limits
        if not low <= value <= high:
            raise LoweringError(f"{title}: {name}: {field} {value}: {low} to {high} is allowed")


def _modes(
    prototypes: Sequence[Command], immediates: Mapping[str, int], numbers: dict[SetMode, int]
) -> Ints:
    """For each command the number of its mode among `numbers`, to which new modes are added; -1 for
    commands that have none, as they write no accumulators."""
    found = [
        numbers.setdefault(SetMode.of(command, immediates), len(numbers))
        if isinstance(command, Compute)
        else -1
        for command in prototypes
    ]
    return np.array(found, np.int64)


def _concatenated(parts: Sequence[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *parts])


def _with_modes(
    joined: JoinedCommands, modes: Ints, changes: Sequence[SetMode], config: HardwareConfig
) -> JoinedCommands:
    """The commands with the mode set before each whose mode is not in force; off at the start.

    Parameters
    ----------
    modes
        For each command the number of its mode among `changes`; -1 for any mode.
    """
    computing = np.flatnonzero(modes >= 0)
    wanted = modes[computing]
    off = changes.index(SetMode()) if SetMode() in changes else -1
    at = computing[np.concatenate([[off], wanted[:-1]]) != wanted] if len(wanted) else computing
    first = len(joined.commands.prototypes)
    return joined.inserted(at, changes, first + modes[at], joined.source[at], config)


def _with_tables(
    joined: JoinedCommands, tables: Sequence[tuple[SetTable, ...]], config: HardwareConfig
) -> JoinedCommands:
    """The commands with the table set before the first LOAD of codes of an operator that has
    another than what is in force; nothing is in force at the start.

    Parameters
    ----------
    tables
        For each operator the commands that set its table; none without codes.
    """
    loads = [
        isinstance(command, Copy) and command.memory is MemoryId.WGT_CODES
        for command in joined.commands.prototypes
    ]
    coded = np.flatnonzero(np.array(loads, np.bool_)[joined.commands.which])
    operators, firsts = np.unique(joined.operator[coded], return_index=True)
    in_force = dict[bool, tuple[int, ...]]()
    at, changes = list[int](), list[SetTable]()
    for operator, first in zip(operators.tolist(), firsts.tolist(), strict=True):
        for change in tables[operator]:
            if in_force.get(change.upper) != change.entries:
                in_force[change.upper] = change.entries
                at.append(int(coded[first]))
                changes.append(change)
    places = np.array(at, np.int64)
    which = len(joined.commands.prototypes) + np.arange(len(changes))
    return joined.inserted(places, changes, which, joined.source[places], config)


def _with_micro_ops(
    joined: JoinedCommands, store: KernelStore, dram: int, config: HardwareConfig
) -> JoinedCommands:
    """The commands with the loads of their micro-ops inserted."""
    commands = joined.commands
    numbers = dict[Kernel, int]()
    kernels = [
        numbers.setdefault(command.kernel, len(numbers)) if isinstance(command, Compute) else -1
        for command in commands.prototypes
    ]
    kernel_of = np.array(kernels, np.int64)[commands.which]
    resident = load_kernels(kernel_of, joined.operator, tuple(numbers), store, config, dram)
    at = np.array([position for position, _ in resident.loads], np.int64)
    loads = tuple(load for _, load in resident.loads)
    which = np.arange(len(loads)) + len(commands.prototypes)
    placed = replace(joined, uop=resident.uop)
    return placed.inserted(at, loads, which, np.full(len(at), -1), config)
