"""Placement of tokens, against the same rules with sets of what is done before what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.machines.accelerator.lower.compiled import NO_COMMAND
from tandem.compiler.machines.accelerator.lower.compiled_tokens import COMPUTE, LOAD, STORE, place

ELEMENTS, GRANULE, GRANULES = 6, 4, 8
SEEDS = st.integers(0, 2**32 - 1)
Token = tuple[int, int]


@dataclass(frozen=True)
class Command:
    """What a command reads and writes on chip; and in DRAM the first byte, rows, their stride and
    the bytes of each."""

    unit: int
    reads: frozenset[int] = frozenset()
    writes: frozenset[int] = frozenset()
    dram: tuple[int, int, int, int] = (0, 0, 0, 0)

    @property
    def granules(self) -> set[int]:
        first, rows, stride, size = self.dram
        return {
            byte // GRANULE
            for row in range(rows)
            for byte in range(first + row * stride, first + row * stride + size)
        }

    def meets(self, other: Command) -> bool:
        """Whether the order of two commands of different units matters."""
        if self.writes & (other.reads | other.writes) or self.reads & other.writes:
            return True
        return STORE in (self.unit, other.unit) and bool(self.granules & other.granules)


@dataclass
class Stream:
    """Instructions, and tokens from one to another.

    `commands`: the command of each instruction, or None of an empty one.
    """

    commands: list[Command | None] = field(default_factory=list)
    units: list[int] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)

    def before(self, position: int) -> set[int]:
        """All that is done when an instruction starts: what its unit did, and what tokens tell."""
        done: list[set[int]] = []
        for at in range(position + 1):
            direct = [each for each in range(at) if self.units[each] == self.units[at]][-1:]
            direct += [gives for gives, takes in self.tokens if takes == at]
            done.append(set(direct).union(*(done[each] for each in direct)))
        return done[position]

    def append(self, command: Command | None, unit: int) -> int:
        self.commands.append(command)
        self.units.append(unit)
        return len(self.units) - 1

    def wait(self, position: int, needed: int | None) -> None:
        """A token, unless others say the same."""
        if needed is not None and needed not in self.before(position):
            self.tokens.append((needed, position))

    def latest(self, command: Command, unit: int) -> int | None:
        """The last instruction of a unit whose order with a command matters."""
        return max(
            (
                at
                for at, one in enumerate(self.commands)
                if one is not None and one.unit == unit and one.meets(command)
            ),
            default=None,
        )

    def add(self, command: Command) -> None:
        """A command, behind all that it meets; load and store tell each other through compute."""
        needs = {unit: self.latest(command, unit) for unit in {LOAD, COMPUTE, STORE}}
        del needs[command.unit]
        if command.unit != COMPUTE:
            opposite = LOAD if command.unit == STORE else STORE
            needed, least = needs.pop(opposite), needs[COMPUTE]
            if needed is not None and not self.knows(command.unit, least, needed):
                relay = self.relay(needed, least, opposite)
                needs[COMPUTE] = relay if least is None else max(least, relay)
        position = self.append(command, command.unit)
        known = [each for each in needs.values() if each is not None]
        for at in sorted(known, reverse=True):
            self.wait(position, at)

    def knows(self, unit: int, least: int | None, needed: int) -> bool:
        """Whether a unit has heard of an instruction, or will when it has waited for `least`."""
        last = [at for at, each in enumerate(self.units) if each == unit][-1:]
        return any(needed in self.before(at) for at in (*last, *([] if least is None else [least])))

    def relay(self, needed: int, least: int | None, opposite: int) -> int:
        """The instruction of compute that passes on what `needed` tells: one that waits for it or a
        later one; else one that may wait; else an empty one."""
        waits = [
            (gives, takes)
            for gives, takes in self.tokens
            if self.units[gives] == opposite and self.units[takes] == COMPUTE
        ]
        for gives, takes in sorted(waits):
            if gives >= needed:
                return takes
        # Tokens are taken in the order in which they are given.
        begin = max(needed, *(takes for _, takes in waits), -1) + 1
        free = [at for at, unit in enumerate(self.units) if unit == COMPUTE]
        free = [at for at in free if least is not None and at >= max(least, begin)]
        relay = free[0] if free else self.append(None, COMPUTE)
        self.wait(relay, needed)
        return relay


def placed(commands: Sequence[Command]) -> tuple[list[int], list[int], list[list[int]]]:
    """What `place` makes of commands, each of which is its own prototype."""
    runs: list[tuple[int, int, int]] = []
    first = [0]
    for command in commands:
        for elements, written in ((command.reads, 0), (command.writes, 1)):
            lows = sorted(each for each in elements if each - 1 not in elements)
            ends = sorted(each + 1 for each in elements if each + 1 not in elements)
            runs += [(low, end, written) for low, end in zip(lows, ends, strict=True)]
        first.append(len(runs))
    found = place(
        np.arange(len(commands), dtype=np.int64),
        np.array([each.unit for each in commands], np.int64),
        np.array([each.dram for each in commands], np.int64).reshape(-1, 4),
        np.array(first, np.int64),
        np.array(runs, np.int64).reshape(-1, 3),
        ELEMENTS,
        GRANULES,
        GRANULE,
    )
    positions, units, tokens = (each.tolist() for each in found)
    return positions, units, tokens


def bits(stream: Stream) -> list[list[int]]:
    """By instruction the units that it pops a token from, and those that it pushes one to."""
    found = [[0, 0] for _ in stream.units]
    for gives, takes in stream.tokens:
        found[takes][0] |= 1 << stream.units[gives]
        found[gives][1] |= 1 << stream.units[takes]
    return found


def drawn(seed: int) -> list[Command]:
    """Loads and stores of a few bytes, and computes; on few elements."""
    rng = np.random.default_rng(seed)
    few = int(rng.integers(2, ELEMENTS + 1))

    def some(least: int) -> frozenset[int]:
        return frozenset(rng.choice(few, int(rng.integers(least, 3)), replace=False).tolist())

    def dram() -> tuple[int, int, int, int]:
        rows, stride, size = (int(rng.integers(low, 4)) for low in (1, 0, 1))
        reach = (rows - 1) * stride + size
        return int(rng.integers(0, GRANULE * GRANULES - reach + 1)), rows, stride, size

    found = []
    for unit in rng.choice([LOAD, COMPUTE, STORE], 14, p=rng.dirichlet((2, 2, 2))).tolist():
        if unit == LOAD:
            found.append(Command(LOAD, frozenset(), some(1), dram()))
        elif unit == STORE:
            found.append(Command(STORE, some(1), frozenset(), dram()))
        else:
            bytes_of = dram() if rng.random() < 0.2 else (0, 0, 0, 0)
            found.append(Command(COMPUTE, some(0), some(1), bytes_of))
    return found


@settings(max_examples=150)
@given(SEEDS)
def test_tokens(seed: int) -> None:
    commands, stream = drawn(seed), Stream()
    for command in commands:
        stream.add(command)
    positions, units, tokens = placed(commands)
    own = iter(range(len(commands)))
    assert positions == [NO_COMMAND if each is None else next(own) for each in stream.commands]
    assert units == stream.units
    assert tokens == bits(stream)


@settings(max_examples=40)
@given(SEEDS)
def test_what_meets_is_in_order(seed: int) -> None:
    """By tokens that are taken in the order in which they are given."""
    commands = drawn(seed)
    positions, units, tokens = placed(commands)
    stream = Stream([None if at == NO_COMMAND else commands[at] for at in positions], units)
    for giver, taker in ((LOAD, COMPUTE), (COMPUTE, LOAD), (STORE, COMPUTE), (COMPUTE, STORE)):
        gives = [
            at for at, unit in enumerate(units) if unit == giver and tokens[at][1] >> taker & 1
        ]
        takes = [
            at for at, unit in enumerate(units) if unit == taker and tokens[at][0] >> giver & 1
        ]
        stream.tokens += zip(gives, takes, strict=True)
    for one, other in combinations(range(len(units)), 2):
        first, second = stream.commands[one], stream.commands[other]
        if first and second and first.unit != second.unit and first.meets(second):
            assert one in stream.before(other)


def test_prototypes_are_shared_and_nothing_is_no_stream() -> None:
    """Two commands of one prototype, on bytes of their own."""
    load = Command(LOAD, frozenset(), frozenset({1}), (0, 1, 0, 4))
    alone = place(
        np.array([0, 0]),
        np.array([LOAD, STORE]),
        np.array([(0, 1, 0, 4), (4, 1, 0, 4)]),
        np.array([0, 0]),
        np.zeros((0, 3), np.int64),
        ELEMENTS,
        GRANULES,
        GRANULE,
    )
    assert [each.tolist() for each in alone] == [[0, 1], [LOAD, STORE], [[0, 0], [0, 0]]]
    # A byte that both have in their granule is enough, and the next granule is not.
    assert placed([load, Command(STORE, dram=(3, 1, 0, 1))])[0] == [0, NO_COMMAND, 1]
    assert placed([load, Command(STORE, dram=(4, 1, 0, 1))])[0] == [0, 1]
    assert placed([])[0] == []
    assert placed([load, replace(load, dram=(0, 0, 0, 0))])[2] == [[0, 0], [0, 0]]
