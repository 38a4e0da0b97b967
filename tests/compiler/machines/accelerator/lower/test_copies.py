from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.stmt import For
from tandem.compiler.machines.accelerator.lower.commands import Copy
from tandem.compiler.machines.accelerator.lower.copies import CopyPlan
from tandem.compiler.machines.accelerator.lower.instruction_nests import Nest
from tandem.compiler.machines.accelerator.lower.onchip import lanes_of
from tandem.compiler.machines.accelerator.lower.rectangles import Rectangle, Zeros
from tandem.hw.config_files import load_config
from tandem.hw.topology import MemoryId
from tests.support.compiler.machines.accelerator.lower.command_machine import CommandMachine

TINY = load_config("tiny").replace(log_inp_buffer=10, log_acc_buffer=12)
NONE = (0, 0, 0, 0)


def plan_of(program: str) -> CopyPlan:
    return CopyPlan.of(Nest.of(parse(program).body), TINY)


def carried_out(plan: CopyPlan, found: list[Rectangle | Zeros], machine: CommandMachine) -> None:
    """The pieces as commands; where DRAM ends, there are zeros."""
    size = TINY.element_bytes(plan.memory)
    zeros = len(machine.dram) // size
    machine.dram = np.append(machine.dram, np.zeros(16 * size, np.uint8))
    for piece in found:
        if isinstance(piece, Zeros):
            what = (piece.sram, zeros, piece.count, 1, 0, NONE)
        else:
            what = (
                piece.sram,
                piece.dram,
                piece.rows,
                piece.columns,
                piece.stride,
                piece.pads,
            )
        sram, dram, rows, columns, stride, pads = what
        machine.run(
            [
                Copy(
                    memory=plan.memory,
                    sram=sram,
                    dram=dram,
                    rows=rows,
                    columns=columns,
                    stride=stride,
                    pads=pads,
                )
            ]
        )


def pieces_at(plan: CopyPlan, t: int, *, loose: bool = False) -> list[Rectangle | Zeros]:
    """Those of an iteration of the loop `t`, where they are."""
    more, _ = plan.offset({"t": t})
    return [
        replace(part, dram=part.dram + more) if isinstance(part, Rectangle) else part
        for part in plan.at({"t": t}, loose=loose)
    ]


