"""Placement of dependence tokens: a sequential loop over columns of commands, compiled."""

from __future__ import annotations

import numpy as np

from tandem.base.jit import compiled
from tandem.compiler.machines.accelerator.lower.commands import Ints
from tandem.compiler.machines.accelerator.lower.compiled import NO_COMMAND
from tandem.hw.topology import Unit

LOAD, COMPUTE, STORE = int(Unit.LOAD), int(Unit.COMPUTE), int(Unit.STORE)
SIZE = 3
"""The index of the stream's length in `counts`."""


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
