"""What compute spent each cycle of a run on: every cycle has exactly one cause.

Cycles are attributed to layers as seen from compute: a layer's cycles run from the previous layer's
last completion in compute to its own, so that they sum to the total. While compute waits for a
token, the cause is what the unit that pushes the token does in that cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from tandem.hw.encoding import Opcode
from tandem.hw.isa import Program
from tandem.hw.topology import Unit
from tandem.sim.why.times import RunTimes


class Cause(Enum):
    """What compute spent a layer's cycles on; values are labels for display."""

    GEMM = "products"
    RESET = "resets"
    ALU = "ALU"
    LOAD = "loads by compute"
    """Loads of micro-ops and accumulators, which compute executes itself."""
    WAIT_LOAD = "waits for loads"
    """Waits for a token from load, while load executes."""
    WAIT_STORE = "waits for stores"
    """Waits for a token from store, while store executes."""
    WAIT_TOKEN = "waits for tokens"
    """Handovers of tokens, instructions that only carry tokens, and waits for a unit that itself
    waits for a token."""
    WAIT_FETCH = "waits for fetch"
    """Waits for an instruction: compute's own, or that of the unit for which compute waits."""
    OTHER = "start and end"


_CAUSES = tuple(Cause)
_NUMBERS = {cause: number for number, cause in enumerate(_CAUSES)}


def activities(program: Program) -> list[Cause]:
    """For each instruction, the cause of the cycles in which it executes: in compute, its own kind;
    in load and store, that of compute's wait for it."""
    columns, units = program.columns(), program.units()
    found = np.full(len(program), _NUMBERS[Cause.OTHER])
    for cause, rows in (
        (Cause.GEMM, columns.opcode == Opcode.GEMM),
        (Cause.RESET, (columns.opcode == Opcode.GEMM) & (columns.reset_reg == 1)),
        (Cause.ALU, columns.opcode == Opcode.ALU),
        (Cause.WAIT_LOAD, columns.opcode == Opcode.LOAD),
        (Cause.LOAD, (columns.opcode == Opcode.LOAD) & (units == Unit.COMPUTE)),
        (Cause.WAIT_STORE, columns.opcode == Opcode.STORE),
        (
            Cause.WAIT_TOKEN,
            np.isin(columns.opcode, (Opcode.LOAD, Opcode.STORE)) & (columns.x_size == 0),
        ),
    ):
        found[rows] = _NUMBERS[cause]
    return [_CAUSES[number] for number in found.tolist()]


def layer_causes(
    program: Program, times: RunTimes, layer_of: Sequence[int], layers: int
) -> list[dict[Cause, int]]:
    """For each of the layers, its cycles by cause.

    `layer_of` has the layer of each instruction; the cycles of an instruction with -1 belong to
    the layer before it.
    """
    busy = activities(program)
    found = [dict.fromkeys(Cause, 0) for _ in range(layers)]
    if not found:
        return found
    now = layer = 0
    for instruction in times.streams[Unit.COMPUTE]:
        own = layer_of[instruction]
        layer = own if own >= 0 else layer
        start = max(times.start[instruction], now)
        _add_waits(found[layer], times, busy, instruction, now, start)
        end = max(times.end[instruction], start)
        found[layer][busy[instruction]] += end - start
        now = end
    found[layer][Cause.OTHER] += times.cycles - now
    return found


def _add_waits(
    causes: dict[Cause, int],
    times: RunTimes,
    busy: Sequence[Cause],
    instruction: int,
    after: int,
    until: int,
) -> None:
    """Add the causes of compute's cycles `after` + 1 to `until`, before `instruction` starts."""
    if after >= until:
        return
    dispatched = min(max(times.dispatch[instruction], after), until)
    causes[Cause.WAIT_FETCH] += dispatched - after
    token = times.last_token(instruction)
    pushed = dispatched
    if token is not None:
        pushed = min(max(times.end[token.pushed_by], dispatched), until)
        _add_producer(causes, times, busy, token.pushed_by, dispatched, pushed)
    # What is left is the start itself, and the time that compute needs between two instructions.
    causes[_start_cause(times, instruction, until)] += until - pushed


def _start_cause(times: RunTimes, instruction: int, start: int) -> Cause:
    token = times.last_token(instruction)
    if token is not None and times.end[token.pushed_by] == start - 1:
        return Cause.WAIT_TOKEN
    return Cause.WAIT_FETCH if times.dispatch[instruction] == start - 1 else Cause.OTHER


def _add_producer(
    causes: dict[Cause, int],
    times: RunTimes,
    busy: Sequence[Cause],
    producer: int,
    after: int,
    until: int,
) -> None:
    """Add the causes of cycles `after` + 1 to `until`, by what the producer's unit does in them."""
    at: int | None = producer
    while at is not None and until > after:
        started = max(min(times.start[at] - 1, until), after)
        causes[busy[at]] += until - started
        previous = times.before(at)
        idle = after if previous is None else max(min(times.end[previous], started), after)
        dispatched = max(min(times.dispatch[at], started), idle)
        causes[Cause.WAIT_TOKEN] += started - dispatched
        causes[Cause.WAIT_FETCH] += dispatched - idle
        until, at = idle, previous
