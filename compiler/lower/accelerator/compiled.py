"""Sequential loops over columns of commands, compiled.

A function with a name that starts with an underscore is the loop of the function above it, which
makes the arrays that the loop works on: compiled code makes none.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from compiler.lower.accelerator.commands import Ints
from hw.jit import compiled
from hw.topology import Unit

Flags = npt.NDArray[np.bool_]

NO_COMMAND = -1
"""The position that stands for no command."""
LOAD, COMPUTE, STORE = int(Unit.LOAD), int(Unit.COMPUTE), int(Unit.STORE)
SIZE = 3
"""The index of the stream's length in `counts`."""


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


@compiled
def _overlap(one: int, other: int, first: Ints, runs: Ints) -> bool:
    """Whether two prototypes access an element in common."""
    for a in range(first[one], first[one + 1]):
        for b in range(first[other], first[other + 1]):
            if runs[a, 0] < runs[b, 1] and runs[b, 0] < runs[a, 1]:
                return True
    return False


def late_order(which: Ints, resets: Flags, first: Ints, runs: Ints) -> Ints:
    """The positions of all commands, reordered: each reset just before the first command that
    accesses the same elements."""
    order, pending = np.empty((2, len(which)), dtype=np.int64)
    _late_order(which, resets, first, runs, order, pending)
    return order


@compiled
def _late_order(
    which: Ints, resets: Flags, first: Ints, runs: Ints, order: Ints, pending: Ints
) -> None:
    """Fill in `order`; `pending` has the positions of the resets that wait."""
    emitted = count = 0
    for position in range(len(which)):
        kept = 0
        for at in range(count):
            reset = pending[at]
            if _overlap(which[reset], which[position], first, runs):
                order[emitted] = reset
                emitted += 1
            else:
                pending[kept] = reset
                kept += 1
        count = kept
        if resets[which[position]]:
            pending[count] = position
            count += 1
        else:
            order[emitted] = position
            emitted += 1
    for at in range(count):
        order[emitted + at] = pending[at]


@compiled
def _merge_clock(clocks: Ints, units: Ints, position: int, other: int) -> None:
    """Merge the clock of `other`, which is complete before `position` starts, into that of
    `position`."""
    for unit in range(3):
        clocks[position, unit] = max(clocks[position, unit], clocks[other, unit])
    clocks[position, units[other]] = max(clocks[position, units[other]], other)


@compiled
def _pop(
    position: int,
    needed: int,
    units: Ints,
    tokens: Ints,
    clocks: Ints,
    waits: Ints,
    counts: Ints,
) -> None:
    """Pass a token from `needed` to `position`, unless the clock of `position` implies it."""
    if needed == NO_COMMAND or needed <= clocks[position, units[needed]]:
        return
    unit, other = units[position], units[needed]
    _merge_clock(clocks, units, position, needed)
    tokens[position, 0] |= 1 << other
    tokens[needed, 1] |= 1 << unit
    if unit == COMPUTE:
        waits[0, other, counts[other]] = needed
        waits[1, other, counts[other]] = position
        counts[other] += 1


@compiled
def _append(unit: int, units: Ints, clocks: Ints, last: Ints, computes: Ints, counts: Ints) -> int:
    """Append an instruction, with the clock of its unit's last one; returns the position."""
    position = int(counts[SIZE])
    counts[SIZE] += 1
    if unit == COMPUTE:
        computes[counts[COMPUTE]] = position
        counts[COMPUTE] += 1
    units[position] = unit
    if last[unit] != NO_COMMAND:
        for other in range(3):
            clocks[position, other] = clocks[last[unit], other]
    last[unit] = position
    return position


