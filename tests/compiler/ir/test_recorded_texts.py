"""What the parser and the verifier say of damaged programs stays what it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from random import Random

import numpy as np

from tandem.compiler.errors import IRError, ParseError
from tandem.compiler.ir.interpreter import run
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.ir.verify import verify
from tandem.compiler.lower import lower
from tandem.compiler.te.schedule import Schedule
from tests.support.compiler.damaged_text import damaged_text
from tests.support.compiler.te.random_schedules import random_outputs, random_schedule
from tests.support.compiler.te.schedules import random_inputs

CASES = 600
_MOST = 2000
"""Elements of a program that is run."""

_COPY = parse(
    """
func copy4(x: float32[4]) -> (y: float32[4]):
  for i in 4:
    y[i] = x[i]
"""
)
_EVERYTHING = """
func all(A: float32[8, 8], D: float64[]) -> (C: float32[8, 8], V: float32[3, 4]):
  alloc T: int8[4] @ local in 2 slots
  T[0] = 1
  if (T[0] < 3) & ((D[] == 1.5) | ~(A[0, 0] <= 2.5)):
    T[0] = -T[0] + int8(A[1, 2])
  for C.i_o in 3 parallel:
    for C.i_i in 3 vectorized:
      for C.k in 8 unrolled:
        block C(spatial i < 8 = C.i_o * 3 + C.i_i, reduce k < 8 = C.k):
          where C.i_o * 3 + C.i_i < 8
          init:
            C[i, i] = 0.0
          C[i, i] = C[i, i] + A[i, k] * select(i < k, A[k, i], max(A[i, i], 2.0))
  for r in 2 virtual_thread:
    invoke copy4(A[r :+ 1, 0 :+ 4], V[r :+ 1, 0 :+ 4])
  for e in min(3, 1 + 7 // 2 % 4):
    V[2, e] = exp(A[e, 0])
"""
_INTRINSICS = {_COPY.name: _COPY}


def _read(program: str) -> str:
    try:
        function = parse(program, _INTRINSICS)
        verify(function)
    except (ParseError, IRError) as error:
        return f"{type(error).__name__}: {error}"
    return f"{text(function)}\n{_outputs(function)}"


def _outputs(function: PrimFunc) -> str:
    """What the interpreter computes of small numbers, or says."""
    if sum(prod(each.shape) for each in (*function.inputs, *function.outputs)) > _MOST:
        return "not run: large"
    try:
        found = run(function, random_inputs(function))
    except IRError as error:
        return f"{type(error).__name__}: {error}"
    return "\n".join(np.array2string(each, precision=3, threshold=_MOST) for each in found)


def _programs() -> list[str]:
    found = [_EVERYTHING]
    for seed in range(12):
        rng = Random(f"program {seed}")
        start = Schedule.of(*random_outputs(rng))
        program = random_schedule(rng, start, 6)[0].program
        found.append(text(lower(program) if seed % 3 == 0 else program))
    return found


def test_damaged_programs(recorded: Callable[[str, Sequence[str]], None]) -> None:
    """Every second one is of the program that has every kind of statement."""
    programs, found = _programs(), []
    for seed in range(CASES):
        rng = Random(f"damage {seed}")
        program = damaged_text(rng, programs[0] if seed % 2 else rng.choice(programs))
        found.append(f"{_read(program)}\n{program}")
    recorded("recorded/ir/damaged_programs.txt", found)
