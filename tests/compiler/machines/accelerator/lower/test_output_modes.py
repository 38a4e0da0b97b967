"""Requantisation by the last writers of accumulators."""

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
)
from tandem.compiler.machines.accelerator.lower.output_modes import (
    RequantiseLastWrites,
    is_requantisation,
)
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId
from tests.support.compiler.machines.accelerator.lower.command_columns import columns_of
from tests.support.compiler.machines.accelerator.lower.command_machine import CommandMachine
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine

CONFIG = machine("extended")
ONCE = Loop(1)


def fused(*commands: Command) -> list[Command]:
    """The commands after the pass; accumulators and what is stored are as before."""
    found = list(RequantiseLastWrites().apply(columns_of(commands), CommandContext(CONFIG)))
    copies = [each for each in commands if isinstance(each, Copy)]
    assert [each for each in found if isinstance(each, Copy)] == copies
    assert any(each.memory is MemoryId.OUT for each in copies), "the test says what is stored"
    machines = []
    for program in (commands, found):
        computer = CommandMachine(CONFIG, np.arange(1 << 12, dtype=np.uint32).view(np.uint8), 3)
        computer.run(program)
        machines.append(computer)
    before, after = machines
    np.testing.assert_array_equal(after.acc, before.acc)
    np.testing.assert_array_equal(after.dram, before.dram)
    return found


def gemm(*kernel: tuple[int, int, int], outer: Loop = ONCE, inner: Loop = ONCE) -> Compute:
    return Compute(kernel=Kernel(*zip(*kernel, strict=True)), outer=outer, inner=inner)


def requantise(
    first: int, par: int, outer: Loop = ONCE, inner: Loop = ONCE, low: int = -100
) -> Compute:
    return Compute(
        kernel=Kernel((first,), (0,), (0,)),
        outer=outer,
        inner=inner,
        op=AluOp.ADD,
        imm=0,
        mode=Mode(par, low, 99),
    )


def store(first: int, count: int) -> Copy:
    return Copy(memory=MemoryId.OUT, sram=first, dram=512, rows=1, columns=count, stride=0)


def parameters(first: int = 0, count: int = 8) -> Copy:
    return Copy(memory=MemoryId.PAR, sram=first, dram=0, rows=1, columns=count, stride=0)


def modes(commands: list[Command]) -> list[tuple[int, int, int] | None]:
    """For each computation the element of PAR and its strides, or None."""
    return [
        None if command.mode is None else (command.mode.par, command.outer.par, command.inner.par)
        for command in commands
        if isinstance(command, Compute)
    ]


SUMS = gemm((0, 0, 0), (0, 4, 1), outer=Loop(2, 4, 0, 2), inner=Loop(4, 1, 1))
"""Two blocks of channels of four pixels, with two taps."""
PASS = requantise(0, 3, outer=Loop(2, 4, par=1), inner=Loop(4, 1))


@pytest.mark.parametrize("odd", [0, 1])
def test_element_zero_of_par_is_one_like_others(odd: int) -> None:
    """Four pixels of a block, one of which another element requantises: no strides lead to both."""
    sums = gemm((0, 0, 0), inner=Loop(4, 1, 1))
    passes = (requantise(0, 3), requantise(1, odd), requantise(2, 3, inner=Loop(2, 1)))
    commands = (parameters(), sums, *passes, store(0, 4))
    assert fused(*commands) == list(commands)


def test_of_accumulators_that_nobody_reads_any_element_will_do() -> None:
    """The first of four pixels is not stored: the strides of the others are those of all."""
    sums = gemm((0, 0, 0), inner=Loop(4, 1, 1))
    found = fused(parameters(), sums, requantise(1, 2, inner=Loop(3, 1)), store(1, 3))
    assert modes(found) == [(2, 0, 0)]


def test_the_product_requantises() -> None:
    found = fused(parameters(), SUMS, PASS, store(0, 8))
    assert modes(found) == [(3, 1, 0)]
    assert found[1] == replace(SUMS, outer=replace(SUMS.outer, par=1), mode=Mode(3, -100, 99))


def test_only_the_last_step_of_a_sum_does() -> None:
    found = fused(parameters(), SUMS, SUMS, PASS, store(0, 8))
    assert modes(found) == [None, (3, 1, 0)]


def test_blocks_among_the_micro_ops_become_instructions_of_their_own() -> None:
    """All instructions with these micro-ops are split, so that these are in memory once."""
    blocks = gemm((0, 0, 0), (0, 4, 1), (4, 0, 2), (4, 4, 3), inner=Loop(4, 1, 1))
    found = fused(parameters(), blocks, blocks, PASS, store(0, 8))
    assert modes(found) == [None, None, (3, 0, 0), (4, 0, 0)]
    kernels = [each.kernel for each in found if isinstance(each, Compute)]
    assert kernels == [Kernel((0, 0), (0, 4), (0, 1)), Kernel((4, 4), (0, 4), (2, 3))] * 2


def test_what_comes_between_does_not_matter() -> None:
    """Another thread's sums, of other accumulators, and a load of other parameters."""
    other = gemm((20, 0, 0), inner=Loop(4, 1, 1))
    found = fused(parameters(), SUMS, other, parameters(9, 2), PASS, store(0, 8))
    assert modes(found) == [(3, 1, 0), None]


