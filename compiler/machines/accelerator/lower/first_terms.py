"""First terms of reductions that overwrite accumulators, in place of an initial value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from math import prod

import numpy as np

from tandem.compiler.ir.dtypes import INT8
from tandem.compiler.machines.accelerator.lower.commands import Compute, Kernel, Loop
from tandem.hw.features import Feature
from tandem.hw.operations import AluOp


def initialised(
    starts: Sequence[Compute], terms: Sequence[Compute], features: frozenset[Feature]
) -> Sequence[Compute]:
    """The commands that give accumulators their initial values and then reduce terms into them;
    without initial values where a first term overwrites.

    With `Feature.OVERWRITE` the first product of each accumulator does, and GEMMs add the others.
    With `Feature.INPUT_OPERANDS` so does MOVE, of the first operand in INP of a sum, a maximum or a
    minimum; of several commands the first that has all of the accumulators, before the others.
    """
    for at, term in enumerate(_leading(terms) if starts else ()):
        if pieces := _pieces(starts, term, features):
            return [*pieces, *terms[:at], *terms[at + 1 :]]
    return [*starts, *terms]


def _leading(terms: Sequence[Compute]) -> Sequence[Compute]:
    """The first commands that may change places: operations of one kind, with operands in INP.
    Products are taken one by one."""
    alike = (each.from_inp and each.op is terms[0].op for each in terms)
    return terms[: max(1, sum(takewhile(bool, alike)))]


def _value(command: Compute) -> int | None:
    """The initial value that a command gives to accumulators; None for any other command."""
    if command.reset:
        return 0
    return command.imm if command.op is AluOp.MOVE and isinstance(command.imm, int) else None


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
    starts: Sequence[Compute], reader: Compute, features: frozenset[Feature]
) -> tuple[Compute, ...]:
    """The commands in place of `starts` and `reader`; none unless they set the same accumulators,
    or if the machine cannot overwrite."""
    values = map(_value, starts)
    if not all(value is not None and _overwrites(reader, value, features) for value in values):
        return ()
    cleared = [each.indices("dst") for each in starts]
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
    firsts = {*{dst: at for at, dst in reversed([*enumerate(kernel.dst)])}.values()}
    others = [at for at in range(len(kernel)) if at not in firsts]
    first = replace(at_first, kernel=kernel.only(sorted(firsts)))
    yield replace(first, overwrite=True) if first.op is None else replace(first, op=AluOp.MOVE)
    if others:
        yield replace(at_first, kernel=kernel.only(others))
    if not inner.dst and inner.extent > 1:
        yield replace(at_first, kernel=_moved(kernel, inner), inner=_shorter(inner))
    if not outer.dst and outer.extent > 1:
        yield replace(command, kernel=_moved(kernel, outer), outer=_shorter(outer))


def _moved(kernel: Kernel, loop: Loop) -> Kernel:
    """The kernel as the loop's second iteration executes it."""
    return Kernel(
        kernel.dst,
        tuple(src + loop.src for src in kernel.src),
        tuple(wgt + loop.wgt for wgt in kernel.wgt),
    )


def _shorter(loop: Loop) -> Loop:
    return replace(loop, extent=loop.extent - 1)
