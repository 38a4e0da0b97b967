from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.machines.accelerator.lower.commands import (
    Command,
    Compute,
    Copy,
    Kernel,
    Loop,
    unit_of_command,
)
from tandem.compiler.machines.accelerator.lower.footprints import Footprints
from tandem.compiler.machines.accelerator.lower.tokens import NO_COMMAND, await_stores, place_tokens
from tandem.hw.config_files import load_config
from tandem.hw.topology import MemoryId, Unit
from tests.support.compiler.machines.accelerator.lower.command_columns import columns_of
from tests.support.compiler.machines.accelerator.lower.command_machine import Location, accessed
from tests.support.compiler.machines.accelerator.lower.random_commands import random_commands

TINY = load_config("tiny")
DRAM_BYTES = 1024
PAIRS = (
    (Unit.LOAD, Unit.COMPUTE),
    (Unit.COMPUTE, Unit.LOAD),
    (Unit.COMPUTE, Unit.STORE),
    (Unit.STORE, Unit.COMPUTE),
)
"""Producers and consumers of tokens."""


@dataclass(frozen=True)
class Slot:
    """A place of the stream by itself; without a command it is an empty one."""

    what: Command | None
    unit: Unit
    pops: set[Unit]
    pushes: set[Unit]


def placed(commands: list[Command], *, end: bool = False) -> list[Slot]:
    """The stream of some commands; with `end`, up to FINISH."""
    columns = columns_of(commands)
    footprints = Footprints.of(columns.prototypes, TINY)
    found = place_tokens(columns, footprints, TINY, DRAM_BYTES)
    if end:
        found = await_stores(found)
    slots = [
        Slot(
            None if at == NO_COMMAND else commands[at],
            Unit(found.unit[place]),
            found.pops(place),
            found.pushes(place),
        )
        for place, at in enumerate(found.command.tolist())
    ]
    assert [at for at in found.command.tolist() if at != NO_COMMAND] == list(range(len(commands)))
    for slot in slots:
        assert slot.what is None or slot.unit is unit_of_command(slot.what)
        assert slot.what is not None or slot.unit is Unit.COMPUTE
    return slots


def dependences(slots: list[Slot]) -> list[tuple[int, int]]:
    """Pairs of slots that touch something in common, one of them writing."""
    found = [
        (set[Location](), set[Location]()) if slot.what is None else accessed(slot.what, TINY)
        for slot in slots
    ]
    pairs = []
    for one, other in combinations(range(len(slots)), 2):
        (reads, writes), (later_reads, later_writes) = found[one], found[other]
        if writes & (later_reads | later_writes) or reads & later_writes:
            pairs.append((one, other))
    return pairs


def matched(slots: list[Slot]) -> dict[tuple[Unit, Unit], list[tuple[int, int]]]:
    """For each pair of units, its tokens: who gives it, and who takes it."""
    found = {}
    for producer, consumer in PAIRS:
        gives = [
            at for at, slot in enumerate(slots) if slot.unit is producer and consumer in slot.pushes
        ]
        takes = [
            at for at, slot in enumerate(slots) if slot.unit is consumer and producer in slot.pops
        ]
        assert len(gives) == len(takes), f"tokens from {producer.name} to {consumer.name}"
        found[producer, consumer] = list(zip(gives, takes, strict=True))
    flags = sum(len(each.pops) + len(each.pushes) for each in slots)
    assert flags == 2 * sum(map(len, found.values())), "load and store are no neighbours"
    return found


def before(slots: list[Slot], without: tuple[int, int] | None = None) -> list[set[int]]:
    """For each slot, all that is done when it starts: its own queue's, and what tokens tell.

    `without`: but for one of them.
    """
    closed: list[set[int]] = [set() for _ in slots]
    waits: list[list[int]] = [[] for _ in slots]
    for tokens in matched(slots).values():
        for gives, takes in tokens:
            if (gives, takes) != without:
                waits[takes].append(gives)
    last: dict[Unit, int] = {}
    for at, slot in enumerate(slots):
        direct = list(waits[at])
        if slot.unit in last:
            direct.append(last[slot.unit])
        last[slot.unit] = at
        for before in direct:
            assert before < at
            closed[at] |= {before} | closed[before]
    return closed


def runs_to_its_end(slots: list[Slot]) -> bool:
    """Three queues, each in order, and counters of tokens."""
    queues = {unit: [each for each in slots if each.unit is unit] for unit in reversed(Unit)}
    tokens = Counter[tuple[Unit, Unit]]()
    moved = True
    while moved:
        moved = False
        for unit, queue in queues.items():
            while queue and all(tokens[other, unit] for other in queue[0].pops):
                slot = queue.pop(0)
                for other in slot.pops:
                    tokens[other, unit] -= 1
                for other in slot.pushes:
                    tokens[unit, other] += 1
                moved = True
    return not any(queues.values()) and not any(tokens.values())


