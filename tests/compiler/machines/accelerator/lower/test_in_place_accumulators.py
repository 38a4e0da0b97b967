from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.stmt import Alloc, PrimFunc
from tandem.compiler.ir.visit import statements
from tandem.compiler.machines.accelerator.intrinsics.base import immediate_by_name
from tandem.compiler.machines.accelerator.lower.in_place_accumulators import InPlaceAccumulators
from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.hw.config_files import load_config
from tests.support.compiler.machines.accelerator.lower.passes import (
    becomes,
    keeps_meaning,
    unchanged,
)

TINY = load_config("tiny")
TARGET = AcceleratorTarget.of(TINY)
PASS = InPlaceAccumulators(TARGET)


def _named(name: str) -> PrimFunc:
    found = immediate_by_name(TINY, name)
    assert found is not None
    return found.function


NAMES = ("fill_0", "fill_3", "alu_max_imm_0", "alu_min_imm_100", "alu_add_imm_7", "alu_shr_imm_1")
INTRINSICS = {name: _named(name) for name in NAMES} | {
    instruction.name: instruction.function for instruction in TARGET.instructions
}

CHAIN = """
func f(A: int32[4, 1, 4]) -> (O: int8[4, 1, 4]):
  alloc sum: int32[4, 1, 4] @ acc
  alloc low: int32[4, 1, 4] @ acc
  alloc high: int32[4, 1, 4] @ acc
  for i in 4:
    for l in 4:
      sum[i, 0, l] = A[i, 0, l]
  for j in 4:
    invoke alu_max_imm_0(sum[j :+ 1, 0 :+ 1, 0 :+ 4], low[j :+ 1, 0 :+ 1, 0 :+ 4])
  for k in 4:
    invoke alu_min_imm_100(low[k :+ 1, 0 :+ 1, 0 :+ 4], high[k :+ 1, 0 :+ 1, 0 :+ 4])
  for m in 4:
    for n in 4:
      O[m, 0, n] = int8(high[m, 0, n])
"""


def test_a_chain_is_done_in_place() -> None:
    becomes(
        PASS,
        CHAIN,
        """
func f(A: int32[4, 1, 4]) -> (O: int8[4, 1, 4]):
  alloc sum: int32[4, 1, 4] @ acc
  for i in 4:
    for l in 4:
      sum[i, 0, l] = A[i, 0, l]
  for j in 4:
    invoke alu_max_imm_0(sum[j :+ 1, 0 :+ 1, 0 :+ 4], sum[j :+ 1, 0 :+ 1, 0 :+ 4])
  for k in 4:
    invoke alu_min_imm_100(sum[k :+ 1, 0 :+ 1, 0 :+ 4], sum[k :+ 1, 0 :+ 1, 0 :+ 4])
  for m in 4:
    for n in 4:
      O[m, 0, n] = int8(sum[m, 0, n])
""",
        INTRINSICS,
    )


def test_the_second_operand_stays_where_it_is() -> None:
    """`alu_add` starts from its first operand; `B` is read afterwards, too."""
    program = """
func f(X: int32[2, 1, 4], Y: int32[2, 1, 4]) -> (O: int32[2, 1, 4]):
  alloc a: int32[2, 1, 4] @ acc
  alloc b: int32[2, 1, 4] @ acc
  alloc c: int32[2, 1, 4] @ acc
  for i in 2:
    for l in 4:
      a[i, 0, l] = X[i, 0, l]
  for i2 in 2:
    for l2 in 4:
      b[i2, 0, l2] = Y[i2, 0, l2]
  for j in 2:
    invoke alu_add({first}[j :+ 1, 0 :+ 1, 0 :+ 4], {second}[j :+ 1, 0 :+ 1, 0 :+ 4], \
c[j :+ 1, 0 :+ 1, 0 :+ 4])
  for m in 2:
    for n in 4:
      O[m, 0, n] = {out}[m, 0, n] + {also}[m, 0, n]
"""
    before = program.format(first="a", second="b", out="c", also="b")
    after = program.replace("  alloc c: int32[2, 1, 4] @ acc\n", "").replace("c[j", "a[j")
    becomes(PASS, before, after.format(first="a", second="b", out="a", also="b"), INTRINSICS)
    # Both are read again.
    both = before.replace("O[m, 0, n] = c[m, 0, n]", "O[m, 0, n] = c[m, 0, n] + a[m, 0, n]")
    unchanged(PASS, both, INTRINSICS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # Read again, later.
        ("int8(high[m, 0, n])", "int8(high[m, 0, n] + sum[m, 0, n] + low[m, 0, n])"),
        # Elements change places.
        ("sum[j :+ 1", "sum[3 - j :+ 1"),
        # Two iterations may access one element.
        (
            "for j in 4:\n    invoke alu_max_imm_0(sum[j :+ 1",
            "for j in 8:\n    if j < 4:\n      invoke alu_max_imm_0(sum[j % 4 :+ 1",
        ),
        # It is no accumulator, or of another shape.
        ("low: int32[4, 1, 4] @ acc", "low: int32[4, 1, 4] @ local"),
        ("low: int32[4, 1, 4] @ acc", "low: int32[5, 1, 4] @ acc"),
    ],
)
def test_what_stays(old: str, new: str) -> None:
    """`sum` and `low` are two, whatever comes of `low` and `high`."""
    assert old in CHAIN
    program = CHAIN.replace(old, new)
    found = PASS.apply(parse(program, INTRINSICS))
    names = {each.buffer.name for each in statements(found.body) if isinstance(each, Alloc)}
    assert {"sum", "low"} <= names
    array = np.arange(16, dtype=np.int32).reshape(4, 1, 4)
    keeps_meaning(PASS, parse(program, INTRINSICS), [array])


