"""First terms of reductions that overwrite accumulators."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.machines.accelerator.lower.commands import Compute, Kernel, Loop
from tandem.compiler.machines.accelerator.lower.first_terms import initialised
from tandem.hw.config_files import load_config
from tandem.hw.features import Feature
from tandem.hw.operations import AluOp
from tests.support.compiler.machines.accelerator.lower.command_machine import (
    CommandMachine,
    micro_ops,
)

TINY = load_config("tiny")
ONCE = Loop(1)
OVERWRITE = frozenset({Feature.OVERWRITE})


def fused(*commands: Compute, features: frozenset[Feature] = OVERWRITE) -> Sequence[Compute]:
    """The commands, of which the first ones set initial values, in one; they do what they did
    before."""
    initial = [each.reset or each.op is AluOp.MOVE for each in commands]
    count = initial.index(False) if False in initial else len(commands)
    found = initialised(commands[:count], commands[count:], features)
    left = []
    for program in (commands, found):
        machine = CommandMachine(TINY, np.arange(256, dtype=np.uint8), seed=3)
        machine.run(list(program))
        left.append(machine)
    before, after = left
    np.testing.assert_array_equal(after.acc, before.acc)
    np.testing.assert_array_equal(after.dram, before.dram)
    return found


def kinds(commands: Sequence[Compute]) -> list[str]:
    """The first word of every command's text."""
    return [str(command).split()[0] for command in commands]


def reset(first: int, count: int = 1) -> Compute:
    return Compute(
        kernel=Kernel((first,), (0,), (0,)), outer=ONCE, inner=Loop(count, dst=1), reset=True
    )


def gemm(*kernel: tuple[int, int, int], outer: Loop = ONCE, inner: Loop = ONCE) -> Compute:
    return Compute(kernel=Kernel(*zip(*kernel, strict=True)), outer=outer, inner=inner)


TAPS = gemm((0, 0, 0), (0, 1, 1), (0, 2, 2), outer=Loop(3, 4, 4), inner=Loop(4, 1, 1))
"""Three products for each of twelve accumulators."""


def test_the_first_tap_overwrites() -> None:
    first, rest = fused(reset(0, 12), TAPS)
    assert (first.overwrite, rest.overwrite) == (True, False)
    assert (first.kernel.src, rest.kernel.src) == ((0,), (1, 2))
    assert (first.outer, first.inner) == (rest.outer, rest.inner) == (TAPS.outer, TAPS.inner)


def test_a_single_product_is_one_instruction() -> None:
    one = gemm((0, 0, 0), (1, 1, 1), outer=Loop(4, dst=2))
    assert kinds(fused(reset(0, 8), one)) == ["overwrite"]


@pytest.mark.parametrize(
    ("loops", "pieces"),
    [
        ({"inner": Loop(3, src=2, wgt=1)}, 2),
        ({"outer": Loop(3, src=2, wgt=1)}, 2),
        ({"outer": Loop(3, src=2, wgt=1), "inner": Loop(2, src=1)}, 3),
        ({"outer": Loop(3, src=2, wgt=1), "inner": Loop(2, dst=2)}, 2),
    ],
)
@pytest.mark.parametrize("taps", [1, 2])
def test_loops_over_products(loops: dict[str, Loop], pieces: int, taps: int) -> None:
    """A loop goes on from its second iteration, with micro-ops of its own."""
    kernel = [(dst, dst + tap, tap) for tap in range(taps) for dst in range(2)]
    command = gemm(*kernel, **loops)
    accumulators = len(np.unique(command.indices("dst")))
    found = fused(reset(0, accumulators), command)
    assert kinds(found) == ["overwrite", *["gemm"] * (pieces - 2 + taps)]
    executed = sorted(one for each in found for one in micro_ops(each))
    assert executed == sorted(micro_ops(command))


def test_several_resets() -> None:
    assert kinds(fused(reset(4, 8), reset(0, 4), TAPS)) == ["overwrite", "gemm"]