COMMON = range(256), range(128, 384)
"""LOADs read where STOREs write."""
APART = range(512), range(512, 1024)


@settings(max_examples=120)
@given(st.randoms(use_true_random=False), st.sampled_from((COMMON, APART)))
def test_all_that_meets_is_in_order(rng: random.Random, dram: tuple[range, range]) -> None:
    slots = placed(random_commands(rng, TINY, 16, *dram))
    closed = before(slots)
    for one, other in dependences(slots):
        if slots[one].unit is not slots[other].unit:
            assert one in closed[other], (str(slots[one]), str(slots[other]))
    assert runs_to_its_end(slots)


@settings(max_examples=120)
@given(st.randoms(use_true_random=False))
def test_there_is_no_token_more_than_needed(rng: random.Random) -> None:
    """Where load and store have nothing to do with each other: a command takes one if and only if
    what it needs is later than all that its unit has waited for; and the one it needs gives it.
    """
    slots = placed(random_commands(rng, TINY, 16, *APART))
    assert all(each.what is not None for each in slots)
    pairs = dependences(slots)
    tokens = matched(slots)
    for producer, consumer in PAIRS:
        latest, wanted = -1, []
        for at, slot in enumerate(slots):
            if slot.unit is not consumer:
                continue
            needed = [one for one, other in pairs if other == at and slots[one].unit is producer]
            if needed and max(needed) > latest:
                latest = max(needed)
                wanted.append((latest, at))
        assert tokens[producer, consumer] == wanted


@settings(max_examples=60)
@given(st.randoms(use_true_random=False), st.sampled_from((COMMON, APART)))
def test_no_token_tells_what_others_tell(rng: random.Random, dram: tuple[range, range]) -> None:
    slots = placed(random_commands(rng, TINY, 16, *dram))
    for tokens in matched(slots).values():
        for gives, takes in tokens:
            assert gives not in before(slots, (gives, takes))[takes]


@settings(max_examples=80)
@given(st.randoms(use_true_random=False))
def test_no_more_waits_than_meetings_of_load_and_store(rng: random.Random) -> None:
    """An empty command only where no other of compute could pass a token on."""
    slots = placed(random_commands(rng, TINY, 16, *COMMON))
    meetings = {
        other
        for one, other in dependences(slots)
        if {slots[one].unit, slots[other].unit} == {Unit.LOAD, Unit.STORE}
    }
    empty = [at for at, each in enumerate(slots) if each.what is None]
    assert len(empty) <= len(meetings)
    for at in empty:
        # One that passes tokens on both ways stands for two.
        assert slots[at].pops
        assert slots[at].pushes
        assert slots[at].pops | slots[at].pushes == {Unit.LOAD, Unit.STORE}


def copy(memory: MemoryId, sram: int, dram: int, columns: int = 1) -> Copy:
    return Copy(
        memory=memory,
        sram=sram,
        dram=dram // TINY.element_bytes(memory),
        rows=1,
        columns=columns,
        stride=0,
    )


def load(sram: int, dram: int = 0, columns: int = 1) -> Copy:
    return copy(MemoryId.INP, sram, dram, columns)


def store(sram: int, dram: int = 512) -> Copy:
    return copy(MemoryId.OUT, sram, dram)


def gemm(dst: int, src: int) -> Compute:
    return Compute(kernel=Kernel((dst,), (src,), (0,)), outer=Loop(1), inner=Loop(1))


def shown(slots: list[Slot]) -> str:
    def line(slot: Slot) -> str:
        pops = "".join(f" <{each.name.lower()}" for each in sorted(slot.pops))
        pushes = "".join(f" >{each.name.lower()}" for each in sorted(slot.pushes))
        return ("" if slot.what else "empty ") + slot.unit.name.lower() + pops + pushes

    return "\n".join(map(line, slots))


def test_two_slices_take_turns() -> None:
    """Load into one while compute uses the other: a token there and back for each."""
    commands: list[Command] = []
    for iteration in range(3):
        at = iteration % 2
        commands += [load(at), gemm(at, at)]
    assert shown(placed([*commands, store(0), store(1, 516)])) == "\n".join(
        (
            "load >compute",
            "compute <load >load",
            "load >compute",
            "compute <load",
            "load <compute >compute",
            "compute <load >store",
            "store <compute",
            "store",
        )
    )


def test_one_token_covers_all_loads_before() -> None:
    loads: list[Command] = [load(0), load(1)]
    several = "load >compute\nload >compute\ncompute <load\ncompute <load"
    assert shown(placed([*loads, gemm(0, 0), gemm(0, 1)])) == several
    once = "load\nload >compute\ncompute <load\ncompute"
    assert shown(placed([*loads, gemm(0, 1), gemm(0, 0)])) == once


