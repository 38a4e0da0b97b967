"""Requantisation by the instructions that compute the sums, in place of a pass over the sums.

OUT gets what the last write of an accumulator makes of it. So a pass that only requantises
accumulators is not needed if the last writes before it do that: then partial sums are requantised
as well, in vain, and the last write is the right one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from compiler.lower.accelerator.commands import (
    Command,
    Commands,
    Compute,
    Copy,
    Ints,
    Kernel,
    Loop,
    Mode,
    with_prototypes,
)
from compiler.lower.accelerator.compute_commands import InstructionLimits, Operation
from hw.config import HardwareConfig
from hw.operations import AluOp
from hw.topology import MemoryId

_NEVER = -1
"""The position of a write that has not happened."""
_FREE = -(1 << 40)
"""The element of PAR for an accumulator whose value in OUT nobody reads: any."""


def requantise_last_writes(commands: Commands, config: HardwareConfig) -> Commands:
    """The commands without passes that the last writers of their accumulators can do.

    A pass stays if a writer is no computation, if parameters are loaded after a writer, if
    something else is stored of it, or if no strides in PAR lead to the parameters. For machines
    with `Feature.REQUANTISE`.
    """
    found = _Search(commands, config)
    if not found.passes:
        return commands
    fusions = _Fusions(commands, config)
    for writer, wanted in found.wanted.items():
        if found.stored[writer] or not fusions.fuse(writer, wanted):
            found.kept.update(each.position for each in wanted)
    fused = found.passes - found.kept
    chosen = {
        writer: fusions.fuse(writer, tuple(each for each in wanted if each.position in fused))
        for writer, wanted in found.wanted.items()
    }
    return fusions.applied({at: pieces for at, pieces in chosen.items() if pieces}, fused)


def is_requantisation(command: Command) -> bool:
    """Whether a command only requantises accumulators, without a residual."""
    return (
        isinstance(command, Compute)
        and command.mode is not None
        and (command.op, command.imm) == (AluOp.ADD, 0)
    )


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The accumulators that a pass at `position` requantises after the same last writer, and the
    element of PAR for each."""

    position: int
    dst: Ints
    par: Ints
    mode: Mode

    @property
    def key(self) -> Hashable:
        return self.dst.tobytes(), self.par.tobytes(), self.mode.low, self.mode.high


class _Search:
    """Finds the last writers of the accumulators of passes.

    Attributes
    ----------
    passes
        The positions of passes that their accumulators' last writers may do.
    wanted
        By the position of a writer, what passes want of it.
    stored
        By the position of a writer, whether OUT has to have the low bytes of some of its results.
    kept
        The passes that have to stay; to be added to.
    """

    def __init__(self, commands: Commands, config: HardwareConfig) -> None:
        self.passes = set[int]()
        self.wanted = defaultdict[int, tuple[_Wanted, ...]](tuple)
        self.stored = defaultdict[int, bool](bool)
        self.kept = set[int]()
        self._commands = commands
        self._writer = np.full(config.depth(MemoryId.ACC), _NEVER, np.int64)
        self._loaded = np.full(config.depth(MemoryId.PAR), _NEVER, np.int64)
        written = [_written(each) for each in commands.prototypes]
        for position, number in enumerate(commands.which.tolist()):
            command = commands.prototypes[number]
            if isinstance(command, Copy):
                self._copy(position, command)
            elif isinstance(command, Compute):
                if is_requantisation(command):
                    self._pass(position, command)
                self._writer[written[number]] = position

    def _copy(self, position: int, copy: Copy) -> None:
        elements = slice(copy.sram, copy.sram + copy.size)
        match copy.memory:
            case MemoryId.PAR:
                self._loaded[elements] = position
            case MemoryId.ACC | MemoryId.ACC_8BIT:
                self._writer[elements] = position
            case MemoryId.OUT:
                for writer in np.unique(self._writer[elements]).tolist():
                    self.stored[writer] = True
            case _:
                pass

    def _pass(self, position: int, command: Compute) -> None:
        mode, dst = command.mode, command.indices("dst")
        assert mode is not None
        par, writers = command.indices("par"), self._writer[dst]
        wanted = {
            int(writer): _Wanted(position, dst[writers == writer], par[writers == writer], mode)
            for writer in np.unique(writers)
        }
        if all(self._may_do(writer, each) for writer, each in wanted.items()):
            self.passes.add(position)
            for writer, part in wanted.items():
                self.wanted[writer] += (part,)

    def _may_do(self, writer: int, wanted: _Wanted) -> bool:
        command = self._commands[writer] if writer != _NEVER else None
        return (
            isinstance(command, Compute)
            and command.mode is None
            and bool((self._loaded[wanted.par] < writer).all())
        )


def _written(command: Command) -> Ints:
    """The accumulators that a command computes."""
    if not isinstance(command, Compute):
        return np.zeros(0, np.int64)
    return np.unique(command.indices("dst"))


