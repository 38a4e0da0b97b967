"""Requantisation by the instructions that compute sums, in place of a pass over the sums.

Every write of an accumulator is a write of OUT, and a STORE finds what the last one left there. So
an instruction that writes final sums can requantise them, and the pass behind it is not needed.
What it writes before, partial sums, is requantised as well, and overwritten.

This is no form of the instruction that `tensorize` puts in, as an initial value is: an instruction
cannot step through PAR from one micro-op to the next. Where it has to, its micro-ops become several
kernels, and those of all other instructions, too, that had the same ones. Only a pass over all
commands sees these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from tandem.compiler.machines.accelerator.lower.command_pass import CommandContext
from tandem.compiler.machines.accelerator.lower.commands import (
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
from tandem.compiler.machines.accelerator.lower.compute_commands import InstructionLimits, Operation
from tandem.hw.config import HardwareConfig
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId

_NEVER = -1
"""The position of a write that has not happened."""
_FREE = -(1 << 40)
"""In place of an element of PAR: nobody reads the accumulator's value in OUT, so that any element
will do."""


@dataclass(frozen=True, slots=True)
class RequantiseLastWrites:
    """Drops passes that the last writers of their accumulators can do.

    A pass stays if a writer is no computation, if parameters are loaded after a writer, if
    something else is stored of it, or if no strides in PAR lead to the parameters. For machines
    with `Feature.REQUANTISE`.
    """

    name: str = "requantise-last-writes"

    def apply(self, commands: Commands, context: CommandContext) -> Commands:
        """The commands without the passes, and with modes of their writers."""
        found = _Search(commands, context.config)
        if not found.passes:
            return commands
        fusions = _Fusions(commands, context.config)
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


@dataclass(frozen=True, slots=True, eq=False)
class _Results:
    """Accumulators that a pass requantises, and the element of PAR for each."""

    dst: Ints
    par: Ints
    mode: Mode
    key: Hashable = field(init=False)
    """Equal for equal results."""

    def __post_init__(self) -> None:
        key = self.dst.tobytes(), self.par.tobytes(), self.mode.low, self.mode.high
        object.__setattr__(self, "key", key)

    def only(self, chosen: npt.NDArray[np.bool_]) -> _Results:
        """Those of a mask."""
        return _Results(self.dst[chosen], self.par[chosen], self.mode)


@dataclass(frozen=True, slots=True, eq=False)
class _Wanted:
    """What a pass at `position` requantises after the same last writer."""

    position: int
    results: _Results


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
        self._prototypes, self._which = commands.prototypes, commands.which.tolist()
        self._writer = np.full(config.depth(MemoryId.ACC), _NEVER, np.int64)
        self._loaded = np.full(config.depth(MemoryId.PAR), _NEVER, np.int64)
        visits = [self._visit_of(each) for each in commands.prototypes]
        for position, number in enumerate(self._which):
            visit = visits[number]
            if visit is not None:
                visit(position)

    def _visit_of(self, command: Command) -> Callable[[int], None] | None:
        """The function that looks at a command, by its position; None for one without effect."""
        if isinstance(command, Compute):
            return self._compute(command)
        return self._copy(command) if isinstance(command, Copy) else None

    def _copy(self, copy: Copy) -> Callable[[int], None] | None:
        elements = slice(copy.sram, copy.sram + copy.size)

        def load_parameters(position: int) -> None:
            self._loaded[elements] = position

        def load(position: int) -> None:
            self._writer[elements] = position

        def store(position: int) -> None:
            for writer in _distinct(self._writer[elements]):
                self.stored[writer] = True

        match copy.memory:
            case MemoryId.PAR:
                return load_parameters
            case MemoryId.ACC | MemoryId.ACC_8BIT:
                return load
            case MemoryId.OUT:
                return store
            case _:
                return None

    def _compute(self, command: Compute) -> Callable[[int], None]:
        written = np.unique(command.indices("dst"))
        if len(written) == written[-1] + 1 - written[0]:
            # A slice is written in a fraction of the time.
            elements: slice | Ints = slice(int(written[0]), int(written[-1]) + 1)
        else:
            elements = written

        def write(position: int) -> None:
            self._writer[elements] = position

        if not is_requantisation(command):
            return write
        assert command.mode is not None
        results = _Results(command.indices("dst"), command.indices("par"), command.mode)

        def look_and_write(position: int) -> None:
            self._pass(position, results)
            write(position)

        return look_and_write

    def _pass(self, position: int, results: _Results) -> None:
        writers = self._writer[results.dst]
        several = _distinct(writers)
        wanted = {
            writer: _Wanted(
                position, results if len(several) == 1 else results.only(writers == writer)
            )
            for writer in several
        }
        if all(self._may_do(writer, each.results) for writer, each in wanted.items()):
            self.passes.add(position)
            for writer, part in wanted.items():
                self.wanted[writer] += (part,)

    def _may_do(self, writer: int, results: _Results) -> bool:
        command = self._prototypes[self._which[writer]] if writer != _NEVER else None
        return (
            isinstance(command, Compute)
            and command.mode is None
            and bool((self._loaded[results.par] < writer).all())
        )


def _distinct(values: Ints) -> list[int]:
    """The different values, in ascending order: mostly one."""
    if len(values) and bool((values == values[0]).all()):
        return [int(values[0])]
    return np.unique(values).tolist()


@dataclass(slots=True)
class _Fusions:
    """Commands with modes, in place of writers."""

    commands: Commands
    config: HardwareConfig
    _known: dict[Hashable, tuple[Compute, ...]] = field(default_factory=dict)

    def fuse(self, writer: int, wanted: Sequence[_Wanted]) -> tuple[Compute, ...]:
        """The commands in place of the one at a position; none if it cannot be."""
        number = int(self.commands.which[writer])
        key = number, tuple(each.results.key for each in wanted)
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
        known = dict[tuple[int, int], list[int]]()
        which, taken = list[int](), list[int]()
        for position, number in enumerate(commands.which.tolist()):
            if position in dropped:
                continue
            fused = chosen.get(position)
            # Equal pieces are one object, which `_known` keeps.
            key = number, id(fused)
            if key not in known:
                added = fused or _split(commands.prototypes[number], parts)
                known[key] = [numbers.setdefault(each, len(numbers)) for each in added]
            found = known[key]
            which += found
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
    """The command as several that requantise, each with the micro-ops that begin at one element of
    PAR; none if no strides lead to the parameters, or if limits differ."""
    limits = {(each.results.mode.low, each.results.mode.high) for each in wanted}
    of_dst = np.full(config.depth(MemoryId.ACC), _FREE, np.int64)
    for part in wanted:
        of_dst[part.results.dst] = part.results.par
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
            kernel=nested.kernel.only(group.tolist()),
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
