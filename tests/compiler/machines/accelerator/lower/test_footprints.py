from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.machines.accelerator.lower.commands import Compute, Copy, Kernel, Loop, SetMode
from tandem.compiler.machines.accelerator.lower.footprints import (
    Footprints,
    chip_elements,
    first_element,
)
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId
from tests.support.compiler.machines.accelerator.lower.command_machine import Location, accessed
from tests.support.compiler.machines.accelerator.lower.random_commands import random_commands
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine

TINY = load_config("tiny")


def places(
    footprints: Footprints, at: int, *, written: bool, config: HardwareConfig = TINY
) -> set[Location]:
    found = set[Location]()
    for begin, end, writes in footprints.runs[footprints.first[at] : footprints.first[at + 1]]:
        assert begin < end
        if writes == written:
            (memory,) = (
                memory
                for memory in (MemoryId.INP, MemoryId.WGT, MemoryId.ACC, MemoryId.PAR)
                if 0 <= begin - first_element(memory, config) < config.depth(memory)
            )
            offset = first_element(memory, config)
            assert end - offset <= config.depth(memory)
            elements = {(memory.name.lower(), int(each) - offset) for each in range(begin, end)}
            assert not elements & found
            found |= elements
    return found


@settings(max_examples=60)
@given(st.randoms(use_true_random=False), st.sampled_from([TINY, machine("extended")]))
def test_footprints_are_what_is_touched(rng: random.Random, config: HardwareConfig) -> None:
    commands = random_commands(rng, config, 8, range(512), range(512, 1024))
    halves = (Footprints.of(part, config) for part in (commands[:3], commands[3:]))
    for found in (Footprints.of(commands, config), Footprints.joined(list(halves))):
        assert len(found.first) == len(commands) + 1
        for at, command in enumerate(commands):
            reads, writes = (
                {each for each in part if each[0] != "dram"} for part in accessed(command, config)
            )
            assert places(found, at, written=True, config=config) == writes
            # Accumulators that are changed are read too: `keeps` says so.
            kept = writes if found.keeps[at] else set()
            assert places(found, at, written=False, config=config) | kept == reads


def test_commands_that_differ_in_operands_have_footprints_of_their_own() -> None:
    kernel = Kernel((1,), (2,), (3,))

    def compute(op: AluOp | None, imm: int | None, reset: bool) -> Compute:
        return Compute(kernel=kernel, outer=Loop(1), inner=Loop(1), op=op, imm=imm, reset=reset)

    kinds = (
        compute(None, None, False),
        compute(None, None, True),
        compute(AluOp.ADD, None, False),
        compute(AluOp.ADD, 1, False),
    )
    found = Footprints.of(kinds, TINY)
    assert [places(found, at, written=False) for at in range(4)] == [
        {("inp", 2), ("wgt", 3)},
        set(),
        {("acc", 2)},
        set(),
    ]
    assert found.keeps.tolist() == [True, False, True, True]


def test_micro_ops_are_left_out() -> None:
    load = Copy(memory=MemoryId.UOP, sram=0, dram=0, rows=1, columns=4, stride=0)
    found = Footprints.of([load], TINY)
    assert (found.first.tolist(), len(found.runs)) == ([0, 0], 0)


def test_memories_lie_one_behind_the_other() -> None:
    wanted = {MemoryId.INP: 0, MemoryId.WGT: 32, MemoryId.ACC: 48, MemoryId.OUT: 48}
    assert {each: first_element(each, TINY) for each in wanted} == wanted
    assert chip_elements(TINY) == 80
    extended = machine("extended")
    without = extended.replace(features=frozenset())
    assert first_element(MemoryId.PAR, extended) == chip_elements(without)
    assert chip_elements(extended) == chip_elements(without) + extended.depth(MemoryId.PAR)


def test_modes_touch_nothing() -> None:
    found = Footprints.of([SetMode()], TINY)
    assert (found.first.tolist(), found.keeps.tolist()) == ([0, 0], [0])


@pytest.mark.parametrize(("first", "step"), [(200, 0), (2, 50), (10, -100)])
def test_operands_beyond_the_memories_are_refused(first: int, step: int) -> None:
    kernel = Kernel((first,), (0,), (0,))
    reset = Compute(kernel=kernel, outer=Loop(1), inner=Loop(2, step), reset=True)
    with pytest.raises(IndexError, match=r"^an operand lies beyond the memories$"):
        Footprints.of([reset], TINY)
