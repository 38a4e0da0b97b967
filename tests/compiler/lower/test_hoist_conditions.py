from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.lower.hoist_conditions import HoistConditions
from tandem.compiler.lower.lower_blocks import LowerBlocks
from tests.support.compiler.ir.ir_strategies import arrays, functions
from tests.support.compiler.machines.accelerator.lower.passes import (
    becomes,
    keeps_meaning,
    unchanged,
)


def test_parts_that_do_not_depend_on_a_loop_leave_it() -> None:
    becomes(
        HoistConditions(),
        """
func f() -> (C: int32[4, 4]):
  for z in 4:
    for y in 4:
      C[z, y] = 0
  for i in 8:
    for j in 4:
      if (i < 4) & (j <= i):
        C[i, j] = 1
""",
        """
func f() -> (C: int32[4, 4]):
  for z in 4:
    for y in 4:
      C[z, y] = 0
  for i in 8:
    if i < 4:
      for j in 4:
        if j <= i:
          C[i, j] = 1
""",
    )


def test_a_condition_of_all_in_a_sequence_is_asked_once() -> None:
    becomes(
        HoistConditions(),
        """
func f() -> (C: int32[4], D: int32[4]):
  for z in 4:
    C[z] = 0
    D[z] = 0
  for i in 4:
    for k in 2:
      if i < 3:
        C[i] = C[i] + 1
      if (i < 3) & (k < 1):
        D[i] = D[i] + 1
""",
        """
func f() -> (C: int32[4], D: int32[4]):
  for z in 4:
    C[z] = 0
    D[z] = 0
  for i in 4:
    if i < 3:
      for k in 2:
        C[i] = C[i] + 1
        if k < 1:
          D[i] = D[i] + 1
""",
    )


def test_an_allocation_is_passed() -> None:
    becomes(
        HoistConditions(),
        """
func f() -> (C: int32[4]):
  for z in 4:
    C[z] = 0
  for i in 5:
    alloc t: int32[1] @ local
    if i < 4:
      t[0] = 1
      C[i] = t[0]
""",
        """
func f() -> (C: int32[4]):
  for z in 4:
    C[z] = 0
  for i in 5:
    if i < 4:
      alloc t: int32[1] @ local
      t[0] = 1
      C[i] = t[0]
""",
    )


def test_conditions_on_data_stay() -> None:
    unchanged(
        HoistConditions(),
        """
func f(A: int32[4]) -> (C: int32[4]):
  for z in 4:
    C[z] = 0
  for i in 4:
    for k in 2:
      if A[i] < 3:
        C[i] = C[i] + 1
""",
    )


def test_a_block_keeps_its_conditions() -> None:
    """What is hoisted inside does not leave it."""
    becomes(
        HoistConditions(),
        """
func f() -> (C: int32[4, 2]):
  for i in 4:
    block C(spatial a < 4 = i):
      for z in 2:
        C[a, z] = 0
      for j in 2:
        if a < 3:
          C[a, j] = 1
""",
        """
func f() -> (C: int32[4, 2]):
  for i in 4:
    block C(spatial a < 4 = i):
      for z in 2:
        C[a, z] = 0
      if a < 3:
        for j in 2:
          C[a, j] = 1
""",
    )


@settings(max_examples=40)
@given(st.data())
def test_random_programs_keep_their_meaning(data: st.DataObject) -> None:
    function = LowerBlocks().apply(data.draw(functions(exact=True)))
    keeps_meaning(HoistConditions(), function, data.draw(arrays(function)))
