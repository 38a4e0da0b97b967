from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.lower.accelerator.commands import Command, Compute, Copy, Kernel, Loop, Origin
from compiler.lower.accelerator.residency import KernelStore, Resident, keep_kernels
from hw.config_files import load_config
from hw.memories import MemoryId

TINY = load_config("tiny")
DEPTH = 64
DRAM = 1000


def kernel(name: int, size: int) -> Kernel:
    return Kernel((name,) * size, tuple(range(size)), (0,) * size)


def use(which: Kernel, operator: str = "op") -> Compute:
    return Compute(kernel=which, outer=Loop(1), inner=Loop(1), origin=Origin(operator, "stage"))


LOAD = Copy(
    memory=MemoryId.INP, sram=0, dram=0, rows=1, columns=1, stride=0, origin=Origin("op", "A")
)


def loads(residents: list[Resident]) -> list[tuple[int, int, int]]:
    """Where micro-ops go on chip, where they come from and how many; -1 for other commands."""
    found = []
    for each in residents:
        command = each.command
        if isinstance(command, Copy) and command.memory is MemoryId.UOP:
            assert (command.rows, command.stride, any(command.pads)) == (1, 0, False)
            assert command.origin.stage == "micro-ops"
            found.append((command.sram, command.dram - DRAM, command.columns))
        else:
            found.append((-1, -1, -1))
    return found


@settings(max_examples=80)
@given(st.randoms(use_true_random=False))
def test_every_command_finds_its_kernel(rng: random.Random) -> None:
    """The micro-op memory is simulated: it starts with junk, and its size is never exceeded."""
    kernels = [kernel(name, rng.choice((1, 2, 5, 20, 33, 64))) for name in range(rng.randint(1, 8))]
    operators = ("first", "second", "third")
    commands: list[Command] = [
        LOAD
        if rng.random() < 0.2
        else use(rng.choice(kernels), operators[at * len(operators) // 30])
        for at in range(30)
    ]
    store = KernelStore()
    residents = list(keep_kernels(commands, store, TINY, DRAM))
    dram = [op for each in store.kernels for op in zip(each.dst, each.src, each.wgt, strict=True)]
    assert store.size == len(dram)
    assert len(store.kernels) == len(
        {each.kernel for each in commands if isinstance(each, Compute)}
    )
    memory: list[tuple[int, int, int] | None] = [None] * DEPTH
    done = []
    for resident in residents:
        command = resident.command
        if isinstance(command, Copy) and command.memory is MemoryId.UOP:
            first = command.dram - DRAM
            assert 0 <= first <= first + command.columns <= len(dram)
            assert command.sram + command.columns <= DEPTH
            memory[command.sram : command.sram + command.columns] = dram[
                first : first + command.columns
            ]
            continue
        done.append(command)
        if isinstance(command, Compute):
            mine = command.kernel
            there = memory[resident.uop : resident.uop + len(mine)]
            assert there == list(zip(mine.dst, mine.src, mine.wgt, strict=True))
    assert done == commands


def test_an_operators_kernels_come_in_one_load_with_the_first() -> None:
    a, b, c = kernel(0, 10), kernel(1, 20), kernel(2, 30)
    commands: list[Command] = [LOAD, use(a), use(b), LOAD, use(a), use(c)]
    residents = list(keep_kernels(commands, KernelStore(), TINY, DRAM))
    other = (-1, -1, -1)
    assert loads(residents) == [other, (0, 0, 60), *[other] * 5]
    assert [each.uop for each in residents if isinstance(each.command, Compute)] == [0, 10, 0, 30]


def test_the_next_operators_kernels_wait_for_it() -> None:
    a, b = kernel(0, 10), kernel(1, 20)
    residents = list(keep_kernels([use(a), use(b, "next")], KernelStore(), TINY, DRAM))
    other = (-1, -1, -1)
    assert loads(residents) == [(0, 0, 10), other, (10, 10, 20), other]


def test_equal_kernels_lie_once() -> None:
    store = KernelStore()
    residents = list(
        keep_kernels([use(kernel(0, 9)), use(kernel(0, 9), "next")], store, TINY, DRAM)
    )
    assert store.size == 9
    assert [each.uop for each in residents] == [0, 0, 0]
    assert len(loads(residents)) == 3


def test_the_least_recently_used_goes_first() -> None:
    """`b` goes, though `a` came before it: `a` was used again."""
    a, b, c = kernel(0, 30), kernel(1, 20), kernel(2, 25)
    names = ("1", "2", "3", "4", "5", "6")
    commands = [use(each, name) for each, name in zip((a, b, a, c, a, b), names, strict=True)]
    residents = list(keep_kernels(commands, KernelStore(), TINY, DRAM))
    other = (-1, -1, -1)
    assert loads(residents) == [
        (0, 0, 30),
        other,
        (30, 30, 20),
        other,
        other,
        (30, 50, 25),
        other,
        other,
        (30, 30, 20),
        other,
    ]


def test_what_has_no_room_beside_what_is_needed_sooner_comes_later() -> None:
    a, b, c = kernel(0, 8), kernel(1, 40), kernel(2, 50)
    residents = list(keep_kernels([use(a), use(b), use(c)], KernelStore(), TINY, DRAM))
    other = (-1, -1, -1)
    assert loads(residents) == [(0, 0, 48), other, other, (0, 48, 50), other]


@pytest.mark.parametrize("sizes", [(64,), (1,) * 64])
def test_a_full_memory_is_enough(sizes: tuple[int, ...]) -> None:
    kernels = [kernel(name, size) for name, size in enumerate(sizes)]
    commands = [use(each) for each in (*kernels, *kernels)]
    residents = list(keep_kernels(commands, KernelStore(), TINY, DRAM))
    assert [each for each in loads(residents) if each[0] >= 0] == [(0, 0, 64)]
