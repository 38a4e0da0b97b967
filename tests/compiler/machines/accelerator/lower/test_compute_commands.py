from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.machines.accelerator.lower.commands import Compute, Kernel, Loop, Mode
from tandem.compiler.machines.accelerator.lower.compute_commands import (
    InstructionLimits,
    Operation,
    commands_of,
)
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.operations import AluOp
from tandem.hw.topology import MemoryId
from tests.support.compiler.machines.accelerator.lower.command_machine import micro_ops, parameters
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine

CONFIGS = tuple(load_config(name) for name in ("tiny", "small8", "pynq"))


def by_loops(axes: list[Loop], start: dict[str, int]) -> list[tuple[int, int, int]]:
    """(dst, src, wgt) of each iteration, in the order of the loops."""
    found = []
    for iteration in product(*(range(axis.extent) for axis in axes)):
        grown = list(zip(iteration, axes, strict=True))
        found.append(
            (
                start["dst"] + sum(i * axis.dst for i, axis in grown),
                start["src"] + sum(i * axis.src for i, axis in grown),
                start["wgt"] + sum(i * axis.wgt for i, axis in grown),
            )
        )
    return found


def check_fields(command: Compute, config: HardwareConfig) -> None:
    """Every number fits into its field."""
    layout = (
        InstructionLimits.of(config).gemm
        if command.op is None
        else InstructionLimits.of(config).alu
    )
    names = ("dst", "src", "wgt") if command.op is None else ("dst", "src")
    for suffix, loop in (("out", command.outer), ("in", command.inner)):
        assert 1 <= loop.extent <= layout[f"iter_{suffix}"].limits[1]
        for name in names:
            assert 0 <= getattr(loop, name) <= layout[f"{name}_factor_{suffix}"].limits[1]
    assert 1 <= len(command.kernel) <= config.depth(MemoryId.UOP)


@settings(max_examples=150)
@given(st.randoms(use_true_random=False), st.sampled_from(CONFIGS))
def test_commands_do_what_the_loops_do(rng: random.Random, config: HardwareConfig) -> None:
    """Steps of both signs and too long ones, more iterations than a kernel or a loop can have."""
    extents = (1, 2, 3, 4, 7, 1 << 7, 1 << 8) if config.name == "tiny" else (1, 2, 3, 5, 16)
    steps = (0, 0, 1, 1, 2, 4, -1, -3, 31, 64, 300, 5000)
    axes: list[Loop] = []
    size = 1
    for _ in range(rng.randint(0, 5)):
        extent = rng.choice(extents)
        if size * extent <= 2_000:
            size *= extent
            axes.append(Loop(extent, *(rng.choice(steps) for _ in range(3))))
    work = rng.choice(
        (Operation(), Operation(AluOp.MAX), Operation(AluOp.ADD, 3), Operation(reset=True))
    )
    start = {name: rng.randint(0, 50) for name in ("dst", "src", "wgt")}
    commands = list(commands_of(axes, start, work, InstructionLimits.of(config)))
    found = [indices for command in commands for indices in micro_ops(command)]
    assert sorted(found) == sorted(by_loops(axes, start))
    for command in commands:
        check_fields(command, config)
        assert (command.op, command.imm, command.reset) == (work.op, work.imm, work.reset)


def only(axes: list[Loop], work: Operation, config: HardwareConfig = CONFIGS[2]) -> Compute:
    start = {"dst": 10, "src": 20, "wgt": 30}
    (command,) = commands_of(axes, start, work, InstructionLimits.of(config))
    return command


def test_a_convolution_takes_its_longest_dimensions_as_loops() -> None:
    """Rows and columns; output channels, input channels and taps are the kernel."""
    oc, ic, y, x, ky = (
        Loop(2, 56, 0, 6),
        Loop(2, 0, 80, 3),
        Loop(7, 8, 10, 0),
        Loop(8, 1, 1, 0),
        Loop(3, 0, 10, 1),
    )
    command = only([oc, ic, y, x, ky], Operation())
    assert command.outer == Loop(7, 8, 10, 0)
    assert command.inner == Loop(8, 1, 1, 0)
    assert command.kernel == Kernel(
        (10,) * 6 + (66,) * 6,
        (20, 30, 40, 100, 110, 120) * 2,
        (30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41),
    )


def test_dimensions_that_continue_each_other_are_one_loop() -> None:
    command = only([Loop(4, 24, 24, 0), Loop(3, 8, 8, 0), Loop(8, 1, 1, 0)], Operation(AluOp.ADD))
    assert (command.outer, command.inner) == (Loop(1), Loop(96, 1, 1, 0))
    assert command.kernel == Kernel((10,), (20,), (30,))