@dataclass(slots=True)
class _Fusions:
    """Commands with modes, in place of writers."""

    commands: Commands
    config: HardwareConfig
    _known: dict[Hashable, tuple[Compute, ...]] = field(default_factory=dict)

    def fuse(self, writer: int, wanted: Sequence[_Wanted]) -> tuple[Compute, ...]:
        """The commands in place of the one at a position; none if it cannot be."""
        number = int(self.commands.which[writer])
        key = number, tuple(each.key for each in wanted)
        if key not in self._known:
            command = self.commands.prototypes[number]
            assert isinstance(command, Compute)
            self._known[key] = _with_modes(command, wanted, self.config) if wanted else ()
        return self._known[key]

    def applied(self, chosen: dict[int, tuple[Compute, ...]], dropped: set[int]) -> Commands:
        """The commands with those of `chosen` replaced, and without those at `dropped`.

        A kernel that is split for some commands is split for all of its commands: so its micro-ops
        lie in memory once.
        """
        commands = self.commands
        numbers = dict[Command, int]((each, at) for at, each in enumerate(commands.prototypes))
        parts = dict[Kernel, tuple[Kernel, ...]]()
        for at, pieces in chosen.items():
            command = commands.prototypes[int(commands.which[at])]
            assert isinstance(command, Compute)
            parts[command.kernel] = tuple(each.kernel for each in pieces)
        split = [_split(each, parts) for each in commands.prototypes]
        which, taken = list[int](), list[int]()
        for position, number in enumerate(commands.which.tolist()):
            if position not in dropped:
                found = chosen.get(position, split[number])
                which += [numbers.setdefault(each, len(numbers)) for each in found]
                taken += [position] * len(found)
        return with_prototypes(commands.take(np.array(taken, np.int64)), which, tuple(numbers))


def _split(command: Command, parts: dict[Kernel, tuple[Kernel, ...]]) -> tuple[Command, ...]:
    """The command with its kernel in parts, if its results are the same."""
    if not isinstance(command, Compute) or not _commutes(command):
        return (command,)
    kernels = parts.get(command.kernel, (command.kernel,))
    return tuple(replace(command, kernel=each) for each in kernels)


def _commutes(command: Compute) -> bool:
    """Whether micro-ops may change places."""
    if command.op is None and command.keeps:
        return True
    dst = command.indices("dst")
    reads = command.op is not None and command.reads_src and not command.from_inp
    return len(np.unique(dst)) == len(dst) and not (reads and len(dst) > 1)


def _with_modes(
    command: Compute, wanted: Sequence[_Wanted], config: HardwareConfig
) -> tuple[Compute, ...]:
    """The command with modes, in a part for each element of PAR in the first iteration of its
    loops; none if loops or modes do not allow it."""
    limits = {(each.mode.low, each.mode.high) for each in wanted}
    of_dst = np.full(config.depth(MemoryId.ACC), _FREE, np.int64)
    for part in wanted:
        of_dst[part.dst] = part.par
    for nested in (command, *_as_two_loops(command, of_dst, config)):
        found = _steps(nested, of_dst, config)
        if len(limits) == 1 and found is not None:
            ((low, high),), (bases, outer, inner) = limits, found
            break
    else:
        return ()
    groups = [np.flatnonzero(bases == base) for base in dict.fromkeys(bases.tolist())]
    if len(groups) > 1 and not _commutes(command):
        return ()
    return tuple(
        replace(
            nested,
            kernel=_taken(nested.kernel, group),
            outer=replace(nested.outer, par=outer),
            inner=replace(nested.inner, par=inner),
            mode=Mode(int(bases[group[0]]), low, high),
        )
        for group in groups
    )


def _as_two_loops(command: Compute, of_dst: Ints, config: HardwareConfig) -> Iterator[Compute]:
    """The command with its only loop as two, where the element of PAR in `of_dst` changes first:
    loops over adjacent blocks are one for an instruction without parameters."""
    loops = [loop for loop in (command.outer, command.inner) if loop.extent > 1]
    if len(loops) != 1:
        return
    (loop,) = loops
    values = of_dst[command.table("dst")].reshape(loop.extent, -1)[:, 0]
    changes = np.flatnonzero(values != values[0])
    if not len(changes) or loop.extent % (count := int(changes[0])):
        return
    outer = Loop(loop.extent // count, loop.dst * count, loop.src * count, loop.wgt * count)
    inner, limits = replace(loop, extent=count), InstructionLimits.of(config)
    if limits.fits(outer, "out", Operation(command.op)):
        yield replace(command, outer=outer, inner=inner)


def _steps(command: Compute, of_dst: Ints, config: HardwareConfig) -> tuple[Ints, int, int] | None:
    """The element of PAR of each micro-op in the first iteration, and the strides of both loops;
    None if there are none that lead to all parameters.

    Parameters
    ----------
    of_dst
        For each accumulator the element of PAR, or `_FREE`.
    """
    table = of_dst[command.table("dst")]
    outer, inner = _stride(table, 0), _stride(table, 1)
    limits = InstructionLimits.of(config)
    if not limits.steps_through_par(outer, "out") or not limits.steps_through_par(inner, "in"):
        return None
    steps = np.arange(command.outer.extent)[:, None, None] * outer
    steps = steps + np.arange(command.inner.extent)[:, None] * inner
    first = np.where(table == _FREE, _FREE, table - steps).reshape(-1, len(command.kernel))
    bases: Ints = first.max(axis=0)
    if bool(((first != bases) & (first != _FREE)).any()):
        return None
    bases = np.where(bases == _FREE, bases.max(), bases)
    if bases.min() < 0 or bases.max() + steps.max() >= config.depth(MemoryId.PAR):
        return None
    return bases, outer, inner


def _stride(table: Ints, axis: int) -> int:
    """The step from one iteration of a loop to the next, if it is the same everywhere."""
    after, before = np.delete(table, 0, axis), np.delete(table, -1, axis)
    steps = (after - before)[(after != _FREE) & (before != _FREE)]
    return int(steps.flat[0]) if steps.size else 0


def _taken(kernel: Kernel, chosen: Ints) -> Kernel:
    columns = (kernel.dst, kernel.src, kernel.wgt)
    return Kernel(*(tuple(column[at] for at in chosen.tolist()) for column in columns))