ADD = Compute(kernel=Kernel((0,), (0,), (0,)), outer=ONCE, inner=ONCE, op=AluOp.ADD, imm=3)
FIVES = Compute(
    kernel=Kernel((6,), (0,), (0,)), outer=ONCE, inner=Loop(6, dst=1), op=AluOp.MOVE, imm=5
)
LEFT_ALONE: dict[str, tuple[Compute, ...]] = {
    "some accumulators start with a value": (reset(0, 6), FIVES, TAPS),
    "fewer accumulators": (reset(0, 11), TAPS),
    "more accumulators": (reset(0, 13), TAPS),
    "other accumulators": (reset(1, 12), TAPS),
    "an ALU instruction": (reset(0), ADD),
    "no initial value": (TAPS,),
    "nothing to reduce": (reset(0, 12),),
    "the second of two products": (reset(0, 12), gemm((0, 0, 0)), TAPS),
    "loops that meet": (reset(0, 4), gemm((0, 0, 0), (1, 1, 1), inner=Loop(3, dst=1))),
}


@pytest.mark.parametrize("commands", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_left_alone(commands: tuple[Compute, ...]) -> None:
    assert list(fused(*commands)) == list(commands)


def test_a_start_in_two_steps_is_no_initial_value() -> None:
    """As on machines without MOVE."""
    add = replace(ADD, inner=Loop(12, dst=1), imm=-128)
    features = frozenset({Feature.INPUT_OPERANDS})
    commands = [reset(0, 12), add], [WHOLE]
    assert list(initialised(*commands, features)) == [*commands[0], *commands[1]]


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_random_products(rng: random.Random) -> None:
    """With every reset whose accumulators are those of the GEMM behind it, the reset goes."""
    kernel = [tuple(rng.randrange(4) for _ in range(3)) for _ in range(rng.randint(1, 5))]
    loops = [
        Loop(rng.randint(1, 3), *(rng.choice((0, 0, 1, 3)) for _ in range(3))) for _ in range(2)
    ]
    command = gemm(*kernel, outer=loops[0], inner=loops[1])  # type: ignore[arg-type]
    low, high = command.indices("dst").min(), command.indices("dst").max()
    starts = [reset(int(low), int(high - low) + 1)] if rng.random() < 0.8 else []
    fused(*starts, command, *([command] if rng.random() < 0.3 else []))


# Operands in INP ----------------------------------------------------------------------------------

MOVES = frozenset({Feature.INPUT_OPERANDS})
LOWEST = Compute(
    kernel=Kernel((0,), (0,), (0,)), outer=ONCE, inner=Loop(12, dst=1), op=AluOp.MOVE, imm=-128
)


def tap(op: AluOp, *kernel: tuple[int, int], inner: Loop = ONCE) -> Compute:
    dst, src = zip(*kernel, strict=True)
    return Compute(
        kernel=Kernel(dst, src, (0,) * len(dst)), outer=ONCE, inner=inner, op=op, from_inp=True
    )


WHOLE = tap(AluOp.MAX, (0, 3), inner=Loop(12, 1, 1))
PART = tap(AluOp.MAX, (2, 4), inner=Loop(5, 1, 2))


def test_a_maximum_of_all_accumulators_is_a_move_and_comes_first() -> None:
    """As in a max pool, whose first taps may lie on padding."""
    found = fused(LOWEST, PART, WHOLE, PART, features=MOVES)
    assert kinds(found) == ["move", "max", "max"]
    assert list(found[1:]) == [PART, PART]


def test_a_maximum_behind_another_operation_stays_there() -> None:
    """As in an instruction of several operations."""
    shift = replace(ADD, op=AluOp.SHR)
    commands = LOWEST, PART, shift, WHOLE
    assert list(fused(*commands, features=MOVES)) == list(commands)


def test_the_first_of_several_operands_is_moved() -> None:
    sums = tap(AluOp.ADD, (0, 0), (0, 7), inner=Loop(12, 1, 1))
    move, add = fused(reset(0, 12), sums, features=MOVES)
    assert (move.op, move.kernel.src, move.from_inp) == (AluOp.MOVE, (0,), True)
    assert (add.op, add.kernel.src) == (AluOp.ADD, (7,))


@pytest.mark.parametrize(
    "commands",
    [
        (LOWEST, tap(AluOp.ADD, (0, 0), inner=Loop(12, 1, 1))),
        (reset(0, 12), WHOLE),
        (LOWEST, PART),
        (replace(LOWEST, inner=Loop(6, dst=1)), FIVES, WHOLE),
        (LOWEST, replace(WHOLE, from_inp=False)),
        (reset(0, 12), TAPS),
    ],
)
def test_initial_values_that_matter_stay(commands: tuple[Compute, ...]) -> None:
    """And those of products, on a machine that does not overwrite."""
    assert list(fused(*commands, features=MOVES)) == list(commands)
