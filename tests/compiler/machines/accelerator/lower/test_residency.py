from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.machines.accelerator.lower.commands import Kernel
from tandem.compiler.machines.accelerator.lower.residency import (
    KernelStore,
    Residency,
    load_kernels,
)
from tandem.hw.config_files import load_config
from tandem.hw.topology import MemoryId

TINY = load_config("tiny")
DEPTH = 64
DRAM = 1000


def kernel(name: int, size: int) -> Kernel:
    return Kernel((name,) * size, tuple(range(size)), (0,) * size)


Uses: TypeAlias = Sequence[tuple[Kernel | None, str]]
"""For each command its kernel, None for a copy, and its operator."""


def residency(uses: Uses, store: KernelStore) -> Residency:
    numbers = dict[Kernel, int]()
    kernels = [-1 if each is None else numbers.setdefault(each, len(numbers)) for each, _ in uses]
    operators = {name: at for at, name in enumerate(dict.fromkeys(name for _, name in uses))}
    return load_kernels(
        np.array(kernels, np.int64),
        np.array([operators[name] for _, name in uses], np.int64),
        tuple(numbers),
        store,
        TINY,
        DRAM,
    )


def uses(*kernels: Kernel | None, operator: str = "op") -> Uses:
    return [(each, operator) for each in kernels]


def loads(found: Residency) -> list[tuple[int, int, int, int]]:
    """In front of which command micro-ops come, where they go on chip, where they come from and
    how many."""
    for _, load in found.loads:
        assert (load.memory, load.rows, load.stride) == (MemoryId.UOP, 1, 0)
        assert not any(load.pads)
    return [(at, load.sram, load.dram - DRAM, load.columns) for at, load in found.loads]


@settings(max_examples=80)
@given(st.randoms(use_true_random=False))
def test_every_command_finds_its_kernel(rng: random.Random) -> None:
    """The micro-op memory is simulated: it starts with junk, and its size is never exceeded."""
    kernels = [kernel(name, rng.choice((1, 2, 5, 20, 33, 64))) for name in range(rng.randint(1, 8))]
    operators = ("first", "second", "third")
    commands = [
        (
            None if rng.random() < 0.2 else rng.choice(kernels),
            operators[at * len(operators) // 30],
        )
        for at in range(30)
    ]
    store = KernelStore()
    found = residency(commands, store)
    dram = [op for each in store.kernels for op in zip(each.dst, each.src, each.wgt, strict=True)]
    assert store.size == len(dram)
    assert set(store.kernels) == {each for each, _ in commands if each is not None}
    memory: list[tuple[int, int, int] | None] = [None] * DEPTH
    assert [at for at, *_ in loads(found)] == sorted(at for at, *_ in loads(found))
    for position, (mine, _) in enumerate(commands):
        for at, sram, first, size in loads(found):
            if at == position:
                assert 0 <= first <= first + size <= len(dram)
                assert sram + size <= DEPTH
                memory[sram : sram + size] = dram[first : first + size]
        begin = int(found.uop[position])
        if mine is None:
            assert begin == 0
        else:
            there = memory[begin : begin + len(mine)]
            assert there == list(zip(mine.dst, mine.src, mine.wgt, strict=True))


def test_an_operators_kernels_come_in_one_load_with_the_first() -> None:
    a, b, c = kernel(0, 10), kernel(1, 20), kernel(2, 30)
    found = residency(uses(None, a, b, None, a, c), KernelStore())
    assert loads(found) == [(1, 0, 0, 60)]
    assert found.uop.tolist() == [0, 0, 10, 0, 0, 30]


def test_the_next_operators_kernels_wait_for_it() -> None:
    a, b = kernel(0, 10), kernel(1, 20)
    found = residency([(a, "op"), (b, "next")], KernelStore())
    assert loads(found) == [(0, 0, 0, 10), (1, 10, 10, 20)]


def test_equal_kernels_lie_once() -> None:
    store = KernelStore()
    found = residency([(kernel(0, 9), "op"), (kernel(0, 9), "next")], store)
    assert store.size == 9
    assert found.uop.tolist() == [0, 0]
    assert loads(found) == [(0, 0, 0, 9)]


def test_the_least_recently_used_goes_first() -> None:
    """`b` goes, though `a` came before it: `a` was used again."""
    a, b, c = kernel(0, 30), kernel(1, 20), kernel(2, 25)
    commands = [(each, str(at)) for at, each in enumerate((a, b, a, c, a, b))]
    assert loads(residency(commands, KernelStore())) == [
        (0, 0, 0, 30),
        (1, 30, 30, 20),
        (3, 30, 50, 25),
        (5, 30, 30, 20),
    ]


def test_what_has_no_room_beside_what_is_needed_sooner_comes_later() -> None:
    a, b, c = kernel(0, 8), kernel(1, 40), kernel(2, 50)
    found = residency(uses(a, b, c), KernelStore())
    assert loads(found) == [(0, 0, 0, 48), (2, 0, 48, 50)]


@pytest.mark.parametrize("sizes", [(64,), (1,) * 64])
def test_a_full_memory_is_enough(sizes: tuple[int, ...]) -> None:
    kernels = [kernel(name, size) for name, size in enumerate(sizes)]
    assert loads(residency(uses(*kernels, *kernels), KernelStore())) == [(0, 0, 0, 64)]
