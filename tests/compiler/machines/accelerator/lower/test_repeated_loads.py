"""Loads of what a memory holds already, and buffers in several slots."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.ir.parser import parse
from tandem.compiler.machines.accelerator.lower.command_pass import CommandContext
from tandem.compiler.machines.accelerator.lower.commands import ZEROS, Command, Copy
from tandem.compiler.machines.accelerator.lower.elaborate import elaborate
from tandem.compiler.machines.accelerator.lower.onchip import ChipMemory, footprint
from tandem.compiler.machines.accelerator.lower.repeated_loads import DropRepeatedLoads, takes_slots
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.hw.config_files import load_config
from tandem.hw.topology import MemoryId
from tests.support.compiler.machines.accelerator.lower.command_columns import columns_of
from tests.support.compiler.machines.accelerator.lower.command_machine import CommandMachine
from tests.support.compiler.machines.accelerator.lower.random_commands import random_copy

TINY = load_config("tiny")


def kept(*commands: Command) -> list[Command]:
    columns = columns_of(commands)
    return [*DropRepeatedLoads().apply(columns, CommandContext(TINY))]


def load(sram: int, dram: int, tensor: str = "data", memory: MemoryId = MemoryId.INP) -> Copy:
    return Copy(memory=memory, sram=sram, dram=dram, rows=1, columns=2, stride=0, tensor=tensor)


def test_what_is_there_is_not_loaded_again() -> None:
    first, other = load(0, 0), load(2, 0)
    assert kept(first, other, first, other) == [first, other]


def test_what_was_overwritten_in_part_is_loaded_again() -> None:
    first, over = load(0, 0), load(1, 8)
    assert kept(first, over, first, first) == [first, over, first]
    elsewhere = load(0, 0, memory=MemoryId.WGT)
    assert kept(first, elsewhere, first) == [first, elsewhere]


def test_what_changes_or_is_computed_is_loaded_again() -> None:
    stored = load(4, 0, "data", MemoryId.OUT)
    assert kept(load(0, 0), stored, load(0, 0)) == [load(0, 0), stored, load(0, 0)]
    for repeated in (load(0, 0, ZEROS), load(0, 0, memory=MemoryId.ACC)):
        assert kept(repeated, repeated) == [repeated, repeated]


def test_the_address_in_dram_counts() -> None:
    columns = columns_of([load(0, 0)] * 3)
    moved = replace(columns, dram=np.array([0, 4, 4]))
    found = DropRepeatedLoads().apply(moved, CommandContext(TINY))
    assert found.dram.tolist() == [0, 4]


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_memories_are_the_same(rng: random.Random) -> None:
    """Of few LOADs again and again; what is left leaves the same on chip."""
    several = [
        replace(random_copy(rng, TINY, memory, range(512)), tensor="data")
        for memory in (MemoryId.INP, MemoryId.WGT, MemoryId.ACC)
        for _ in range(2)
    ]
    commands = [rng.choice(several) for _ in range(20)]
    left = []
    for program in (commands, kept(*commands)):
        computer = CommandMachine(TINY, np.arange(512, dtype=np.uint16).astype(np.uint8), seed=1)
        computer.run(program)
        left.append((computer.inp, computer.wgt, computer.acc))
    for before, after in zip(*left, strict=True):
        np.testing.assert_array_equal(after, before)


PROGRAM = """\
func rotated(data: int8[6, 1, 4]) -> (unused: int8[1]):
  for i in 6:
    alloc part: int8[1, 4] @ inp in 3 slots
    for j in 1:
      for k in 4:
        part[j, k] = data[i, j, k]
"""


def test_lifetimes_take_slots_in_rotation() -> None:
    target, program = AcceleratorTarget.of(TINY), parse(PROGRAM)
    assert takes_slots(program)
    assert footprint(program, target) == {MemoryId.INP: 3}
    commands = [*elaborate(program, target, ChipMemory(TINY), 4096)]
    assert all(isinstance(each, Copy) for each in commands)
    places = [(each.sram, each.dram) for each in commands if isinstance(each, Copy)]
    assert places == [(0, 0), (1, 1), (2, 2), (0, 3), (1, 4), (2, 5)]
