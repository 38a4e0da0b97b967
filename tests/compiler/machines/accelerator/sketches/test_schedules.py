"""Both schedules of products: an outline of their programs, and results of an interpreter."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import ReplayError
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.sketches.schedules import (
    kept_at,
    orders,
    slotted,
    tiled,
)
from tandem.compiler.machines.accelerator.sketches.spaces import (
    settings,
    slotted_space,
    tiled_space,
)
from tandem.compiler.te import Tensor
from tests.support.compiler.machines.accelerator.sketches.small_products import (
    matrices,
    product,
    windows,
)
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine

SMALL = product(windows(2, 2, 2, 2, kernel=(2, 1), skip=True))
"""Two blocks, rows, columns; sums over two blocks and two rows of windows."""
STACKS = product(matrices(rows=4, blocks=2, depth=2, stacks=2, passes=True))
EXTENDED = AcceleratorTarget.of(machine("extended"))
"""Residuals lie in INP there."""


def outline(program: PrimFunc) -> str:
    """Buffers on chip, the names and extents of loops that are in each other, and blocks."""
    lines: list[str] = []
    for line in text(program).splitlines()[1:]:
        depth = (len(line) - len(line.lstrip())) // 2 - 1
        if loop := re.match(r" *for \w+\.(\w+) in (\d+) ?(\w*):", line):
            kind = {"": "", "eager": " eager", "virtual_thread": ""}[loop[3]]
            lines.append(f"{depth} for {loop[1]}:{loop[2]}{kind}")
        elif buffer := re.match(r" *alloc (\w+): .* @ (\w+)( in \d slots)?$", line):
            lines.append(f"{depth} {buffer[1]} @ {buffer[2]}{buffer[3] or ''}")
        elif block := re.match(r" *block (\w+)", line):
            lines.append(f"{depth} block {block[1]}")
        elif called := re.match(r" *invoke (\w+)", line):
            lines[-1] += f" {called[1]}"
    return "\n".join(nests(lines))


def nests(lines: list[str]) -> list[str]:
    """With the loops of a nest on one line."""
    found: list[str] = []
    for line in lines:
        depth, what = line.split(" ", 1)
        if what.startswith("for ") and found and found[-1].lstrip().startswith("for "):
            found[-1] += what.removeprefix("for")
        else:
            found.append("  " * int(depth) + what)
    return found


def tile(**settings: Any) -> dict[str, Any]:
    return {
        "threads": 2,
        "c": 1,
        "o": 1,
        "y": 1,
        "x": 2,
        "along": "o",
        "stays": "steps",
        **settings,
    }


# Orders of loops ------------------------------------------------------------------------------


def test_orders_of_loops() -> None:
    """What stays is outside; axes of both operands are outside of all others."""
    of_weight, of_image = ("o", "y", "x"), ("y", "x", "o")
    assert orders(SMALL) == {"steps": of_weight, "weight": of_weight, "image": of_image}
    assert kept_at(SMALL) == {"weight": "o", "image": "x"}
    assert orders(STACKS) == {
        **{"steps": ("s", "o", "m"), "weight": ("s", "o", "m"), "image": ("s", "m", "o")}
    }
    assert kept_at(STACKS) == {"weight": "o", "image": "m"}


def test_what_has_no_axes_is_loaded_before_all_loops() -> None:
    assert kept_at(product(matrices(blocks=1))) == {"weight": None, "image": "m"}
    assert kept_at(product(matrices(rows=1))) == {"weight": "o", "image": None}
    one = product(matrices(rows=1, blocks=1, stacks=1))
    assert orders(one)["steps"] == ("o",)


# Programs -------------------------------------------------------------------------------------


def test_a_tiled_program() -> None:
    """Operands of all tiles first; what compute loads before the sums; weights, then the image."""
    found = SMALL.start.replay(tiled(SMALL), tile()).program
    assert outline(found) == dedent("""\
        bias_acc @ acc
        for d0:2 d1:1 d2:4
              block bias_acc
        for o_o:1 y_o:2 x_o:1 thread:2
                sums @ acc
                biased @ acc
                shifted @ acc
                wide @ acc
                summed @ acc
                for o:1 y:1 x:2 b:1 e:4
                          block wide
                for c_o:2
                  sums_image @ inp
                  sums_weight @ wgt
                  for d0:1 d1:1 d2:2 d3:1 d4:4 d5:4
                              block sums_weight
                  for d0:1 d1:2 d2:2 d3:1 d4:4
                            block sums_image
                  for o:1 y:1 x:2 c_i:1 k:2 l:1
                              block sums fill_0 gemm
                for o:1 y:1 x:2
                      block biased alu_add
                for o:1 y:1 x:2
                      block shifted alu_shr_imm_3
                for o:1 y:1 x:2
                      block summed alu_add
                for o_i:1 y_i:1 x_i:2 b:1 e:4
                          block y""")


def test_a_program_with_slots() -> None:
    found = SMALL.start.replay(
        slotted(SMALL, "o"),
        {
            **{"threads": 1, "c": 1, "o": 2, "y": 1, "x": 2, "part": 1, "k": 1, "along": "o"},
            **{"order": "pixels", "image_slots": 2, "weight_slots": 3, "sum_slots": 4},
        },
    ).program
    assert outline(found) == dedent("""\
        bias_acc @ acc
        for d0:2 d1:1 d2:4
              block bias_acc
        for y_o:2 x_o:1 o_o:1 thread:1
                sums @ acc in 4 slots
                biased @ acc in 4 slots
                shifted @ acc in 4 slots
                wide @ acc in 4 slots
                summed @ acc in 4 slots
                for part:2 eager o:1 y:1 x:2 b:1 e:4
                            block wide
                for c_o:2
                  sums_image @ inp in 2 slots
                  for d0:1 d1:2 d2:2 d3:1 d4:4
                            block sums_image
                  for k_o:2 part:2
                      sums_weight @ wgt in 3 slots
                      for d0:1 d1:1 d2:1 d3:1 d4:4 d5:4
                                  block sums_weight
                      for o:1 y:1 x:2 c_i:1 k:1 l:1
                                  block sums fill_0 gemm
                for part:2 eager o:1 y:1 x:2
                        block biased alu_add
                for part:2 eager o:1 y:1 x:2
                        block shifted alu_shr_imm_3
                for part:2 eager o:1 y:1 x:2
                        block summed alu_add
                for part:2 eager o_i:1 y_i:1 x_i:2 b:1 e:4
                            block y""")


@pytest.mark.parametrize(
    ("stays", "along", "loops", "loaded"),
    [
        ("weight", "y", "for o_o:2", "sums_weight @ wgt"),
        ("image", "o", "for y_o:2 x_o:1", "sums_image @ inp"),
    ],
)
def test_what_stays_is_loaded_outside(stays: str, along: str, loops: str, loaded: str) -> None:
    choice = tile(stays=stays, along=along, c=2)
    lines = outline(SMALL.start.replay(tiled(SMALL), choice).program).splitlines()
    at = lines.index(loops)
    assert lines[at + 1].strip() == loaded
    # The other one with each step.
    steps = next(number for number, line in enumerate(lines) if line.strip() == "for c_o:1")
    other = {"sums_weight @ wgt", "sums_image @ inp"} - {loaded}
    assert {lines[steps + 1].strip()} == other


def test_padding_is_made_on_chip() -> None:
    padded = product(windows(2, 2, 2, 2, kernel=(1, 3), padded=True))
    found = outline(padded.start.replay(tiled(padded), tile()).program)
    assert "padded @ inp" in found
    assert "sums_image" not in found


def test_residuals_in_inp_are_loaded_behind_the_sums() -> None:
    """Once for all passes that read them, with each tile; operands in ACC before all loops."""
    found = product(windows(2, 2, 2, 2, kernel=(1, 1), in_inp=True), EXTENDED)
    scopes = [{name: scope.value for name, scope in one.inputs.items()} for one in found.passes]
    assert scopes == [{"bias": "acc"}, {}, {"skip": "inp"}, {"skip": "inp"}]
    lines = outline(found.start.replay(tiled(found), tile()).program).splitlines()
    blocks = [line.split()[1] for line in lines if "block" in line]
    assert blocks == [
        *("bias_acc", "sums_weight", "sums_image", "sums"),
        *("biased", "shifted", "skip_inp", "once", "twice", "y"),
    ]
    assert "        skip_inp @ inp" in lines


def results(program: PrimFunc, values: list[Any]) -> Any:
    (found,) = interpreter.run(program, values)
    return found


@pytest.mark.parametrize(
    "output",
    [
        windows(2, 3, 2, 3, kernel=(2, 1), stride=2, skip=True),
        windows(3, 2, 3, 2, kernel=(1, 2), padded=True),
        matrices(rows=3, blocks=4, depth=3, stacks=2, passes=True),
    ],
    ids=["strided", "padded", "stacks"],
)
def test_schedules_change_no_result(output: Tensor) -> None:
    of, rng = product(output), np.random.default_rng(7)
    inputs = of.start.program.inputs
    values = [rng.integers(-99, 99, each.shape).astype(each.dtype.numpy) for each in inputs]
    wanted = results(of.start.program, values)
    every = tiled_space(of).choices()
    chosen = [
        every.where(every.equals("stays", stays)).choice(int(rng.integers(0, 9)))
        for stays in ("steps", "weight", "image")
    ]
    for choice in chosen:
        found = of.start.replay(tiled(of), choice).program
        np.testing.assert_array_equal(results(found, values), wanted, str(choice))
    some = slotted_space(of, "o").choices()
    for order in ("outputs", "pixels"):
        alike = some.where(some.equals("order", order))
        choice = settings(of, "o", alike.choice(int(rng.integers(0, len(alike)))))
        found = of.start.replay(slotted(of, "o"), choice).program
        np.testing.assert_array_equal(results(found, values), wanted, str(choice))


def test_refuses_choices_of_the_other_schedule() -> None:
    with pytest.raises(ReplayError, match=r"^no choice for k, part, sum_slots"):
        SMALL.start.replay(slotted(SMALL, "o"), {**tile(threads=1), "order": "outputs"})
