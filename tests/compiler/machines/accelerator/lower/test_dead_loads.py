from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.machines.accelerator.lower.command_pass import CommandContext
from tandem.compiler.machines.accelerator.lower.commands import (
    Command,
    Commands,
    Compute,
    Copy,
    Kernel,
    Loop,
)
from tandem.compiler.machines.accelerator.lower.dead_loads import DropUnusedLoads
from tandem.hw.config_files import load_config
from tandem.hw.topology import MemoryId
from tests.support.compiler.machines.accelerator.lower.command_columns import columns_of
from tests.support.compiler.machines.accelerator.lower.command_machine import CommandMachine
from tests.support.compiler.machines.accelerator.lower.random_commands import random_commands

TINY = load_config("tiny")


def columns(commands: Sequence[Command]) -> Commands:
    """As columns, with their numbers as places of origin."""
    return replace(columns_of(commands), sites=tuple((str(at), ()) for at in range(len(commands))))


def originals(commands: Sequence[Command], found: Commands) -> list[Command]:
    """The very objects that are left."""
    kept = [commands[int(stage)] for stage, _ in found.sites]
    assert list(found) == kept
    return kept


def dropped(commands: Sequence[Command]) -> list[Command]:
    found = columns(commands)
    return originals(commands, DropUnusedLoads().apply(found, CommandContext(TINY)))


def load(sram: int, columns: int, memory: MemoryId = MemoryId.INP) -> Copy:
    return Copy(memory=memory, sram=sram, dram=0, rows=1, columns=columns, stride=0)


def gemm(dst: int, src: int, *, reset: bool = False) -> Compute:
    return Compute(
        kernel=Kernel((dst,), (src,), (0,)),
        outer=Loop(1),
        inner=Loop(1),
        reset=reset,
    )


def store(sram: int) -> Copy:
    return load(sram, 1, MemoryId.OUT)


def stored(
    commands: list[Command], dram: npt.NDArray[np.uint8], seed: int
) -> npt.NDArray[np.uint8]:
    """What is left in DRAM. On-chip memory starts with junk that depends on the seed."""
    machine = CommandMachine(TINY, dram, seed)
    machine.run(commands)
    return machine.dram


def defined(rng: random.Random, count: int) -> list[Command]:
    """Random commands after loads of everything, so that no junk is used."""
    first: list[Command] = [
        Copy(
            memory=memory,
            sram=0,
            dram=0,
            rows=1,
            columns=TINY.depth(memory),
            stride=0,
        )
        for memory in (MemoryId.INP, MemoryId.WGT, MemoryId.ACC)
    ]
    return first + random_commands(rng, TINY, count, range(512), range(512, 1024))


@settings(max_examples=80)
@given(st.randoms(use_true_random=False))
def test_results_stay(rng: random.Random) -> None:
    """What is stored is the same without unused loads."""
    dram = np.random.default_rng(rng.randint(0, 99)).integers(0, 256, 1024).astype(np.uint8)
    commands = defined(rng, 25)
    wanted = stored(commands, dram, 0)
    np.testing.assert_array_equal(stored(dropped(commands), dram, 1), wanted)


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_what_is_dropped_are_loads_of_which_nothing_is_read(rng: random.Random) -> None:
    """Commands stay in their order; no load that is left could go: its elements are used."""
    commands = defined(rng, 15)
    left = dropped(commands)
    iterator = iter(commands)
    assert all(any(each is other for other in iterator) for each in left)
    gone = [each for each in commands if not any(each is other for other in left)]
    assert all(isinstance(each, Copy) and each.memory is not MemoryId.OUT for each in gone)
    assert dropped(left) == left


def test_a_load_that_is_overwritten_goes() -> None:
    first, second, use = load(0, 4), load(0, 4), gemm(0, 2)
    kept = dropped([first, second, use, load(0, 1)])
    assert [id(each) for each in kept] == [id(second), id(use)]


def test_a_load_that_is_overwritten_in_part_stays() -> None:
    commands: list[Command] = [load(0, 4), load(0, 3), gemm(0, 0), gemm(0, 3)]
    assert dropped(commands) == commands


def test_a_load_of_accumulators_that_are_reset_goes() -> None:
    reset, out = gemm(3, 0, reset=True), store(3)
    found = dropped([load(3, 1, MemoryId.ACC), reset, out])
    assert found == [reset, out]


def test_loads_of_micro_ops_stay() -> None:
    commands: list[Command] = [load(0, 4, MemoryId.UOP)]
    assert dropped(commands) == commands
