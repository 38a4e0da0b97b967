"""Races by brute force: every pair of instructions, every element, every chain of tokens.

A slow reference for `hw.hazards`, which shares no code with that package.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from tandem.hw.isa import (
    Instruction,
    Load,
    MemoryId,
    Program,
    Requantise,
    TokenQueue,
    Unit,
    unit_of,
)
from tests.support.hw.hazards.dependences import OFF, Touch, touches


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two instructions of different units that touch `addresses`, one of them writing. `first`
    comes earlier in the program; `resource` is a `MemoryId` or, for DRAM, -1."""

    first: int
    second: int
    resource: int
    first_writes: bool
    addresses: frozenset[int]


def clashes_of(program: Program, image: npt.NDArray[np.uint8]) -> list[Conflict]:
    """All clashes, ordered by tokens or not. Micro-ops are read from `image`, which the program
    must not overwrite there.
    """
    uops = np.zeros(program.config.depth(MemoryId.UOP), np.uint32)
    touched: list[list[Touch]] = []
    instructions = list(program)
    mode = OFF
    for one in instructions:
        mode = one if isinstance(one, Requantise) else mode
        if isinstance(one, Load) and one.memory is MemoryId.UOP and one.x_size:
            _load_uops(one, uops, image)
        touched.append(touches(program.config, one, uops, mode))
    found = []
    for first, second in combinations(range(len(instructions)), 2):
        if unit_of(instructions[first]) is not unit_of(instructions[second]):
            found += _clashes(first, touched[first], second, touched[second])
    return found


def _clashes(first: int, ours: list[Touch], second: int, theirs: list[Touch]) -> list[Conflict]:
    found = []
    for one in ours:
        for other in theirs:
            if one.resource == other.resource and one.writes + other.writes:
                both = frozenset(one.indices.tolist()) & frozenset(other.indices.tolist())
                if both:
                    found.append(Conflict(first, second, one.resource, one.writes, both))
    return found


def _load_uops(one: Load, uops: npt.NDArray[np.uint32], image: npt.NDArray[np.uint8]) -> None:
    words = image[: len(image) // 4 * 4].view("<u4")
    at = one.sram_base
    for y in range(one.y_pad_0 + one.y_size + one.y_pad_1):
        for x in range(one.x_pad_0 + one.x_size + one.x_pad_1):
            row, column = y - one.y_pad_0, x - one.x_pad_0
            inside = 0 <= row < one.y_size and 0 <= column < one.x_size
            uops[at] = words[one.dram_base + row * one.x_stride + column] if inside else 0
            at += 1


@dataclass(frozen=True, slots=True)
class Run:
    """The partial order of instructions that tokens enforce.

    `before[y]` are the instructions that are complete, or earlier ones of y's own unit, when y
    starts; an instruction that never starts has no entry. `left` counts the tokens never popped.
    """

    before: dict[int, set[int]]
    left: dict[TokenQueue, int]

    def ordered(self, one: int, other: int) -> bool:
        """Whether two instructions have the same order in every run, or one never starts."""
        if one not in self.before or other not in self.before:
            return True
        return one in self.before[other] or other in self.before[one]


def run_of(program: Program) -> Run:
    """The `Run` of a program: each queue's k-th pop waits for its k-th push, transitively."""
    instructions = list(program)
    before: dict[int, set[int]] = {}
    changed = True
    while changed:
        changed = False
        for position in range(len(instructions)):
            if position in before:
                continue
            direct = _direct(instructions, position)
            known = [one for one in direct if one is not None and one in before]
            if len(known) == len(direct):
                before[position] = set(known).union(*(before[one] for one in known))
                changed = True
    left = {}
    for queue in TokenQueue:
        pushes = [one for one in _pushers(instructions, queue) if one in before]
        pops = [one for one in _poppers(instructions, queue) if one in before]
        left[queue] = len(pushes) - len(pops)
    return Run(before, left)


def _direct(instructions: list[Instruction], position: int) -> set[int | None]:
    """The instructions that `position` waits for directly; None for a token never pushed."""
    unit = unit_of(instructions[position])
    own = [at for at in range(position) if unit_of(instructions[at]) is unit]
    direct: set[int | None] = set(own[-1:])
    for queue in TokenQueue:
        poppers = _poppers(instructions, queue)
        if position in poppers:
            pushers = _pushers(instructions, queue)
            k = poppers.index(position)
            direct.add(pushers[k] if k < len(pushers) else None)
    return direct


def _pushers(instructions: list[Instruction], queue: TokenQueue) -> list[int]:
    forward = queue in (TokenQueue.LOAD_TO_COMPUTE, TokenQueue.COMPUTE_TO_STORE)
    sender = {
        TokenQueue.LOAD_TO_COMPUTE: Unit.LOAD,
        TokenQueue.COMPUTE_TO_LOAD: Unit.COMPUTE,
        TokenQueue.COMPUTE_TO_STORE: Unit.COMPUTE,
        TokenQueue.STORE_TO_COMPUTE: Unit.STORE,
    }[queue]
    return [
        at
        for at, one in enumerate(instructions)
        if unit_of(one) is sender and (one.tokens.push_next if forward else one.tokens.push_prev)
    ]


def _poppers(instructions: list[Instruction], queue: TokenQueue) -> list[int]:
    forward = queue in (TokenQueue.LOAD_TO_COMPUTE, TokenQueue.COMPUTE_TO_STORE)
    receiver = {
        TokenQueue.LOAD_TO_COMPUTE: Unit.COMPUTE,
        TokenQueue.COMPUTE_TO_LOAD: Unit.LOAD,
        TokenQueue.COMPUTE_TO_STORE: Unit.STORE,
        TokenQueue.STORE_TO_COMPUTE: Unit.COMPUTE,
    }[queue]
    return [
        at
        for at, one in enumerate(instructions)
        if unit_of(one) is receiver and (one.tokens.pop_prev if forward else one.tokens.pop_next)
    ]
