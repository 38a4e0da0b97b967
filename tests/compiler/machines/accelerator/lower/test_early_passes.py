"""Requantising passes directly behind their sums."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.machines.accelerator.lower.command_pass import CommandContext
from tandem.compiler.machines.accelerator.lower.commands import (
    Command,
    Compute,
    Copy,
    Kernel,
    Loop,
    Mode,
    unit_of_command,
)
from tandem.compiler.machines.accelerator.lower.early_passes import EarlyPasses
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId, Unit
from tests.support.compiler.machines.accelerator.lower.command_columns import columns_of
from tests.support.compiler.machines.accelerator.lower.command_machine import CommandMachine
from tests.support.compiler.machines.accelerator.lower.random_commands import random_commands
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine

CONFIG = machine("extended")


def ordered(*commands: Command) -> list[Command]:
    """The commands after the pass, which leave what they left before."""
    columns = columns_of(commands)
    found = list(EarlyPasses().apply(columns, CommandContext(CONFIG)))
    left = []
    for program in (commands, found):
        computer = CommandMachine(
            CONFIG, np.arange(1024, dtype=np.uint16).view(np.uint8)[:1024], seed=3
        )
        computer.run(program)
        left.append((computer.acc, computer.out, computer.inp, computer.par, computer.dram))
    for before, after in zip(*left, strict=True):
        np.testing.assert_array_equal(after, before)
    return found


def gemm(first: int, src: int = 0) -> Compute:
    return Compute(kernel=Kernel((first,), (src,), (0,)), outer=Loop(1), inner=Loop(4, 1, 1))


def residual(first: int, src: int) -> Compute:
    mode = Mode(first // 4, -100, 100, 5)
    return replace(gemm(first, src), op=AluOp.RESIDUAL, from_inp=True, mode=mode)


def load(first: int, memory: MemoryId = MemoryId.INP, tensor: str = "skip") -> Copy:
    return Copy(memory=memory, sram=first, dram=0, rows=1, columns=4, stride=0, tensor=tensor)


def store(first: int, tensor: str = "out") -> Copy:
    return Copy(
        memory=MemoryId.OUT, sram=first, dram=32, rows=1, columns=4, stride=0, tensor=tensor
    )


def test_a_thread_finishes_before_the_other_multiplies() -> None:
    threads = [gemm(0), gemm(4)], [load(20), load(24)], [residual(0, 20), residual(4, 24)]
    stores = [store(0), store(4)]
    found = ordered(*threads[0], *threads[1], *threads[2], *stores)
    assert found == [
        *(gemm(0), load(20), residual(0, 20)),
        *(gemm(4), load(24), residual(4, 24)),
        *stores,
    ]


def test_loads_keep_their_order() -> None:
    """The first LOAD is not for the pass, and goes with the one behind it."""
    commands = gemm(0), gemm(4), load(24), load(20), load(28), residual(0, 20)
    assert ordered(*commands) == [
        *(gemm(0), load(20 + 4), load(20), residual(0, 20)),
        *(gemm(4), load(28)),
    ]


OTHERS: dict[str, tuple[Command, ...]] = {
    "its own sums come last": (gemm(4), gemm(0), load(20), residual(0, 20)),
    "a LOAD that the other thread waits to overwrite": (
        *(gemm(0), gemm(4, src=20), load(20), residual(0, 20)),
    ),
    "a LOAD of what was stored": (
        *(gemm(0), gemm(4), store(4, "skip"), load(20), residual(0, 20)),
    ),
    "its accumulators are stored before": (gemm(0), gemm(4), store(0), residual(0, 20)),
    "no pass": (gemm(0), gemm(4), replace(residual(0, 20), mode=None, op=AluOp.MAX)),
    "products that requantise": (gemm(0), gemm(4), replace(gemm(0), mode=Mode(0, -5, 5))),
}


@pytest.mark.parametrize("commands", OTHERS.values(), ids=OTHERS)
def test_left_where_it_is(commands: tuple[Command, ...]) -> None:
    assert ordered(*commands) == list(commands)


def test_eager_loops() -> None:
    """Any operation of an eager loop moves up, and a STORE; resets and others do not."""
    shift = replace(gemm(0), op=AluOp.SHR, imm=3)
    commands: list[Command] = [
        gemm(0),
        gemm(4),
        shift,
        gemm(8),
        store(0),
        replace(gemm(12), reset=True),
    ]
    columns = columns_of(commands)
    for eager in ("out.part", "other"):
        marked = replace(columns, sites=tuple(("out", (("out.part", 0),)) for _ in commands[2:]))
        sites = (("sum", ()), ("sum", ()), *marked.sites)
        sites = (*sites[:3], ("sum", ()), *sites[4:])
        step, given = EarlyPasses(frozenset({eager})), replace(columns, sites=sites)
        found = [*step.apply(given, CommandContext(CONFIG))]
        moved = [commands[0], shift, store(0), commands[1], *commands[3:4], commands[5]]
        assert found == (moved if eager == "out.part" else commands)


def in_tensors(command: Command) -> Command:
    """LOADs read one tensor, STOREs write another."""
    if not isinstance(command, Copy):
        return command
    return replace(command, tensor="out" if command.memory is MemoryId.OUT else "in")


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_random_commands(rng: random.Random) -> None:
    drawn = random_commands(rng, CONFIG, 12, range(512), range(512, 1024))
    commands = [in_tensors(each) for each in drawn]
    found = ordered(*commands)
    for unit in (Unit.LOAD, Unit.STORE):
        kept = [each for each in found if unit_of_command(each) is unit]
        assert kept == [each for each in commands if unit_of_command(each) is unit]
