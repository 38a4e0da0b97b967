"""Products that overwrite accumulators, in place of a reset and the first products after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from compiler.lower.accelerator.commands import (
    Command,
    Commands,
    Compute,
    Kernel,
    Loop,
    with_prototypes,
)


def overwrite_first(commands: Commands) -> Commands:
    """The commands without resets that directly precede a GEMM of the same accumulators.

    Each such GEMM becomes one that overwrites, with the first product of each accumulator, and
    GEMMs that add the others. For machines with `Feature.OVERWRITE`.
    """
    numbers = dict[Command, int]((each, at) for at, each in enumerate(commands.prototypes))
    known = dict[tuple[int, ...], tuple[int, ...]]()
    which, taken = list[int](), list[int]()
    resets = list[int]()
    """Positions of the resets just before the current command."""

    def keep(positions: Sequence[int]) -> None:
        which.extend(int(commands.which[at]) for at in positions)
        taken.extend(positions)

    for position, number in enumerate(commands.which.tolist()):
        command = commands.prototypes[number]
        if isinstance(command, Compute) and command.reset:
            resets.append(position)
            continue
        pieces: tuple[int, ...] = ()
        if resets and isinstance(command, Compute) and command.op is None:
            key = (*(int(commands.which[at]) for at in resets), number)
            if key not in known:
                cleared = [commands.prototypes[at] for at in key[:-1]]
                found = _pieces(cleared, command)
                known[key] = tuple(numbers.setdefault(each, len(numbers)) for each in found)
            pieces = known[key]
        if pieces:
            which.extend(pieces)
            taken.extend(position for _ in pieces)
        else:
            keep([*resets, position])
        resets.clear()
    keep(resets)
    return with_prototypes(commands.take(np.array(taken, np.int64)), which, tuple(numbers))


def _pieces(resets: Sequence[Command], gemm: Compute) -> tuple[Compute, ...]:
    """The GEMMs in place of `resets` and `gemm`; none unless they set the same accumulators."""
    cleared = [each.indices("dst") for each in resets if isinstance(each, Compute)]
    written = np.unique(gemm.indices("dst"))
    if not np.array_equal(np.unique(np.concatenate(cleared)), written):
        return ()
    loops = (gemm.outer, gemm.inner)
    kept = prod(loop.extent for loop in loops if loop.dst)
    if kept * len(set(gemm.kernel.dst)) != len(written):
        # The loops lead from one micro-op's accumulator to another's.
        return ()
    return tuple(_split(gemm))


def _split(gemm: Compute) -> Iterator[Compute]:
    """The first product of each accumulator, which overwrites; then all others.

    Loops without a stride in `dst` repeat accumulators, and so do micro-ops of the same `dst`.
    """
    kernel, outer, inner = gemm.kernel, gemm.outer, gemm.inner
    first_outer, first_inner = (loop if loop.dst else Loop(1) for loop in (outer, inner))
    at_first = replace(gemm, outer=first_outer, inner=first_inner)
    first_at = {dst: at for at, dst in reversed([*enumerate(kernel.dst)])}
    firsts = [first_at[dst] == at for at, dst in enumerate(kernel.dst)]
    yield replace(at_first, kernel=_taken(kernel, firsts), overwrite=True)
    if not all(firsts):
        yield replace(at_first, kernel=_taken(kernel, [not first for first in firsts]))
    if not inner.dst and inner.extent > 1:
        yield replace(at_first, kernel=_moved(kernel, inner), inner=_shorter(inner))
    if not outer.dst and outer.extent > 1:
        yield replace(gemm, kernel=_moved(kernel, outer), outer=_shorter(outer))


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
