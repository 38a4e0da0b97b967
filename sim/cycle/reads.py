"""The read master, its three clients, and memory's answers: rules 1, 2 and 5.

Each client has a buffer, whose beats arrive and are used in order. The cycle in which each beat is
used is kept until the buffer has been filled once more, because a burst is offered only when its
beats have places.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tandem.base.jit import inlined
from tandem.sim.cycle.machine import Machine
from tandem.sim.cycle.silence import AR, R, after_silence, beats_before

Ints = npt.NDArray[np.int64]

FETCH = 0
COMPUTE = 1
LOAD = 2
"""The clients, highest priority first (`hw.timing.READ_PRIORITY`)."""
CLIENTS = 3

NEVER = 1 << 62

# The state of a client, indexed by these constants.
ACTIVE = 0
"""Whether bursts of the job are to come."""
NEXT = 1
"""The first cycle in which the next burst can be offered, if the buffer has places."""
BEATS = 2
"""Beats of the next burst."""
GRANTED = 3
"""Beats of all jobs that were requested."""
USED = 4
"""Beats of all jobs whose use is known."""
BEAT = 5
"""The address of the next burst, in beats."""
REST = 6
"""Beats left in the row."""
ROWS = 7
"""Rows left, with this one."""
ADDRESS = 8
"""The row's address in bytes."""
SIZE = 9
"""A row's bytes."""
STRIDE = 10
"""Bytes from row to row."""
LONGEST = 11
DEPTH = 12
"""Beats that the buffer holds."""
FIELDS = 13

# The state of the read master.
FREE = 0
"""The cycle from which the address register can take a burst."""
BURSTS = 1
"""Bursts granted."""
LAST = 2
"""The cycle of the last beat of all granted bursts."""


class Reads(NamedTuple):
    """The read master's and the clients' state."""

    clients: Ints
    """[client, field]"""
    master: Ints
    ends: Ints
    """The cycle of the last beat of burst n, at n modulo the length."""
    used: Ints
    """[client, beat modulo the length]: the cycle in which a beat is used."""
    ends_mask: int
    """The length of `ends`, a power of two, less one; of `used`, the next."""
    used_mask: int


def make_reads(machine: Machine) -> Reads:
    """The state at launch."""
    clients = np.zeros((CLIENTS, FIELDS), np.int64)
    clients[:, LONGEST] = machine.fetch_longest, machine.longest, machine.longest
    depths = machine.fetch_depth, machine.compute_depth, machine.load_depth
    clients[:, DEPTH] = depths
    master = np.zeros(3, np.int64)
    master[LAST] = -NEVER
    bursts, beats = ring(machine.reads_in_flight), ring(max(depths))
    return Reads(
        clients,
        master,
        np.zeros(bursts, np.int64),
        np.zeros((CLIENTS, beats), np.int64),
        bursts - 1,
        beats - 1,
    )


def ring(entries: int) -> int:
    """The length of a ring for so many entries: a power of two, so that no index is divided."""
    return 1 << (entries - 1).bit_length()


@inlined
def request(
    machine: Machine, client: Ints, now: int, address: int, size: int, stride: int, rows: int
) -> None:
    """Start a job in cycle `now`: `rows` rows of `size` bytes, `stride` bytes apart."""
    client[ACTIVE] = 1
    client[NEXT] = now + 2
    client[ROWS] = rows
    client[ADDRESS] = address & machine.address_mask
    client[SIZE] = size
    client[STRIDE] = stride
    begin_row(machine, client)


@inlined
def begin_row(machine: Machine, client: Ints) -> None:
    """Find the first burst of the row at ADDRESS."""
    first = client[ADDRESS] >> machine.beat_shift
    last = (client[ADDRESS] + client[SIZE] - 1) >> machine.beat_shift
    client[BEAT] = first
    client[REST] = last - first + 1
    cut_burst(machine, client)


@inlined
def cut_burst(machine: Machine, client: Ints) -> None:
    """Find the length of the next burst: it ends with its row, its page, or is the longest."""
    in_page = client[BEAT] & (machine.page_beats - 1)
    client[BEATS] = min(client[REST], client[LONGEST], machine.page_beats - in_page)


@inlined
def offer(reads: Reads, which: int) -> int:
    """The first cycle in which a client offers its next burst; NEVER while that is not known."""
    client = reads.clients
    if not client[which, ACTIVE]:
        return NEVER
    needed = client[which, GRANTED] + client[which, BEATS] - client[which, DEPTH]
    if needed <= 0:
        return int(client[which, NEXT])
    if needed > client[which, USED]:
        return NEVER
    return int(max(client[which, NEXT], reads.used[which, (needed - 1) & reads.used_mask] + 1))


@inlined
def choose(machine: Machine, reads: Reads) -> tuple[int, int]:
    """The client whose burst is granted next, and the cycle; NEVER if no burst is offered."""
    earliest = NEVER
    offers = (offer(reads, FETCH), offer(reads, COMPUTE), offer(reads, LOAD))
    for cycle in offers:
        earliest = min(earliest, cycle)
    if earliest == NEVER:
        return -1, NEVER
    free = reads.master[FREE]
    bursts = reads.master[BURSTS]
    if bursts >= machine.reads_in_flight:
        free = max(free, reads.ends[(bursts - machine.reads_in_flight) & reads.ends_mask] + 1)
    now = max(earliest, free)
    for which in range(CLIENTS):
        if offers[which] <= now:
            return which, now
    return -1, NEVER


@inlined
def grant(
    machine: Machine, reads: Reads, silence: Ints, which: int, now: int
) -> tuple[int, int, int]:
    """Grant a client's burst in cycle `now`.

    Returns the cycles in which memory accepts its address and sends its first beat, and how many
    beats it sends before a silence. Beats arrive `machine.interval` cycles apart; each can be used
    a cycle later.
    """
    client, master = reads.clients[which], reads.master
    bursts, slots = master[BURSTS], machine.reads_in_flight
    accepted = now + 1
    if bursts >= machine.in_flight and machine.in_flight <= slots:
        accepted = max(accepted, reads.ends[(bursts - machine.in_flight) & reads.ends_mask] + 1)
    accepted = after_silence(silence, AR, accepted)
    beats = client[BEATS]
    first = after_silence(
        silence, R, max(accepted + machine.latency, master[LAST] + machine.interval)
    )
    early = beats_before(silence, first, beats, machine.interval)
    master[LAST] = first + (beats - 1) * machine.interval
    if early < beats:
        master[LAST] = silence[2] + (beats - early - 1) * machine.interval
    master[FREE] = accepted
    reads.ends[bursts & reads.ends_mask] = master[LAST]
    master[BURSTS] = bursts + 1

    client[GRANTED] += beats
    client[NEXT] = now + 1
    client[BEAT] += beats
    client[REST] -= beats
    if client[REST] > 0:
        cut_burst(machine, client)
    else:
        client[ROWS] -= 1
        if client[ROWS] == 0:
            client[ACTIVE] = 0
        else:
            client[ADDRESS] = (client[ADDRESS] + client[STRIDE]) & machine.address_mask
            begin_row(machine, client)
    return accepted, first, early


@inlined
def use(reads: Reads, which: int, now: int) -> None:
    """The client's next beat is used in cycle `now`."""
    client = reads.clients[which]
    reads.used[which, client[USED] & reads.used_mask] = now
    client[USED] += 1