def interpreted(program: str, value: str, source: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """What the program leaves; what it does not write is 0."""
    function = parse(program.replace("VALUE", value))
    return interpreter.run(function, [source], complete=False)[0]


def turn_plan(program: str, value: str) -> CopyPlan:
    """Of what the outer loop does."""
    function = parse(program.replace("VALUE", value))
    assert isinstance(function.body, For)
    return CopyPlan.of(Nest.of(function.body.body), TINY)


def load_compared(
    program: str, value: str, seed: int = 0, *, loose: bool = False
) -> list[Rectangle | Zeros]:
    """A load in a loop `t` of two iterations, as the interpreter does it and as pieces.

    Returns the pieces of the last iteration.
    """
    plan = turn_plan(program, value)
    source = plan.dram
    rng = np.random.default_rng(seed)
    array = rng.integers(1, 100, source.shape).astype(source.dtype.numpy)
    wanted = interpreted(program, value, array)
    written = interpreted(program, "1", array) == 1
    machine = CommandMachine(TINY, np.frombuffer(array.tobytes(), np.uint8))
    chip = machine.inp if plan.memory is MemoryId.INP else machine.acc
    chip[:] = 77
    found: list[Rectangle | Zeros] = []
    for t in range(2):
        found = pieces_at(plan, t, loose=loose)
        carried_out(plan, found, machine)
    size = wanted.size // lanes_of(plan.memory, TINY)
    got = chip[:size].reshape(wanted.shape)
    np.testing.assert_array_equal(got[written], wanted[written])
    assert loose or (got[~written] == 77).all()
    assert (chip[size:] == 77).all()
    return found


LOADS = (
    (MemoryId.INP, "int8", "int8", "inp", "{}"),
    (MemoryId.ACC, "int32", "int32", "acc", "{}"),
    (MemoryId.ACC_8BIT, "int8", "int32", "acc", "int32({})"),
)


@settings(max_examples=80)
@given(st.randoms(use_true_random=False))
def test_loads_with_padding_do_what_the_loops_do(rng: random.Random) -> None:
    """Channels, rows and columns: edges, guards, long padding, all of it inside or nothing."""
    memory, source, kind, scope, cast = rng.choice(LOADS)
    h, w = rng.randint(1, 3), rng.choice((1, 3, 4, 20))
    rows, columns = rng.randint(1, 5), rng.randint(1, 6)
    dy, dx = rng.randint(-3, 2), rng.choice((-18, -3, -1, 0, 2))
    y = rng.choice((f"y + {h} * t + {dy}", f"y + {dy}", f"y // 2 + t + {dy}"))
    x = rng.choice((f"x + {dx}", f"x + {dx} - t", f"2 * x + {dx}", f"x // 2 + {dx}"))
    inside = f"(0 <= {y}) & ({y} < {rows}) & (0 <= {x}) & ({x} < {columns})"
    if rng.random() < 0.3:
        inside += f" & (x + y < {rng.randint(0, 5)})"
    guard = rng.choice(("True", "True", f"y + t < {rng.randint(1, 4)}", "x + y < 3", "1 <= x"))
    order = rng.sample(("for c in 2:", f"for y in {h}:", f"for x in {w}:"), 3)
    program = f"""
func f(S: {source}[2, {rows}, {columns}, 1, 4]) -> (D: {kind}[2, {h}, {w}, 1, 4] @ {scope}):
  for t in 2:
    {order[0]}
      {order[1]}
        {order[2]}
          if {guard}:
            for l in 4:
              D[c, y, x, 0, l] = VALUE
"""
    element = cast.format(f"S[c, {y}, {x}, 0, l]")
    value = f"select({inside}, {element}, {kind}(0))"
    assert turn_plan(program, value).memory is memory
    load_compared(program, value, rng.randint(0, 99))


@settings(max_examples=30)
@given(st.randoms(use_true_random=False))
def test_elements_that_come_from_one_place_are_copied_to_all(rng: random.Random) -> None:
    """Sources that overlap, strides of 0, rows in reverse."""
    y = rng.choice(("0", "y", "2 - y", "y // 2", "min(y, 1)"))
    x = rng.choice(("0", "x", "x + y", "3 - x", "x // 3"))
    program = """
func f(S: int8[3, 7, 4]) -> (D: int8[3, 4, 4] @ inp):
  for t in 2:
    for y in 3:
      for x in 4:
        for l in 4:
          D[y, x, l] = VALUE
"""
    load_compared(program, f"S[{y}, {x}, l]", rng.randint(0, 99))


@settings(max_examples=40)
@given(st.randoms(use_true_random=False))
def test_stores_do_what_the_loops_do(rng: random.Random) -> None:
    h, w = rng.randint(1, 4), rng.randint(1, 4)
    rows, columns = h + rng.randint(0, 2), w + rng.randint(0, 2)
    step = rng.choice((1, 1, 2))
    guard = rng.choice(("True", "y + t < 3", "x + y < 3", "x < 2", "(1 <= x) & (y < 2)"))
    order = rng.sample((f"for y in {h}:", f"for x in {w}:"), 2)
    program = f"""
func f(S: int32[{rows}, {columns}, 1, 4] @ acc) -> (D: int8[{h + 1}, {step * w}, 1, 4]):
  for t in 2:
    {order[0]}
      {order[1]}
        if {guard}:
          for l in 4:
            D[y + t, {step} * x, 0, l] = VALUE
"""
    value = "int8(S[y, x, 0, l])"
    numbers = np.random.default_rng(rng.randint(0, 99))
    values = numbers.integers(-(1 << 31), 1 << 31, (rows, columns, 1, 4)).astype(np.int32)
    wanted = interpreted(program, value, values)
    written = interpreted(program, "1", values) == 1
    plan = turn_plan(program, value)
    assert plan.memory is MemoryId.OUT
    machine = CommandMachine(TINY, np.full(wanted.size, 55, np.uint8))
    machine.out[: rows * columns] = values.reshape(-1, 1, 4).astype(np.int8)
    for t in range(2):
        carried_out(plan, pieces_at(plan, t), machine)
    got = machine.dram[: wanted.size].view(np.int8).reshape(wanted.shape)
    np.testing.assert_array_equal(got[written], wanted[written])
    assert (got[~written] == 55).all()


LOOSE = """
func f(S: int8[3, 9, 4]) -> (D: int8[2, 4, 5, 4] @ inp):
  for t in 2:
    for y in 3:
      for x in 4:
        if {guard}:
          for l in 4:
            D[t, y, x + {first}, l] = VALUE
"""
LOOSE_VALUE = "S[y, x, l]"


@pytest.mark.parametrize(("first", "pads"), [(0, (0, 0, 0, 1)), (1, (0, 0, 0, 1))])
def test_rows_of_a_slice_are_loaded_together(first: int, pads: tuple[int, int, int, int]) -> None:
    """Where nobody needs what lies between; never over the end of the thread's slice."""
    program = LOOSE.format(guard="True", first=first)
    assert len(load_compared(program, LOOSE_VALUE)) == 3
    (piece,) = load_compared(program, LOOSE_VALUE, loose=True)
    assert piece == Rectangle(20 + first, 0, 3, 4, 9, pads)


def test_zeros_of_a_slice_stay_in_it() -> None:
    """The rows begin at the second element: behind the last one is the other thread's first."""
    program = LOOSE.format(guard="True", first=1).replace("int8[2, 4, 5, 4]", "int8[2, 3, 5, 4]")
    (piece,) = load_compared(program, LOOSE_VALUE, loose=True)
    assert piece == Rectangle(15, 0, 3, 4, 9, (0, 0, 1, 0))


def test_a_copy_of_several_boxes_fills_no_gaps() -> None:
    program = LOOSE.format(guard="x + y < 5", first=0)
    found = load_compared(program, LOOSE_VALUE, loose=True)
    assert len(found) == 3
    assert all(isinstance(each, Rectangle) and each.pads == NONE for each in found)


def test_the_window_of_a_convolution_is_a_load_a_channel_block() -> None:
    plan = plan_of("""
func f(S: int8[2, 6, 6, 4]) -> (D: int8[2, 4, 8, 4] @ inp):
  for c in 2:
    for y in 4:
      for x in 8:
        for l in 4:
          D[c, y, x, l] = select((1 <= y) & (1 <= x) & (x < 7), S[c, y - 1, x - 1, l], int8(0))
""")
    assert list(plan.at({})) == [
        Rectangle(0, 0, 3, 6, 6, (1, 0, 1, 1)),
        Rectangle(32, 36, 3, 6, 6, (1, 0, 1, 1)),
    ]


def test_a_turn_that_is_all_padding_loads_nothing_but_zeros() -> None:
    plan = plan_of("""
func f(S: int8[6, 4]) -> (D: int8[3, 4] @ inp):
  for y in 3:
    for l in 4:
      D[y, l] = select(y < 0, S[y, l], int8(0))
""")
    assert list(plan.at({})) == [Zeros(0, 3)]


COPY = """
func f(S: {source}[4, 4] {of}) -> (D: {kind}[4, 4] {to}):
  for y in 4:
    for l in 4:
      D[{index}] = {value}
"""


def refused(message: str, **changes: str) -> None:
    words = {"source": "int8", "of": "", "kind": "int8", "to": "@ inp", "index": "y, l"}
    with pytest.raises(LoweringError, match=message):
        list(plan_of(COPY.format(**{**words, "value": "S[y, l]", **changes})).at({}))


def test_what_is_no_copy_is_refused() -> None:
    refused("the value stored in D is no copy: tensorize what computes", value="S[y, l] + S[l, y]")
    refused("goes from inp to inp: loads go from global to inp, wgt or acc", of="@ inp")
    refused("goes from global to global", to="")
    refused("from inp to global", of="@ inp", to="")
    refused(
        "goes from int16 to int8: inp and wgt take int8",
        source="int16",
        value="int8(S[y, l])",
    )
    refused(
        "goes from uint8 to int32", source="uint8", kind="int32", to="@ acc", value="int32(S[y, l])"
    )
    refused("goes from int8 to int8", to="@ acc")
    refused(
        "from int32 to int32: .* stores give int8", source="int32", of="@ acc", kind="int32", to=""
    )
    refused(
        "the value stored in D is padded with something else than 0",
        value="select(y < 3, S[y, l], int8(1))",
    )
    refused(
        "from int32 to int8: .* stores give int8",
        source="int32",
        of="@ acc",
        to="",
        value="select(y < 3, int8(S[y, l]), int8(0))",
    )


def test_parts_of_elements_are_refused() -> None:
    """Elements of the configuration's inputs have 4 values."""
    where = r"S \[4, 4\] and D \[4, 4\]: INP is copied in elements of 4 values .*; "
    refused(where + "4 values lie 4 apart in DRAM, 1 on chip", value="S[l, y]")
    refused(where + "padding begins inside an element", value="select(l < 3, S[y, l], int8(0))")
    refused(where + "copies begin inside an element", index="y, l + 1")
    half = COPY.replace("for l in 4", "for l in 2")
    with pytest.raises(LoweringError, match=where + "2 values of each are copied"):
        list(
            plan_of(
                half.format(
                    source="int8", of="", kind="int8", to="@ inp", index="y, l", value="S[y, l]"
                )
            ).at({})
        )
    refused(where + "4 values lie 4 apart in DRAM, 0 on chip", index="0, l")


def test_an_element_that_is_written_several_times_is_refused() -> None:
    """Which one stays would depend on the order of the loops, and that changes."""
    with pytest.raises(LoweringError, match="some are written several times in one iteration"):
        list(
            plan_of("""
func f(S: int8[4, 4, 4]) -> (D: int8[7, 4] @ inp):
  for y in 4:
    for x in 4:
      for l in 4:
        D[x + y, l] = S[y, x, l]
""").at({})
        )


def test_no_step_may_end_inside_an_element() -> None:
    with pytest.raises(LoweringError, match=r"INP is copied .*; steps end inside an element"):
        list(
            plan_of("""
func f(S: int8[40]) -> (D: int8[8, 4] @ inp):
  for y in 4:
    for l in 4:
      D[y, l] = S[6 * y + l]
""").at({})
        )


REPEATED = """
func f(S: int32[3, 4] @ acc) -> (D: int8[7, 8]):
  for y in 3:
    for i in 2:
      for l in 4:
        D[INDEX] = int8(S[y, l])
"""


def test_an_element_is_stored_at_several_places() -> None:
    """Once with every place of the first loop, at which the rows of a STORE lie apart."""
    places = list(plan_of(REPEATED.replace("INDEX", "2 * y + i, l")).at({}))
    assert places == [Rectangle(0, first, 3, 1, 4, NONE) for first in (0, 2)]
    places = list(plan_of(REPEATED.replace("INDEX", "y, 4 * i + l")).at({}))
    assert places == [Rectangle(0, first, 3, 1, 2, NONE) for first in (0, 1)]


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("y + i, l", "some are written several times in one iteration"),
        ("y, 2 * i + l", "places of one element begin inside others"),
        ("y, l", "2 values lie 0 apart in DRAM, 0 on chip"),
    ],
)
def test_places_that_overlap_are_refused(index: str, message: str) -> None:
    with pytest.raises(LoweringError, match=message):
        list(plan_of(REPEATED.replace("INDEX", index)).at({}))
