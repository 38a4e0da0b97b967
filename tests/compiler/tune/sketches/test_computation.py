"""Computations: equal for expressions that differ in names alone, and read back from their text."""

from __future__ import annotations

import random

from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.te import Tensor, compute, maximum, placeholder, reduce_axis, sum
from tandem.compiler.te.build import program_of
from tandem.compiler.te.schedule import Schedule
from tandem.compiler.tune.sketches.computation import Computation
from tests.support.compiler.te.random_layers import random_layer
from tests.support.compiler.te.random_schedules import random_outputs
from tests.support.compiler.te.schedules import agree

TEXT = """\
func kernel(a0: float32[2, 3], a1: float32[3, 4]) -> (s1: float32[2, 4]):
  alloc s0: float32[2, 4]
  for s0.i0 in 2:
    for s0.i1 in 4:
      for s0.r0 in 3:
        block s0(spatial i0 < 2 = s0.i0, spatial i1 < 4 = s0.i1, reduce r0 < 3 = s0.r0):
          init:
            s0[i0, i1] = 0.0
          s0[i0, i1] = s0[i0, i1] + a0[i0, r0] * a1[r0, i1]
  for s1.i0 in 2:
    for s1.i1 in 4:
      block s1(spatial i0 < 2 = s1.i0, spatial i1 < 4 = s1.i1):
        s1[i0, i1] = max(s0[i0, i1], 0.0)
"""


def layer(data: str, weight: str, axes: tuple[str, str], out: str) -> Tensor:
    a, b = placeholder((2, 3), FLOAT32, data), placeholder((3, 4), FLOAT32, weight)
    k = reduce_axis(3, f"{axes[0]}{axes[1]}")
    product = compute((2, 4), lambda i, j: sum(a[i, k] * b[k, j], axis=k), "product", axes)
    return compute((2, 4), lambda i, j: maximum(product[i, j], 0.0), out, axes)


def test_names_tell_nothing() -> None:
    one = Computation.of(program_of([layer("x", "w", ("i", "j"), "y")]), (1,))
    other = Computation.of(program_of([layer("s1", "a0", ("j", "i"), "s0")]), (1,))
    assert one == other
    assert one.program == TEXT
    assert one.constant_names == {"a1"}
    assert one != Computation.of(program_of([layer("x", "w", ("i", "j"), "y")]))


def test_programs_are_read_back() -> None:
    for seed in range(40):
        rng = random.Random(seed)
        start = Schedule.of(random_layer(rng)) if seed % 2 else Schedule.of(*random_outputs(rng))
        computation = Computation.of(start.program)
        assert Computation.of(computation.start().program) == computation
        agree(computation.start(), start, seed)
