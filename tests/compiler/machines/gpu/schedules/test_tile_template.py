"""Tiles as choices: which fit, and what they give."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tandem.compiler.errors import Refusal
from tandem.compiler.graph import Call, Function
from tandem.compiler.graph.passes import InferTypes
from tandem.compiler.ir import interpreter
from tandem.compiler.machines.gpu.backend import gpu_kernel
from tandem.compiler.machines.gpu.codegen.ptx import ptx_text
from tandem.compiler.machines.gpu.interpreter import Order, run_program
from tandem.compiler.machines.gpu.launch import grid_of
from tandem.compiler.machines.gpu.lower.lowering import gpu_program, shared_bytes
from tandem.compiler.machines.gpu.machine import GpuMachine, nvidia_gpu
from tandem.compiler.machines.gpu.schedules.tile import tile_of
from tandem.compiler.machines.gpu.schedules.tile_template import (
    TILES,
    default_choice,
    multiplications,
    products_of,
    tile_from,
)
from tandem.compiler.machines.gpu.schedules.warp_tiles import warp_product
from tandem.compiler.machines.gpu.schedules.why_alone import WhyAlone
from tandem.compiler.machines.gpu.target import gpu
from tandem.compiler.plan.pattern import Match
from tandem.compiler.plan.planner import fitting_choices
from tandem.compiler.plan.schedule_template import KernelMatch
from tandem.compiler.tune.plain import to_plain
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.te.schedules import random_inputs

MACHINE = GpuMachine()


def kernel(rows: int = 20, columns: int = 18, terms: int = 17) -> Function:
    """A product, and what is done with each element."""
    return InferTypes().apply(
        graph(
            f"""
kernel @k(a: int32[{rows}, {terms}], b: int32[{terms}, {columns}], c: int32[{columns}]):
  d = matmul(a, b)
  e = add(d, c)
  return e
"""
        )
    )


def kernel_of_bytes() -> Function:
    """A product of bytes."""
    return InferTypes().apply(
        graph(
            """
kernel @k(a: int8[64, 64], b: int8[64, 64]):
  c = dense(a, b, out_dtype=int32)
  return c
"""
        )
    )


def kernel_of_halves(rows: int = 64) -> Function:
    """A product of float16, with sums in float32 that are rounded."""
    return InferTypes().apply(
        graph(
            f"""
kernel @k(a: float16[{rows}, 64], b: float16[64, 64]):
  x = cast(a, to=float32)
  y = cast(b, to=float32)
  c = dense(x, y)
  d = cast(c, to=float16)
  return d
