"""Loops over commands in which each iteration needs what the last one left: compiled.

Numba takes half a second to import, so that this module is imported where commands are at hand. All
that the functions call lies in this file, whose date is part of the key of what is kept on disk.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from compiler.lower.accelerator.commands import Ints
from hw.jit import cached, compiled
from hw.topology import Module

__all__ = ["late_order", "place", "used_loads"]

Flags = npt.NDArray[np.bool_]

NOBODY = -1
"""No position in the stream."""
LOAD, COMPUTE, STORE = int(Module.LOAD), int(Module.COMPUTE), int(Module.STORE)
PLACES = 3
"""Of counts: the places of all modules together."""


@cached
def used_loads(which: Ints, loads: Flags, first: Ints, runs: Ints, keeps: Ints, size: int) -> Flags:
    """For each command whether it stays: all but loads of which nothing is read before it is
    overwritten, or ever. `loads` tells of each prototype whether it is one."""
    live = np.zeros(size, dtype=np.bool_)
    stays = np.ones(len(which), dtype=np.bool_)
    for position in range(len(which) - 1, -1, -1):
        prototype = which[position]
        begin, end = first[prototype], first[prototype + 1]
        if loads[prototype]:
            wanted = False
            for run in range(begin, end):
                for element in range(runs[run, 0], runs[run, 1]):
                    wanted |= live[element]
            if not wanted:
                stays[position] = False
                continue
        for written in (1, 0):
            for run in range(begin, end):
                if runs[run, 2] == written:
                    for element in range(runs[run, 0], runs[run, 1]):
                        live[element] = not written or keeps[prototype] != 0
    return stays


@compiled
def _meets(one: int, other: int, first: Ints, runs: Ints) -> bool:
    """Whether two prototypes touch an element in common."""
    for a in range(first[one], first[one + 1]):
        for b in range(first[other], first[other + 1]):
            if runs[a, 0] < runs[b, 1] and runs[b, 0] < runs[a, 1]:
                return True
    return False


@cached
def late_order(which: Ints, resets: Flags, first: Ints, runs: Ints) -> Ints:
    """The positions of all commands, with each reset just before the first command that touches
    what it does."""
    order = np.empty(len(which), dtype=np.int64)
    waiting = np.empty(len(which), dtype=np.int64)
    done = count = 0
    for position in range(len(which)):
        left = 0
        for at in range(count):
            reset = waiting[at]
            if _meets(which[reset], which[position], first, runs):
                order[done] = reset
                done += 1
            else:
                waiting[left] = reset
                left += 1
        count = left
        if resets[which[position]]:
            waiting[count] = position
            count += 1
        else:
            order[done] = position
            done += 1
    for at in range(count):
        order[done + at] = waiting[at]
    return order


@compiled
def _after(clocks: Ints, modules: Ints, position: int, other: int) -> None:
    """A command knows besides what is known when the command `other` is complete."""
    for module in range(3):
        clocks[position, module] = max(clocks[position, module], clocks[other, module])
    clocks[position, modules[other]] = max(clocks[position, modules[other]], other)


@compiled
def _pop(
    position: int,
    needed: int,
    modules: Ints,
    tokens: Ints,
    clocks: Ints,
    passed: Ints,
    counts: Ints,
) -> None:
    """Let a command wait for another one, of a neighbour, if it does not do so already."""
    if needed == NOBODY or needed <= clocks[position, modules[needed]]:
        return
    module, other = modules[position], modules[needed]
    _after(clocks, modules, position, needed)
    tokens[position, 0] |= 1 << other
    tokens[needed, 1] |= 1 << module
    if module == COMPUTE:
        passed[0, other, counts[other]] = needed
        passed[1, other, counts[other]] = position
        counts[other] += 1


@compiled
def _append(
    module: int, modules: Ints, clocks: Ints, last: Ints, computes: Ints, counts: Ints
) -> int:
    """A command at the end of the stream, which knows what the last one of its module does."""
    position = int(counts[PLACES])
    counts[PLACES] += 1
    if module == COMPUTE:
        computes[counts[COMPUTE]] = position
        counts[COMPUTE] += 1
    modules[position] = module
    if last[module] != NOBODY:
        for other in range(3):
            clocks[position, other] = clocks[last[module], other]
    last[module] = position
    return position


@compiled
def _lower_bound(values: Ints, count: int, wanted: int) -> int:
    """The first of some ascending values that is not less."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _in_dram(table: Ints, access: Ints, grain: int, position: int) -> int:
    """The last one that touched what a copy does; with a `position` it is the copy from now on.

    `access`: the first byte, rows, bytes from one to the next, and bytes of each.
    """
    found = NOBODY
    for row in range(access[1]):
        begin = access[0] + row * access[2]
        for step in range(begin // grain, (begin + access[3] - 1) // grain + 1):
            found = max(found, table[step])
            if position != NOBODY:
                table[step] = position
    return found


@compiled
def _on_chip(
    chip: Ints, module: int, other: int, begin: int, end: int, runs: Ints, position: int
) -> int:
    """The last one of another module that a command has to come behind; with a `position` it is
    the last one of its own module that touched its elements."""
    found = NOBODY
    for run in range(begin, end):
        written = runs[run, 2]
        for element in range(runs[run, 0], runs[run, 1]):
            if position != NOBODY:
                chip[module, written, element] = position
                continue
            found = max(found, chip[other, 1, element])
            if written:
                found = max(found, chip[other, 0, element])
    return found


@cached
def place(
    which: Ints,
    units: Ints,
    access: Ints,
    first: Ints,
    runs: Ints,
    elements: int,
    steps: int,
    grain: int,
) -> tuple[Ints, Ints, Ints]:
    """Tokens for commands in their order, and empty ones where load and store meet.

    Parameters
    ----------
    which
        For each command its prototype, of which `first` and `runs` are the footprints.
    units
        For each command the module that executes it.
    access
        [command, 4]: what it touches of DRAM as `_in_dram` wants it, 0 rows where that is nothing.
    elements, steps
        Sizes of the on-chip memories together, and of DRAM in steps of `grain` bytes.

    Returns
    -------
    tuple
        For each place of the stream its command or `NOBODY`, its module, and [place, 2] the modules
        it takes a token from and gives one to, a bit for each.
    """
    room = 2 * len(which)
    commands = np.full(room, NOBODY, dtype=np.int64)
    modules = np.zeros(room, dtype=np.int64)
    tokens = np.zeros((room, 2), dtype=np.int64)
    # For each place, the last command of each module that is certainly complete when it starts.
    clocks = np.full((room, 3), NOBODY, dtype=np.int64)
    # For load and store, what compute has waited for, and since which place.
    passed = np.empty((2, 3, room), dtype=np.int64)
    # For load and store, how often; for compute, its places so far, and those of all.
    counts = np.zeros(4, dtype=np.int64)
    computes = np.empty(room, dtype=np.int64)
    last = np.full(3, NOBODY, dtype=np.int64)
    chip = np.full((3, 2, elements), NOBODY, dtype=np.int64)
    # Of DRAM a module only reads, or only writes.
    dram = np.full((3, steps), NOBODY, dtype=np.int64)
    needs = np.empty(3, dtype=np.int64)
    for command in range(len(which)):
        module = units[command]
        begin, end = first[which[command]], first[which[command] + 1]
        for other in range(3):
            needs[other] = NOBODY
            if other != module:
                needs[other] = _on_chip(chip, module, other, begin, end, runs, NOBODY)
                if module == STORE or other == STORE:
                    found = _in_dram(dram[other], access[command], grain, NOBODY)
                    needs[other] = max(needs[other], found)
        if module != COMPUTE:
            far, least = LOAD + STORE - module, needs[COMPUTE]
            needed = needs[far]
            needs[far] = NOBODY
            known = NOBODY if last[module] == NOBODY else clocks[last[module], far]
            if least != NOBODY:
                known = max(known, clocks[least, far])
            if needed > known:
                # A command of compute that starts after `needed`: the best is one that has to be
                # waited for anyway, or the next, where compute has waited for none since.
                at = _lower_bound(passed[0, far], counts[far], needed)
                since = passed[1, far, counts[far] - 1] if counts[far] else NOBODY
                computed = counts[COMPUTE]
                free = _lower_bound(computes, computed, max(least, needed + 1, since + 1))
                if at < counts[far]:
                    relay = passed[1, far, at]
                elif least == NOBODY or free == computed:
                    relay = _append(COMPUTE, modules, clocks, last, computes, counts)
                    _pop(relay, needed, modules, tokens, clocks, passed, counts)
                else:
                    relay = computes[free]
                    _pop(relay, needed, modules, tokens, clocks, passed, counts)
                    for later in range(free + 1, computed):
                        _after(clocks, modules, computes[later], needed)
                needs[COMPUTE] = max(least, relay)
        position = _append(module, modules, clocks, last, computes, counts)
        commands[position] = command
        # The latest first: what it has waited for need not be waited for again.
        early, late = min(needs[LOAD], needs[STORE]), max(needs[LOAD], needs[STORE])
        for needed in (max(needs[COMPUTE], late), min(needs[COMPUTE], late), early):
            _pop(position, needed, modules, tokens, clocks, passed, counts)
        _on_chip(chip, module, module, begin, end, runs, position)
        _in_dram(dram[module], access[command], grain, position)
    size = counts[PLACES]
    return commands[:size], modules[:size], tokens[:size]
