"""First products and operands that overwrite accumulators, in place of an initial value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from compiler.ir.dtypes import INT8
from compiler.machines.accelerator.lower.command_pass import CommandContext
from compiler.machines.accelerator.lower.commands import (
    Command,
    Commands,
    Compute,
    Kernel,
    Loop,
    with_prototypes,
)
from hw.features import Feature
from hw.operations import AluOp


@dataclass(frozen=True, slots=True)
class OverwriteFirst:
    """Drops initial values that are not needed.

    A reset directly before a GEMM of the same accumulators goes with `Feature.OVERWRITE`: the GEMM
    becomes one that overwrites, with the first product of each accumulator, and GEMMs that add the
    others. With `Feature.INPUT_OPERANDS` the same is done for resets and fills before sums, maxima
    and minima of operands in INP, by MOVE; of several instructions of the operation behind a fill
    the first that has all of its accumulators moves, before the others.
    """

    name: str = "overwrite-first"

    def apply(self, commands: Commands, context: CommandContext) -> Commands:
        """The commands without the initial values."""
        prototypes, numbered = commands.prototypes, commands.which.tolist()
        numbers = dict[Command, int]((each, at) for at, each in enumerate(prototypes))
        is_value = [_value(each) is not None for each in prototypes]
        known = dict[tuple[int, ...], tuple[int, ...]]()
        which, taken = list[int](), list[int]()
        starts = list[int]()
        """Positions of the initial values just before the current command."""

        def keep(positions: Sequence[int]) -> None:
            which.extend([numbered[at] for at in positions])
            taken.extend(positions)

        def pieces(position: int) -> tuple[int, ...]:
            key = (*(numbered[at] for at in (*starts, position)),)
            if key not in known:
                *initial, reader = (prototypes[at] for at in key)
                found = _pieces(initial, reader, context.config.features)
                known[key] = tuple(numbers.setdefault(each, len(numbers)) for each in found)
            return known[key]

        position, count = 0, len(numbered)
        while position < count:
            number = numbered[position]
            if is_value[number]:
                starts.append(position)
                position += 1
                continue
            if not starts:
                which.append(number)
                taken.append(position)
                position += 1
                continue
            first = next((at for at in _run(commands, position) if pieces(at)), None)
            if first is None:
                keep([*starts, position])
                position += 1
            else:
                replaced = pieces(first)
                which.extend(replaced)
                taken.extend(first for _ in replaced)
                keep(range(position, first))
                position = first + 1
            starts.clear()
        keep(starts)
        return with_prototypes(commands.take(np.array(taken, np.int64)), which, tuple(numbers))


def _value(command: Command) -> int | None:
    """The initial value that a command gives to accumulators; None for any other command."""
    if not isinstance(command, Compute):
        return None
    if command.reset:
        return 0
    return command.imm if command.op is AluOp.MOVE and isinstance(command.imm, int) else None


def _run(commands: Commands, position: int) -> range:
    """The commands from `position` on that may change places with it: operations of one kind, with
    operands in INP. Products are taken one by one."""
    first, end = commands.prototypes[int(commands.which[position])], position + 1
    if isinstance(first, Compute) and first.from_inp:
        while end < len(commands):
            other = commands.prototypes[int(commands.which[end])]
            if not isinstance(other, Compute) or (other.op, other.from_inp) != (first.op, True):
                break
            end += 1
    return range(position, end)


def _overwrites(command: Compute, value: int, features: frozenset[Feature]) -> bool:
    """Whether the first results of a command need no initial value."""
    match command.op:
        case None:
            return Feature.OVERWRITE in features and value == 0
        case AluOp.ADD if command.from_inp:
            return value == 0
        case AluOp.MAX if command.from_inp:
            return value <= INT8.low
        case AluOp.MIN if command.from_inp:
            return value >= INT8.high
        case _:
            return False


def _pieces(
    starts: Sequence[Command], reader: Command, features: frozenset[Feature]
) -> tuple[Compute, ...]:
    """The commands in place of `starts` and `reader`; none unless they set the same accumulators,
    or if the machine cannot overwrite."""
    if not isinstance(reader, Compute) or not all(
        _overwrites(reader, value, features) for value in map(_value, starts) if value is not None
    ):
        return ()
    cleared = [each.indices("dst") for each in starts if isinstance(each, Compute)]
    written = np.unique(reader.indices("dst"))
    if not np.array_equal(np.unique(np.concatenate(cleared)), written):
        return ()
    loops = (reader.outer, reader.inner)
    kept = prod(loop.extent for loop in loops if loop.dst)
    if kept * len(set(reader.kernel.dst)) != len(written):
        # The loops lead from one micro-op's accumulator to another's.
        return ()
    return tuple(_split(reader))


def _split(command: Compute) -> Iterator[Compute]:
    """The first product or operand of each accumulator, which overwrites; then all others.

    Loops without a stride in `dst` repeat accumulators, and so do micro-ops of the same `dst`.
    """
    kernel, outer, inner = command.kernel, command.outer, command.inner
    first_outer, first_inner = (loop if loop.dst else Loop(1) for loop in (outer, inner))
    at_first = replace(command, outer=first_outer, inner=first_inner)
    first_at = {dst: at for at, dst in reversed([*enumerate(kernel.dst)])}
    firsts = [first_at[dst] == at for at, dst in enumerate(kernel.dst)]
    first = replace(at_first, kernel=_taken(kernel, firsts))
    yield replace(first, overwrite=True) if first.op is None else replace(first, op=AluOp.MOVE)
    if not all(firsts):
        yield replace(at_first, kernel=_taken(kernel, [not first for first in firsts]))
    if not inner.dst and inner.extent > 1:
        yield replace(at_first, kernel=_moved(kernel, inner), inner=_shorter(inner))
    if not outer.dst and outer.extent > 1:
        yield replace(command, kernel=_moved(kernel, outer), outer=_shorter(outer))


def _taken(kernel: Kernel, chosen: Sequence[bool]) -> Kernel:
    columns = (kernel.dst, kernel.src, kernel.wgt)
    return Kernel(
        *(
            tuple(value for value, take in zip(column, chosen, strict=True) if take)
            for column in columns
        )
    )


def _moved(kernel: Kernel, loop: Loop) -> Kernel:
    """The kernel as the loop's second iteration executes it."""
    return Kernel(
        kernel.dst,
        tuple(src + loop.src for src in kernel.src),
        tuple(wgt + loop.wgt for wgt in kernel.wgt),
    )


def _shorter(loop: Loop) -> Loop:
    return replace(loop, extent=loop.extent - 1)