"""
        )
    )


def test_the_default() -> None:
    found = products_of(kernel())
    choice = default_choice(found, MACHINE)
    tile = tile_of(found[0], MACHINE)
    assert (choice["rows"], choice["thread_columns"]) == (tile.rows, tile.thread_columns)
    made = gpu_kernel(kernel(), MACHINE, choice)
    assert made.code == gpu_kernel(kernel(), MACHINE).code


def test_which_fit() -> None:
    """What fits is lowered, by what it says of threads and memory."""
    large = kernel(70, 140, 40)
    choices = fitting_choices(gpu(MACHINE), TILES, large)
    everything = TILES.space(large, MACHINE).choices()
    assert 0 < len(choices) < len(everything)
    rng = random.Random(1)
    for row in rng.sample(range(len(choices)), 4):
        choice = choices.choice(row)
        program = gpu_program(TILES.schedule(large, choice, MACHINE).program, MACHINE)
        (launch,) = program.launches
        grid = grid_of(launch)
        own = int(choice["thread_rows"]) * int(choice["thread_columns"])
        assert grid.threads == int(choice["rows"]) * int(choice["columns"]) // own <= 256
        loaded = (int(choice["rows"]) + int(choice["columns"])) * int(choice["depth"])
        assert shared_bytes(grid) == 4 * loaded * int(choice["slots"]) <= 32 * 1024


def test_tiles_of_warps() -> None:
    """Devices that have such instructions choose whether warps multiply together."""
    assert "warps" not in TILES.space(kernel(), MACHINE).knobs
    machine, bytes_ = nvidia_gpu(), kernel_of_bytes()
    choice = default_choice(products_of(bytes_), machine)
    assert choice["warps"] == 1
    assert tile_from(choice) == tile_of(products_of(bytes_)[0], machine)
    program = gpu_program(TILES.schedule(bytes_, choice, machine).program, machine)
    assert "mma.sync" in ptx_text(program)
    choices = fitting_choices(gpu(machine), TILES, bytes_)
    together = choices.where(choices.equals("warps", 1))
    assert 0 < len(together) < len(choices)
    for row in range(len(together)):
        assert warp_product(products_of(bytes_)[0], tile_from(together.choice(row))) is not None
    others = fitting_choices(gpu(machine), TILES, kernel(64, 64, 64))
    assert not others.equals("warps", 1).any()
    older = {name: setting for name, setting in choice.items() if name != "warps"}
    assert tile_from(older) == tile_from({**choice, "warps": 0})


def test_results() -> None:
    choices = fitting_choices(gpu(MACHINE), TILES, kernel())
    rng = random.Random(2)
    drawn = [choices.choice(row) for row in rng.sample(range(len(choices)), 2)]
    schedules = [TILES.schedule(kernel(), each, MACHINE) for each in drawn]
    arrays = random_inputs(schedules[0].program)
    wanted = interpreter.run(schedules[0].program, arrays)
    for schedule in schedules:
        found = run_program(gpu_program(schedule.program, MACHINE), arrays, Order.BACKWARDS)
        np.testing.assert_array_equal(found, wanted)
    names = [each.name for each in schedules[0].program.inputs]
    by_hand = dict(zip(names, arrays, strict=True))
    a, b, c = (by_hand[name] for name in "abc")
    np.testing.assert_array_equal(wanted[0], a @ b + c)


def test_workloads_are_recorded_as_text() -> None:
    assert "matmul(" in to_plain(kernel())
    with pytest.raises(Refusal, match="they schedule whole kernels"):
        TILES.bind(KernelMatch(Call(kernel(), ()), Match((), {})), MACHINE)


def test_estimates_are_in_the_order_of_waste() -> None:
    """A tile as large as the product wastes less than one with four times its elements."""
    space = TILES.space(kernel(), MACHINE).choices()
    costs = TILES.estimate(kernel(), space, MACHINE)
    small = space.equals("rows", 32) & space.equals("columns", 32)
    large = space.equals("rows", 128) & space.equals("columns", 128)
    assert costs[small].max() < costs[large].min()


def test_tiles_of_halves() -> None:
    """Warps multiply float16 as it is stored, threads what they have widened."""
    machine, halves = nvidia_gpu(), kernel_of_halves()
    choice = default_choice(products_of(halves), machine)
    assert (choice["warps"], choice["depth"]) == (1, 32)
    program = gpu_program(TILES.schedule(halves, choice, machine).program, machine)
    assert "mma.sync.aligned.m16n8k16" in ptx_text(program)
    assert gpu_kernel(halves, machine, choice).code == gpu_kernel(halves, machine).code
    # Twice the terms fit where they have half the bytes.
    large = {"rows": 64, "columns": 64, "depth": 64, "thread_rows": 4, "thread_columns": 4}
    sizes = {}
    for warps in (0, 1):
        choices = fitting_choices(gpu(machine), TILES, halves)
        alike = choices.where(choices.equals("warps", warps))
        for knob, setting in large.items():
            alike = alike.where(alike.equals(knob, setting))
        sizes[warps] = {int(alike.choice(row)["slots"]) for row in range(len(alike))}
    assert sizes == {0: {1}, 1: {1, 2}}


def test_how_products_are_multiplied() -> None:
    machine, halves = nvidia_gpu(), kernel_of_halves()
    (found,) = multiplications(halves, machine)
    assert found.why is None
    assert str(found) == (
        "64 x 64 x 64, float16 by float16 in float32, tiles of 32 x 32, "
        "by warps: mma_float16_float16"
    )
    choice = default_choice(products_of(halves), machine)
    (tuned,) = multiplications(halves, machine, {**choice, "warps": 0})
    assert tuned.why is WhyAlone.CHOSEN
    (small,) = multiplications(kernel_of_halves(20), machine)
    assert small.why is WhyAlone.SMALL
    assert str(small).endswith("by threads: the product has fewer than 32 rows or columns")
    assert multiplications(kernel(4, 4, 4), machine) == ()
