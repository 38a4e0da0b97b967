"""Sequential loops over columns of commands, compiled.

A function with a name that starts with an underscore is the loop of the function above it, which
makes the arrays that the loop works on: compiled code makes none.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tandem.base.jit import compiled
from tandem.compiler.machines.accelerator.lower.commands import Ints

Flags = npt.NDArray[np.bool_]

NO_COMMAND = -1
"""The position that stands for no command."""


def runs_of(
    kernel: Ints,
    outer: int,
    outer_stride: int,
    inner: int,
    inner_stride: int,
    begin: int,
    used: Flags,
) -> Ints:
    """[run, 2]: the first element, and one past the last, of each run of elements that an
    operand's indices name, in ascending order.

    Parameters
    ----------
    kernel
        The index of each micro-op in the first iteration of both loops.
    outer, outer_stride, inner, inner_stride
        The extents of the loops, and their strides in the index.
    begin
        The number of the element with the index 0.
    used
        A mask of elements, all false: for use in here.
    """
    low, high = begin + int(kernel.min()), begin + int(kernel.max()) + 1
    for extent, stride in ((outer, outer_stride), (inner, inner_stride)):
        low, high = low + min(0, (extent - 1) * stride), high + max(0, (extent - 1) * stride)
    if low < 0 or high > len(used):
        raise IndexError("an operand lies beyond the memories")
    count = _mark_elements(kernel, outer, outer_stride, inner, inner_stride, begin, used, low, high)
    runs = np.empty((count, 2), dtype=np.int64)
    _take_runs(used, low, high, runs)
    return runs


@compiled
def _mark_elements(
    kernel: Ints,
    outer: int,
    outer_stride: int,
    inner: int,
    inner_stride: int,
    begin: int,
    used: Flags,
    low: int,
    high: int,
) -> int:
    """Mark the elements of `runs_of`, from `low` to before `high`; returns the number of runs."""
    for first in range(outer if outer_stride else 1):
        for second in range(inner if inner_stride else 1):
            offset = begin + first * outer_stride + second * inner_stride
            for index in kernel:
                used[offset + index] = True
    count = 0
    for element in range(low, high):
        count += used[element] and (element == low or not used[element - 1])
    return count


@compiled
def _take_runs(used: Flags, low: int, high: int, runs: Ints) -> None:
    """Fill in the runs of the marked elements, and clear the marks."""
    count = 0
    for element in range(low, high):
        if used[element]:
            if element == low or not used[element - 1]:
                runs[count, 0] = element
                count += 1
            runs[count - 1, 1] = element + 1
    used[low:high] = False


def requantised_read(
    which: Ints,
    writes: Flags,
    requantises: Flags,
    first: Ints,
    runs: Ints,
    keeps: Ints,
    begin: int,
    end: int,
) -> tuple[int, int, int]:
    """The first command that computes with requantised results, the command that made the first of
    them, and their number: 0 if there is no such command.

    Parameters
    ----------
    writes, requantises
        Masks of prototypes: what gives accumulators new values, and what requantises them.
    begin, end
        The elements from `begin` up to, without, `end` are accumulators.
    """
    maker = np.full(end - begin, NO_COMMAND, dtype=np.int64)
    reads = np.zeros(end - begin, dtype=np.bool_)
    return _requantised_read(
        which, writes, requantises, first, runs, keeps, begin, end, maker, reads
    )


@compiled
def _requantised_read(
    which: Ints,
    writes: Flags,
    requantises: Flags,
    first: Ints,
    runs: Ints,
    keeps: Ints,
    begin: int,
    end: int,
    maker: Ints,
    reads: Flags,
) -> tuple[int, int, int]:
    """`requantised_read`, with the command that made each accumulator's result, and whether a
    command reads it."""
    for position in range(len(which)):
        prototype = which[position]
        if not writes[prototype]:
            continue
        count, made_by = 0, NO_COMMAND
        for run in range(first[prototype], first[prototype + 1]):
            if not begin <= runs[run, 0] < end or (runs[run, 2] and not keeps[prototype]):
                continue
            for element in range(runs[run, 0] - begin, runs[run, 1] - begin):
                if maker[element] != NO_COMMAND and not reads[element]:
                    reads[element] = True
                    count += 1
        if count:
            for element in range(end - begin):
                if reads[element]:
                    made_by = maker[element]
                    break
            return position, made_by, count
        made = position if requantises[prototype] else NO_COMMAND
        for run in range(first[prototype], first[prototype + 1]):
            if begin <= runs[run, 0] < end and runs[run, 2]:
                maker[runs[run, 0] - begin : runs[run, 1] - begin] = made
    return NO_COMMAND, NO_COMMAND, 0


def unwritten_read(which: Ints, first: Ints, runs: Ints, keeps: Ints, size: int) -> tuple[int, int]:
    """The first command that reads an element that none before has written, and the element; both
    are NO_COMMAND if there is no such command."""
    return _unwritten_read(which, first, runs, keeps, np.zeros(size, dtype=np.bool_))


@compiled
def _unwritten_read(
    which: Ints, first: Ints, runs: Ints, keeps: Ints, written: Flags
) -> tuple[int, int]:
    """`unwritten_read`, with a mask of the elements that are written so far."""
    for position in range(len(which)):
        prototype = which[position]
        begin, end = first[prototype], first[prototype + 1]
        for run in range(begin, end):
            if not runs[run, 2] or keeps[prototype]:
                for element in range(runs[run, 0], runs[run, 1]):
                    if not written[element]:
                        return position, element
        for run in range(begin, end):
            if runs[run, 2]:
                written[runs[run, 0] : runs[run, 1]] = True
    return NO_COMMAND, NO_COMMAND


def used_loads(which: Ints, loads: Flags, first: Ints, runs: Ints, keeps: Ints, size: int) -> Flags:
    """The mask of commands to keep: all but dead loads, of which no element is read before it is
    overwritten. `loads` is the mask of prototypes that are loads."""
    used = np.ones(len(which), dtype=np.bool_)
    _used_loads(which, loads, first, runs, keeps, np.zeros(size, dtype=np.bool_), used)
    return used


@compiled
def _used_loads(
    which: Ints, loads: Flags, first: Ints, runs: Ints, keeps: Ints, live: Flags, used: Flags
) -> None:
    """Clear the marks of dead loads in `used`; `live` marks elements that are read later."""
    for position in range(len(which) - 1, -1, -1):
        prototype = which[position]
        begin, end = first[prototype], first[prototype + 1]
        if loads[prototype]:
            any_live = False
            for run in range(begin, end):
                for element in range(runs[run, 0], runs[run, 1]):
                    any_live |= live[element]
            if not any_live:
                used[position] = False
                continue
        for written in (1, 0):
            for run in range(begin, end):
                if runs[run, 2] == written:
                    for element in range(runs[run, 0], runs[run, 1]):
                        live[element] = not written or keeps[prototype] != 0


def fresh_loads(which: Ints, dram: Ints, loads: Flags, first: Ints, runs: Ints, size: int) -> Flags:
    """The mask of commands to keep: all but LOADs of what lies in their place already.

    Parameters
    ----------
    dram
        For each command the elements to add to its prototype's address in DRAM.
    loads
        The mask of prototypes that may be left out.
    """
    writer = np.full(size, NO_COMMAND, dtype=np.int64)
    fresh = np.ones(len(which), dtype=np.bool_)
    _fresh_loads(which, dram, loads, first, runs, writer, fresh)
    return fresh


@compiled
def _fresh_loads(
    which: Ints, dram: Ints, loads: Flags, first: Ints, runs: Ints, writer: Ints, fresh: Flags
) -> None:
    """Clear the marks of repeated LOADs in `fresh`; `writer` is the last command to write each
    element."""
    for position in range(len(which)):
        prototype = which[position]
        begin, end = first[prototype], first[prototype + 1]
        same = loads[prototype]
        for run in range(begin, end):
            for element in range(runs[run, 0], runs[run, 1]):
                if not same:
                    break
                last = writer[element]
                same = (
                    last != NO_COMMAND and which[last] == prototype and dram[last] == dram[position]
                )
        if same:
            fresh[position] = False
            continue
        for run in range(begin, end):
            if runs[run, 2]:
                for element in range(runs[run, 0], runs[run, 1]):
                    writer[element] = position
