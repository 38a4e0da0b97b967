"""The order of compute's first commands."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.machines.accelerator.lower.command_pass import CommandContext
from tandem.compiler.machines.accelerator.lower.commands import Command, Compute, Copy, Kernel, Loop
from tandem.compiler.machines.accelerator.lower.start_order import StartEarly
from tandem.hw.config_files import load_config
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId
from tests.support.compiler.machines.accelerator.lower.command_columns import columns_of
from tests.support.compiler.machines.accelerator.lower.command_machine import CommandMachine
from tests.support.compiler.machines.accelerator.lower.random_commands import random_commands

TINY = load_config("tiny")


def ordered(*commands: Command) -> list[Command]:
    """The commands in their new order, which leave what they left before."""
    columns = columns_of(commands)
    found = [*StartEarly().apply(columns, CommandContext(TINY))]
    left = []
    for program in (commands, found):
        computer = CommandMachine(TINY, np.arange(1024, dtype=np.uint16).astype(np.uint8), seed=5)
        computer.run(program)
        left.append((computer.acc, computer.out, computer.inp, computer.wgt, computer.dram))
    for before, after in zip(*left, strict=True):
        np.testing.assert_array_equal(after, before)
    return found


def products(dst: int) -> Compute:
    return Compute(kernel=Kernel((dst,), (0,), (0,)), outer=Loop(1), inner=Loop(2, 1, 1))


def reset(dst: int) -> Compute:
    return replace(products(dst), reset=True)


def added(dst: int, operand: int) -> Compute:
    return replace(products(dst), kernel=Kernel((dst,), (operand,), (0,)), op=AluOp.ADD)


def copy(memory: MemoryId, at: int) -> Copy:
    return Copy(memory=memory, sram=at, dram=0, rows=1, columns=2, stride=0)


OPERANDS, STORE = copy(MemoryId.ACC, 8), copy(MemoryId.OUT, 0)


def test_resets_come_before_products_and_operands_before_their_use() -> None:
    image = copy(MemoryId.INP, 0)
    sums = [reset(0), products(0), reset(2), products(2)]
    found = ordered(OPERANDS, image, *sums, added(0, 8), STORE, reset(4), products(4))
    assert found == [
        *(image, reset(0), reset(2), products(0), products(2)),
        *(OPERANDS, added(0, 8), STORE, reset(4), products(4)),
    ]


def test_sums_in_use_are_reset_when_they_are_free() -> None:
    commands: list[Command] = [reset(0), products(0), added(4, 0), reset(0), products(0)]
    assert ordered(*commands) == commands


def test_operands_are_loaded_before_they_are_reset_and_in_their_order() -> None:
    others: tuple[Command, ...] = (reset(8), copy(MemoryId.ACC, 9))
    for other in others:
        found = ordered(OPERANDS, copy(MemoryId.INP, 0), products(0), other, added(4, 10))
        assert found.index(OPERANDS) < found.index(other)
    found = ordered(OPERANDS, others[1], products(0), added(4, 10))
    assert found.index(OPERANDS) < found.index(others[1])


def test_nothing_without_products() -> None:
    commands: list[Command] = [OPERANDS, added(0, 8), STORE]
    assert ordered(*commands) == commands
    assert ordered(OPERANDS, STORE) == [OPERANDS, STORE]


@settings(max_examples=80)
@given(st.randoms(use_true_random=False))
def test_results_stay(rng: random.Random) -> None:
    commands = random_commands(rng, TINY, 16, range(512), range(512, 1024))
    assert sorted(map(str, ordered(*commands))) == sorted(map(str, commands))