def test_passes_of_several_writers() -> None:
    one, two = gemm((0, 0, 0), inner=Loop(4, 1, 1)), gemm((4, 0, 0), inner=Loop(4, 1, 1))
    assert modes(fused(parameters(), one, two, PASS, store(0, 8))) == [(3, 0, 0), (4, 0, 0)]


def test_writers_of_several_passes() -> None:
    passes = [requantise(4 * block, 3 + block, inner=Loop(4, 1)) for block in range(2)]
    assert modes(fused(parameters(), SUMS, *passes, store(0, 8))) == [(3, 1, 0)]


def test_a_loop_over_adjacent_blocks_becomes_two() -> None:
    one = gemm((0, 0, 0), inner=Loop(8, 1, 2))
    assert fused(parameters(), one, PASS, store(0, 8))[1] == replace(
        one, outer=Loop(2, 4, 8, 0, 1), inner=Loop(4, 1, 2), mode=Mode(3, -100, 99)
    )


def test_the_alu_requantises_too() -> None:
    moves = Compute(
        kernel=Kernel((0,), (0,), (0,)),
        outer=Loop(2, 4, 4),
        inner=Loop(4, 1, 1),
        op=AluOp.MOVE,
        from_inp=True,
    )
    assert modes(fused(parameters(), moves, PASS, store(0, 8))) == [(3, 1, 0)]


RESIDUAL = replace(PASS, op=AluOp.RESIDUAL, imm=None, from_inp=True)
ACCUMULATORS = Copy(memory=MemoryId.ACC_8BIT, sram=0, dram=0, rows=1, columns=8, stride=0)
STAYS: dict[str, tuple[Command, ...]] = {
    "a residual": (parameters(), SUMS, RESIDUAL, store(0, 8)),
    "parameters that are loaded later": (SUMS, parameters(), PASS, store(0, 8)),
    "accumulators that were loaded": (parameters(), ACCUMULATORS, PASS, store(0, 8)),
    "accumulators that nobody wrote": (parameters(), PASS, store(0, 8)),
    "sums that are stored as well": (parameters(), SUMS, store(0, 4), PASS, store(0, 8)),
    "sums some of which are stored as they are": (
        *(parameters(), SUMS),
        *(requantise(0, 3, inner=Loop(4, 1)), store(0, 8)),
    ),
    "limits that differ": (
        *(parameters(), SUMS, requantise(0, 3, inner=Loop(4, 1))),
        *(requantise(4, 4, inner=Loop(4, 1), low=0), store(0, 8)),
    ),
    "parameters without a common stride": (
        *(parameters(), gemm((0, 0, 0), inner=Loop(12, 1, 1))),
        *(requantise(4 * block, par, inner=Loop(4, 1)) for block, par in enumerate((3, 4, 6))),
        store(0, 12),
    ),
    "a stride that no loop can have": (
        *(parameters(), SUMS),
        *(requantise(0, 4, inner=Loop(4, 1)), requantise(4, 3, inner=Loop(4, 1)), store(0, 8)),
    ),
}


@pytest.mark.parametrize("commands", STAYS.values(), ids=STAYS)
def test_the_pass_stays(commands: tuple[Command, ...]) -> None:
    assert fused(*commands) == list(commands)


def test_accumulators_that_are_written_again_do_not_matter() -> None:
    """The first step of a longer sum reaches further than the last."""
    again = gemm((8, 0, 0), inner=Loop(4, 1, 1))
    square = gemm((0, 0, 0), outer=Loop(3, 4, 4), inner=Loop(4, 1, 1))
    assert modes(fused(parameters(), square, again, PASS, store(0, 8))) == [(3, 1, 0), None]


@settings(max_examples=80)
@given(st.randoms(use_true_random=False))
def test_random_commands(rng: random.Random) -> None:
    """Whatever is done: the results in memory are the same."""
    commands: list[Command] = [parameters(0, 16)]
    for _ in range(rng.randint(2, 9)):
        first, count = rng.randrange(12), rng.randint(1, 6)
        loops = (
            Loop(rng.randint(1, 3), rng.choice((0, count, 7))),
            Loop(count, 1, rng.choice((0, 1))),
        )
        match rng.randrange(6):
            case 0:
                kernel = [(first + rng.choice((0, 4, 8)), rng.randrange(8), 0) for _ in range(2)]
                commands.append(gemm(*kernel, outer=loops[0], inner=loops[1]))
            case 1:
                commands.append(gemm((first, 0, 0), outer=loops[0], inner=loops[1]))
            case 2:
                commands.append(replace(gemm((first, 0, 0), inner=loops[1]), reset=True))
            case 3:
                commands.append(parameters(rng.randrange(8), 2))
            case 4:
                outer = replace(loops[0], par=rng.choice((0, 1)))
                commands.append(requantise(first, rng.randrange(8), outer, Loop(count, 1)))
            case _:
                commands.append(store(first, count))
    fused(*commands, store(0, 30))


def test_what_a_requantisation_is() -> None:
    assert is_requantisation(PASS)
    assert not is_requantisation(RESIDUAL)
    assert not is_requantisation(replace(PASS, mode=None))
    assert not is_requantisation(parameters())