@compiled
def _lower_bound(values: Ints, count: int, wanted: int) -> int:
    """The index of the first of `count` ascending values that is at least `wanted`."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _in_dram(table: Ints, access: Ints, granule: int, position: int) -> int:
    """The last command that accessed a copy's bytes, or `NO_COMMAND`, from `table`; then records
    `position`, unless `NO_COMMAND`, as the last.

    `access`: the first byte, the rows, their stride in bytes, and the bytes of a row.
    """
    found = NO_COMMAND
    for row in range(access[1]):
        begin = access[0] + row * access[2]
        for at in range(begin // granule, (begin + access[3] - 1) // granule + 1):
            found = max(found, table[at])
            if position != NO_COMMAND:
                table[at] = position
    return found


@compiled
def _on_chip(
    chip: Ints, unit: int, other: int, begin: int, end: int, runs: Ints, position: int
) -> int:
    """The last command of the unit `other` that conflicts with a command, or `NO_COMMAND`; given a
    `position`, records that as the last command of `unit` instead."""
    found = NO_COMMAND
    for run in range(begin, end):
        written = runs[run, 2]
        for element in range(runs[run, 0], runs[run, 1]):
            if position != NO_COMMAND:
                chip[unit, written, element] = position
                continue
            found = max(found, chip[other, 1, element])
            if written:
                found = max(found, chip[other, 0, element])
    return found


def place(
    which: Ints,
    command_units: Ints,
    access: Ints,
    first: Ints,
    runs: Ints,
    elements: int,
    granules: int,
    granule: int,
) -> tuple[Ints, Ints, Ints]:
    """Tokens for commands in their order, and empty instructions that relay load-store tokens.

    Parameters
    ----------
    which
        For each command its prototype; `first` and `runs` are the footprints of the prototypes.
    command_units
        For each command the unit that executes it.
    access
        [command, 4]: the command's bytes of DRAM as in `_in_dram`; 0 rows for no access.
    elements, granules
        The total size of on-chip memories, and the size of DRAM in granules of `granule` bytes.

    Returns
    -------
    tuple
        For each instruction its command or `NO_COMMAND`; its unit; and [instruction, 2] bit sets
        of the units to pop a token from and to push a token to.
    """
    capacity = 2 * len(which)
    commands = np.full(capacity, NO_COMMAND, dtype=np.int64)
    units = np.zeros(capacity, dtype=np.int64)
    tokens = np.zeros((capacity, 2), dtype=np.int64)
    # [instruction, unit]: the unit's last instruction that is complete when the instruction starts.
    clocks = np.full((capacity, 3), NO_COMMAND, dtype=np.int64)
    # By unit, load or store: instructions that compute waited for [0], and the waiting ones [1].
    waits = np.empty((2, 3, capacity), dtype=np.int64)
    # The number of waits for load and for store, of instructions of compute, and of all (`SIZE`).
    counts = np.zeros(4, dtype=np.int64)
    last, needs = np.full((2, 3), NO_COMMAND, dtype=np.int64)
    _place(
        which,
        command_units,
        access,
        first,
        runs,
        granule,
        commands,
        units,
        tokens,
        clocks,
        waits,
        counts,
        np.empty(capacity, dtype=np.int64),
        last,
        np.full((3, 2, elements), NO_COMMAND, dtype=np.int64),
        np.full((3, granules), NO_COMMAND, dtype=np.int64),
        needs,
    )
    size = counts[SIZE]
    return commands[:size], units[:size], tokens[:size]


@compiled
def _place(
    which: Ints,
    command_units: Ints,
    access: Ints,
    first: Ints,
    runs: Ints,
    granule: int,
    commands: Ints,
    units: Ints,
    tokens: Ints,
    clocks: Ints,
    waits: Ints,
    counts: Ints,
    computes: Ints,
    last: Ints,
    chip: Ints,
    dram: Ints,
    needs: Ints,
) -> None:
    """The loop of `place`, which fills in `commands`, `units`, `tokens` and their number.

    Parameters
    ----------
    computes
        The positions of the instructions of compute.
    last
        By unit, the position of its last instruction.
    chip, dram
        [unit, written, element] and [unit, granule]: the last command to access it. A unit either
        only reads DRAM or only writes it.
    needs
        By unit, the instruction that a command waits for.
    """
    for command in range(len(which)):
        unit = command_units[command]
        begin, end = first[which[command]], first[which[command] + 1]
        for other in range(3):
            needs[other] = NO_COMMAND
            if other != unit:
                needs[other] = _on_chip(chip, unit, other, begin, end, runs, NO_COMMAND)
                if unit == STORE or other == STORE:
                    found = _in_dram(dram[other], access[command], granule, NO_COMMAND)
                    needs[other] = max(needs[other], found)
        if unit != COMPUTE:
            opposite, least = LOAD + STORE - unit, needs[COMPUTE]
            needed = needs[opposite]
            needs[opposite] = NO_COMMAND
            implied = NO_COMMAND if last[unit] == NO_COMMAND else clocks[last[unit], opposite]
            if least != NO_COMMAND:
                implied = max(implied, clocks[least, opposite])
            if needed > implied:
                # Relay through compute: by its first wait for `needed` or a later command; else by
                # its first instruction from `least` on that follows `needed` and its last wait;
                # else by a new, empty one.
                at = _lower_bound(waits[0, opposite], counts[opposite], needed)
                last_wait = (
                    waits[1, opposite, counts[opposite] - 1] if counts[opposite] else NO_COMMAND
                )
                computed = counts[COMPUTE]
                free = _lower_bound(computes, computed, max(least, needed + 1, last_wait + 1))
                if at < counts[opposite]:
                    relay = waits[1, opposite, at]
                elif least == NO_COMMAND or free == computed:
                    relay = _append(COMPUTE, units, clocks, last, computes, counts)
                    _pop(relay, needed, units, tokens, clocks, waits, counts)
                else:
                    relay = computes[free]
                    _pop(relay, needed, units, tokens, clocks, waits, counts)
                    for later in range(free + 1, computed):
                        _merge_clock(clocks, units, computes[later], needed)
                needs[COMPUTE] = max(least, relay)
        position = _append(unit, units, clocks, last, computes, counts)
        commands[position] = command
        # The latest dependence first: its clock may imply the earlier ones.
        early, late = min(needs[LOAD], needs[STORE]), max(needs[LOAD], needs[STORE])
        for needed in (max(needs[COMPUTE], late), min(needs[COMPUTE], late), early):
            _pop(position, needed, units, tokens, clocks, waits, counts)
        _on_chip(chip, unit, unit, begin, end, runs, position)
        _in_dram(dram[unit], access[command], granule, position)
