"""Loops over columns of commands, against sets of elements, on small memories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.machines.accelerator.lower.commands import Ints
from tandem.compiler.machines.accelerator.lower.compiled import (
    NO_COMMAND,
    Flags,
    fresh_loads,
    requantised_read,
    runs_of,
    unwritten_read,
    used_loads,
)

SIZE = 9
"""Elements on chip."""
SEEDS = st.integers(0, 2**32 - 1)


@dataclass(frozen=True)
class Prototype:
    """What a command reads and writes, in elements; and whether what it writes depends on that."""

    reads: frozenset[int]
    writes: frozenset[int]
    keeps: bool = False
    load: bool = False

    @property
    def needs(self) -> frozenset[int]:
        return self.reads | (self.writes if self.keeps else frozenset())

    def runs(self) -> list[tuple[int, int, int]]:
        """Each run by itself; writes first, or last."""
        return [
            (low, past, written)
            for elements, written in ((self.writes, 1), (self.reads, 0))
            for low, past in runs(elements)
        ]


def runs(elements: frozenset[int]) -> list[tuple[int, int]]:
    lows = sorted(each for each in elements if each - 1 not in elements)
    return [(low, next(at for at in range(low, 99) if at not in elements)) for low in lows]


@dataclass(frozen=True)
class Columns:
    """Commands as columns: prototypes, and the prototype of each command."""

    prototypes: list[Prototype]
    which: Ints
    dram: Ints

    @property
    def commands(self) -> list[Prototype]:
        return [self.prototypes[each] for each in self.which]

    @property
    def first(self) -> Ints:
        return np.cumsum([0, *(len(each.runs()) for each in self.prototypes)]).astype(np.int64)

    @property
    def runs(self) -> Ints:
        flat = [run for each in self.prototypes for run in each.runs()]
        return np.array(flat, np.int64).reshape(-1, 3)

    @property
    def keeps(self) -> Ints:
        return np.array([each.keeps for each in self.prototypes], np.int64)

    @property
    def loads(self) -> Flags:
        return np.array([each.load for each in self.prototypes], np.bool_)


def drawn(seed: int, commands: int = 14) -> Columns:
    """Loads of a few elements next to each other, and computes that read and write some."""
    rng = np.random.default_rng(seed)
    prototypes = []
    for _ in range(int(rng.integers(2, 7))):
        if rng.random() < 0.5:
            low = int(rng.integers(0, SIZE - 3))
            written = frozenset(range(low, low + int(rng.integers(1, 4))))
            prototypes.append(Prototype(frozenset(), written, load=True))
            continue
        reads, writes = (
            frozenset(rng.choice(SIZE, int(rng.integers(0, 4)), replace=False).tolist())
            for _ in range(2)
        )
        prototypes.append(Prototype(reads, writes, keeps=bool(rng.random() < 0.4)))
    which = rng.integers(0, len(prototypes), commands)
    return Columns(prototypes, which.astype(np.int64), rng.integers(0, 2, commands))


# Runs of an operand ---------------------------------------------------------------------------


@settings(max_examples=150)
@given(
    kernel=st.lists(st.integers(0, 6), min_size=1, max_size=4),
    outer=st.tuples(st.integers(1, 3), st.integers(-5, 5)),
    inner=st.tuples(st.integers(1, 3), st.integers(-5, 5)),
    begin=st.integers(0, 25),
)
def test_runs_of(
    kernel: list[int], outer: tuple[int, int], inner: tuple[int, int], begin: int
) -> None:
    elements = frozenset(
        begin + first * outer[1] + second * inner[1] + index
        for first in range(outer[0])
        for second in range(inner[0])
        for index in kernel
    )
    indices = np.array(kernel, np.int64)
    # Memories that end with the last element; those that are one too short, or begin too late.
    used = np.zeros(max(elements) + 1, np.bool_)
    if min(elements) < 0:
        with pytest.raises(IndexError, match=r"^an operand lies beyond the memories$"):
            runs_of(indices, *outer, *inner, begin, used)
        return
    for _ in range(2):
        found = runs_of(indices, *outer, *inner, begin, used)
        assert [*map(tuple, found.tolist())] == runs(elements)
        assert not used.any()
    with pytest.raises(IndexError, match=r"^an operand lies beyond the memories$"):
        runs_of(indices, *outer, *inner, begin, used[:-1])


# Whole programs -------------------------------------------------------------------------------


@settings(max_examples=80)
@given(SEEDS)
def test_unwritten_read(seed: int) -> None:
    columns = drawn(seed)
    written, wanted = set[int](), (NO_COMMAND, NO_COMMAND)
    for position, command in enumerate(columns.commands):
        missing = sorted(command.needs - written)
        if missing:
            # Of several runs, what is written comes first, if it is read.
            ordered = [*sorted(command.writes - written if command.keeps else []), *missing]
            wanted = position, ordered[0]
            break
        written |= command.writes
    args = columns.which, columns.first, columns.runs, columns.keeps
    assert unwritten_read(*args, SIZE) == wanted


def test_nothing_is_read_unwritten() -> None:
    whole = Prototype(frozenset(), frozenset(range(SIZE)), load=True)
    user = Prototype(frozenset({2, SIZE - 1}), frozenset({0}), keeps=True)
    columns = Columns([user, whole], np.array([1, 0, 0]), np.zeros(3, np.int64))
    args = columns.first, columns.runs, columns.keeps
    assert unwritten_read(columns.which, *args, SIZE) == (NO_COMMAND, NO_COMMAND)
    assert unwritten_read(np.array([0, 1]), *args, SIZE) == (0, 0)


@settings(max_examples=120)
@given(SEEDS)
def test_used_loads(seed: int) -> None:
    """A load is used if what comes next to one of its elements, of all that is kept, reads it."""
    columns = drawn(seed)
    commands = columns.commands
    kept = [True] * len(commands)
    for position in reversed(range(len(commands))):
        if commands[position].load:
            after = [each for at, each in enumerate(commands) if at > position and kept[at]]
            nexts = (
                next((each for each in after if at in each.needs | each.writes), None)
                for at in commands[position].writes
            )
            read = zip(commands[position].writes, nexts, strict=True)
            kept[position] = any(each is not None and at in each.needs for at, each in read)
    args = columns.which, columns.loads, columns.first, columns.runs, columns.keeps
    assert used_loads(*args, SIZE).tolist() == kept


@settings(max_examples=120)
@given(SEEDS)
def test_fresh_loads(seed: int) -> None:
    """What a load brings is its prototype and address; what others write is like nothing else."""
    columns = drawn(seed, 20)
    contents: dict[int, object] = {}
    kept = []
    for position, command in enumerate(columns.commands):
        brought = columns.which[position], columns.dram[position]
        content = brought if command.load else position
        same = command.load and all(contents.get(at) == content for at in command.writes)
        kept.append(not same)
        contents.update(dict.fromkeys(command.writes, content))
    args = columns.which, columns.dram, columns.loads, columns.first, columns.runs
    assert fresh_loads(*args, SIZE).tolist() == kept


@settings(max_examples=150)
@given(SEEDS)
def test_requantised_read(seed: int) -> None:
    """Of accumulators, which are some of the elements; of what computes."""
    columns = drawn(seed)
    rng = np.random.default_rng([seed, 1])
    begin = int(rng.integers(0, 3))
    end = int(rng.integers(begin + 1, SIZE + 1))
    inside = frozenset(range(begin, end))
    # Runs are of accumulators or of another memory, none is of two.
    prototypes = [
        Prototype(
            _within(one.reads, begin, end, rng), _within(one.writes, begin, end, rng), one.keeps
        )
        for one in columns.prototypes
    ]
    columns = Columns(prototypes, columns.which, columns.dram)
    writes, requantises = (rng.random(len(prototypes)) < share for share in (0.8, 0.5))
    maker, wanted = dict[int, int](), (NO_COMMAND, NO_COMMAND, 0)
    for position, command in enumerate(columns.commands):
        prototype = columns.which[position]
        if not writes[prototype]:
            continue
        met = sorted(command.needs & inside & {*maker})
        if met:
            wanted = position, maker[met[0]], len(met)
            break
        for at in command.writes & inside:
            maker.pop(at, None)
            if requantises[prototype]:
                maker[at] = position
    found = requantised_read(
        columns.which, writes, requantises, columns.first, columns.runs, columns.keeps, begin, end
    )
    assert found == wanted


def _within(
    elements: frozenset[int], begin: int, end: int, rng: np.random.Generator
) -> frozenset[int]:
    if rng.random() < 0.7:
        return frozenset(each for each in elements if begin <= each < end)
    below = frozenset(each for each in elements if each < begin)
    above = frozenset(each for each in elements if each >= end)
    return below if rng.random() < 0.5 else above