def test_loops_that_mean_an_element_twice_do_not_share() -> None:
    """`2 * j - 4 * (j // 2)` is 0, 2, 0, 2: an iteration would read what another writes."""
    at = "2 * j - 4 * (j // 2)"
    program = CHAIN.replace(
        "(sum[j :+ 1, 0 :+ 1, 0 :+ 4], low[j :+ 1",
        f"(sum[{at} :+ 1, 0 :+ 1, 0 :+ 4], low[{at} :+ 1",
    )
    program = program.replace("alu_max_imm_0", "alu_add_imm_7")
    for old, new in (("for k in 4", "for k in 1"), ("for m in 4", "for m in 1")):
        program = program.replace(old, new)
    program = program.replace("O: int8[4,", "O: int8[1,")
    found = PASS.apply(parse(program, INTRINSICS))
    names = {each.buffer.name for each in statements(found.body) if isinstance(each, Alloc)}
    assert {"sum", "low"} <= names
    keeps_meaning(PASS, parse(program, INTRINSICS), [np.ones((4, 1, 4), np.int32)])


def test_what_does_not_start_from_it_takes_no_place() -> None:
    """The product is added to other accumulators; a fill starts from nothing."""
    unchanged(
        PASS,
        """
func f(X: int32[2, 1, 4]) -> (O: int32[2, 1, 4]):
  alloc a: int32[2, 1, 4] @ acc
  alloc b: int32[2, 1, 4] @ acc
  alloc c: int32[2, 1, 4] @ acc
  for i in 2:
    for l in 4:
      a[i, 0, l] = X[i, 0, l]
  for j in 2:
    invoke fill_3(b[j :+ 1, 0 :+ 1, 0 :+ 4])
  for k in 2:
    invoke alu_add(b[k :+ 1, 0 :+ 1, 0 :+ 4], a[k :+ 1, 0 :+ 1, 0 :+ 4], \
c[k :+ 1, 0 :+ 1, 0 :+ 4])
  for m in 2:
    for n in 4:
      O[m, 0, n] = c[m, 0, n] + b[m, 0, n]
""",
        INTRINSICS,
    )


def random_program(rng: random.Random) -> str:
    """ALU instructions from any of the buffers so far into new ones, and a sum of some of them."""
    lines, known = [], ["b0"]
    allocs = ["  alloc b0: int32[3, 1, 4] @ acc"]
    lines += ["  for i in 3:", "    for l in 4:", "      b0[i, 0, l] = A[i, 0, l]"]
    for number in range(1, rng.randint(2, 6)):
        new = f"b{number}"
        shape = "3" if rng.random() < 0.9 else "4"
        scope = "acc" if rng.random() < 0.9 else "local"
        allocs.append(f"  alloc {new}: int32[{shape}, 1, 4] @ {scope}")
        loop = f"i{number}"
        source, other = rng.choice(known[-2:]), rng.choice(known)
        at = rng.choice((loop,) * 6 + (f"2 - {loop}",))
        boxes = f"[{loop} :+ 1, 0 :+ 1, 0 :+ 4]"
        read = f"{source}[{at} :+ 1, 0 :+ 1, 0 :+ 4]"
        name = rng.choice(("alu_add_imm_7", "alu_max_imm_0", "alu_shr_imm_1", "alu_add", "alu_min"))
        operands = [read, *([other + boxes] if name in ("alu_add", "alu_min") else [])]
        if len(operands) == 2 and rng.random() < 0.5:
            operands.reverse()
        lines.append(f"  for {loop} in 3:")
        lines.append(f"    invoke {name}({', '.join(operands)}, {new}{boxes})")
        known.append(new)
    read_again = [each for each in known[:-1] if rng.random() < 0.2]
    total = " + ".join(f"{each}[m, 0, n]" for each in (known[-1], *read_again))
    lines += ["  for m in 3:", "    for n in 4:", f"      O[m, 0, n] = {total}"]
    head = "func f(A: int32[3, 1, 4]) -> (O: int32[3, 1, 4]):"
    return "\n".join((head, *allocs, *lines, ""))


@settings(max_examples=80)
@given(st.randoms(use_true_random=False))
def test_random_programs_keep_their_meaning(rng: random.Random) -> None:
    function = parse(random_program(rng), INTRINSICS)
    array = np.random.default_rng(rng.randint(0, 99)).integers(-200, 200, (3, 1, 4))
    keeps_meaning(PASS, function, [array.astype(np.int32)])


def test_most_random_programs_share() -> None:
    """A test of the test."""
    fewer = 0
    for seed in range(40):
        function = parse(random_program(random.Random(seed)), INTRINSICS)
        fewer += PASS.apply(function) != function
    assert 15 < fewer < 40