def test_a_region_is_not_written_before_it_is_stored() -> None:
    found = placed([load(0), gemm(3, 0), store(3), gemm(4, 0), gemm(3, 0)])
    assert shown(found).splitlines()[2:] == [
        "store <compute >compute",
        "compute",
        "compute <store",
    ]


def test_a_load_of_what_was_stored_waits_through_an_empty_command() -> None:
    assert shown(placed([store(3, 512), load(0, 512)])) == "\n".join(
        ("store >compute", "empty compute <store >load", "load <compute")
    )


def test_a_store_over_what_was_loaded_waits_through_one_that_it_waits_for_anyway() -> None:
    assert shown(placed([load(0, 512), gemm(3, 0), store(3, 512)])) == "\n".join(
        ("load >compute", "compute <load >store", "store <compute")
    )


def test_compute_between_passes_the_token_on() -> None:
    """The load waits for the GEMM, which reads what it overwrites; so the GEMM waits for the
    store too, and no empty command is needed."""
    found = shown(placed([load(0), store(3, 512), gemm(4, 0), load(0, 512)]))
    assert found == "\n".join(
        (
            "load >compute",
            "store >compute",
            "compute <load <store >load",
            "load <compute",
        )
    )


def test_what_lies_side_by_side_in_dram_is_apart() -> None:
    """Elements of 4 bytes; the second load reads those between the rows that are stored."""
    rows = Copy(memory=MemoryId.OUT, sram=0, dram=128, rows=3, columns=1, stride=2)
    apart = Copy(memory=MemoryId.INP, sram=0, dram=129, rows=2, columns=1, stride=2)
    over = Copy(memory=MemoryId.INP, sram=0, dram=129, rows=1, columns=2, stride=0)
    assert shown(placed([rows, apart])) == "store\nload"
    assert shown(placed([rows, over])).splitlines()[1] == "empty compute <store >load"


@pytest.mark.parametrize("columns", [1, 4])
def test_nothing_to_wait_for(columns: int) -> None:
    found = placed([load(0, 0, columns), load(4, 64, columns)])
    assert not any(each.pops or each.pushes for each in found)


@settings(max_examples=80)
@given(st.randoms(use_true_random=False), st.sampled_from((COMMON, APART)))
def test_every_store_is_done_before_the_end(rng: random.Random, dram: tuple[range, range]) -> None:
    """FINISH follows compute's last instruction. At most one instruction is added, at the end."""
    commands = random_commands(rng, TINY, 16, *dram)
    without, slots = placed(commands), placed(commands, end=True)
    stores = [at for at, slot in enumerate(slots) if slot.unit is Unit.STORE]
    finish = Slot(None, Unit.COMPUTE, set(), set())
    assert before([*slots, finish])[-1] >= {*stores}
    assert runs_to_its_end(slots)
    if len(slots) > len(without):
        last = stores[-1]
        pushing = replace(without[last], pushes=without[last].pushes | {Unit.COMPUTE})
        waiting = Slot(None, Unit.COMPUTE, {Unit.STORE}, set())
        assert slots == [*without[:last], pushing, *without[last + 1 :], waiting]
    else:
        assert slots == without
        assert not stores or Unit.COMPUTE in slots[stores[-1]].pushes


def test_without_a_store_nothing_waits_at_the_end() -> None:
    assert shown(placed([load(0), gemm(0, 0)], end=True)) == "load >compute\ncompute <load"


def test_the_end_waits_for_the_last_store_alone() -> None:
    found = placed([load(0), gemm(3, 0), store(3), store(3, 516)], end=True)
    assert shown(found) == "\n".join(
        (
            "load >compute",
            "compute <load >store",
            "store <compute",
            "store >compute",
            "empty compute <store",
        )
    )


def test_the_end_does_not_wait_twice() -> None:
    """Compute waits for the last STORE already, whose accumulator it overwrites."""
    found = placed([load(0), gemm(3, 0), store(3), gemm(3, 0)], end=True)
    assert shown(found).splitlines()[2:] == ["store <compute >compute", "compute <store"]


def test_prototypes_that_begin_elsewhere_in_dram_touch_that() -> None:
    """A load that is moved behind what is stored need not wait for it."""
    columns = columns_of([store(3, 512), load(0, 512)])
    for moved, empty in ((0, 1), (1, 0)):
        commands = replace(columns, dram=np.array([0, moved]))
        footprints = Footprints.of(columns.prototypes, TINY)
        found = place_tokens(commands, footprints, TINY, DRAM_BYTES)
        assert found.command.tolist().count(NO_COMMAND) == empty


def test_rows_that_touch_are_one_piece_and_rows_apart_are_not() -> None:
    """Steps of DRAM are as long as an input element; weights and accumulators are longer."""
    for stride, waits in ((4, True), (8, False)):
        rows = Copy(memory=MemoryId.INP, sram=0, dram=0, rows=2, columns=4, stride=stride)
        found = shown(placed([rows, store(3, 4 * 5)]))
        assert ("store <compute" in found) is waits
