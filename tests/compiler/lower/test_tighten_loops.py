from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.lower.lower_blocks import LowerBlocks
from tandem.compiler.lower.tighten_loops import TightenLoops
from tests.support.compiler.ir.ir_strategies import arrays, functions
from tests.support.compiler.machines.accelerator.lower.passes import (
    becomes,
    keeps_meaning,
    unchanged,
)

_LOOP = """
func f() -> (C: int32[50]):
  for o in 4:
    for i in 16{kind}:
      if {condition}:
        C[o * 16 + i] = 1
"""


def test_a_guard_becomes_an_extent() -> None:
    becomes(
        TightenLoops(),
        _LOOP.format(kind="", condition="o * 16 + i < 50"),
        """
func f() -> (C: int32[50]):
  for o in 4:
    for i in min(50 - o * 16, 16):
      C[o * 16 + i] = 1
""",
    )


def test_an_extent_is_never_negative() -> None:
    becomes(
        TightenLoops(),
        """
func f() -> (C: int32[50]):
  for o in 9:
    for i in 16:
      if o * 16 + i <= 49:
        C[o * 16 + i] = 1
""",
        """
func f() -> (C: int32[50]):
  for o in 9:
    for i in max(min(50 - o * 16, 16), 0):
      C[o * 16 + i] = 1
""",
    )


def test_steps_of_several() -> None:
    becomes(
        TightenLoops(),
        """
func f() -> (C: int32[10]):
  for z in 10:
    C[z] = 0
  for i in 8:
    if i * 3 < 10:
      C[i * 3] = 1
""",
        """
func f() -> (C: int32[10]):
  for z in 10:
    C[z] = 0
  for i in 4:
    C[i * 3] = 1
""",
    )


def test_lanes_copies_and_threads_keep_their_number() -> None:
    for kind in (" vectorized", " unrolled", " virtual_thread"):
        unchanged(TightenLoops(), _LOOP.format(kind=kind, condition="o * 16 + i < 50"))


def test_other_conditions_stay() -> None:
    unchanged(
        TightenLoops(),
        """
func f(A: int64[4]) -> (C: int32[4, 4]):
  for z in 4:
    for y in 4:
      C[z, y] = 0
  for i in 4:
    for j in 4:
      if (i < j + 1) & (i % 2 == 0) & (i < A[j]):
        C[i, j] = 1
""",
    )


@settings(max_examples=40)
@given(st.data())
def test_random_programs_keep_their_meaning(data: st.DataObject) -> None:
    function = LowerBlocks().apply(data.draw(functions(exact=True)))
    keeps_meaning(TightenLoops(), function, data.draw(arrays(function)))