def test_no_dimension_at_all_is_one_micro_op() -> None:
    command = only([Loop(1, 5, 5, 5)], Operation())
    assert (command.outer, command.inner, len(command.kernel)) == (Loop(1), Loop(1), 1)


def test_what_a_kernel_has_no_room_for_is_several_commands() -> None:
    """`tiny` has 64 micro-ops, and steps of at most 31 accumulators."""
    tiny = CONFIGS[0]
    axes = [Loop(40, 100, 0, 0), Loop(2, 49, 0, 0), Loop(3, 1, 0, 0)]
    start = {"dst": 0, "src": 0, "wgt": 0}
    found = list(commands_of(axes, start, Operation(reset=True), InstructionLimits.of(tiny)))
    assert [each.kernel.dst for each in found] == [
        (100 * iteration, 100 * iteration + 49) for iteration in range(40)
    ]
    assert {each.inner for each in found} == {Loop(3, 1, 0, 0)}


@pytest.mark.parametrize(
    ("work", "axis", "fits"),
    [
        (Operation(), Loop(4, 31, 31, 15), True),
        (Operation(), Loop(4, 32, 0, 0), False),
        (Operation(), Loop(4, 0, 32, 0), False),
        (Operation(), Loop(4, 0, 0, 16), False),
        (Operation(), Loop(4, -1, 0, 0), False),
        (Operation(AluOp.MAX), Loop(4, 31, 31, 16), True),
        (Operation(AluOp.MAX), Loop(4, 0, 32, 0), False),
    ],
)
def test_which_steps_a_loop_of_tiny_has_room_for(work: Operation, axis: Loop, fits: bool) -> None:
    """32 inputs, 16 weights, 32 accumulators; the ALU has no weights."""
    shape = InstructionLimits.of(CONFIGS[0])
    assert shape.fits(axis, "out", work) is fits
    assert shape.fits(axis, "in", work) is fits
    assert only([axis], work, CONFIGS[0]).inner.extent == (4 if fits else 1)


def test_more_turns_than_a_loop_counts_to() -> None:
    tiny = CONFIGS[0]
    shape = InstructionLimits.of(tiny)
    most = shape.gemm["iter_in"].limits[1]
    assert shape.fits(Loop(most, 0, 0, 0), "in", Operation())
    assert not shape.fits(Loop(most + 1, 0, 0, 0), "in", Operation())


# Parameters ---------------------------------------------------------------------------------------


def requantised(axes: list[Loop], config: HardwareConfig) -> list[Compute]:
    work = Operation(AluOp.ADD, 0, mode=Mode(3, "low", "high"))
    start = {"dst": 10, "src": 0, "wgt": 0}
    return list(commands_of(axes, start, work, InstructionLimits.of(config)))


def test_an_axis_with_a_stride_in_par_is_a_loop() -> None:
    (found,) = requantised([Loop(4, 98, par=1), Loop(14, 7), Loop(7, 1)], machine("extended"))
    assert (found.outer, found.inner, len(found.kernel)) == (Loop(4, 98, par=1), Loop(98, 1), 1)
    assert found.mode == Mode(3, "low", "high")


def test_an_axis_of_parameters_that_is_no_loop_is_several_commands() -> None:
    found = requantised([Loop(2, 98, par=1), Loop(7, 14), Loop(7, 1)], machine("extended"))
    assert [each.kernel.dst for each in found] == [(10,), (108,)]
    assert [each.mode for each in found] == [Mode(par, "low", "high") for par in (3, 4)]
    assert {each.outer for each in found} == {Loop(7, 14)}


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_parameters_are_those_of_the_loops(rng: random.Random) -> None:
    axes = [
        Loop(
            rng.choice((1, 2, 3, 5)), rng.choice((0, 1, 4, 70)), 0, 0, rng.choice((0, 0, 1, 2, 90))
        )
        for _ in range(rng.randint(0, 4))
    ]
    wanted = [
        (10 + sum(i * axis.dst for i, axis in zip(at, axes, strict=True)),
         3 + sum(i * axis.par for i, axis in zip(at, axes, strict=True)))
        for at in product(*(range(axis.extent) for axis in axes))
    ]  # fmt: skip
    found = [
        (dst, par)
        for command in requantised(axes, machine("extended"))
        for (dst, _, _), par in zip(micro_ops(command), parameters(command), strict=True)
    ]
    assert sorted(found) == sorted(wanted)


def test_a_machine_without_parameters_has_no_strides_in_them() -> None:
    limits = InstructionLimits.of(CONFIGS[0])
    assert limits.steps_through_par(0, "out")
    assert not limits.steps_through_par(1, "out")
