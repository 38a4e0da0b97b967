from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.lower.hoist_reduction_init import HoistReductionInit
from tandem.compiler.lower.lower_blocks import LowerBlocks
from tests.support.compiler.ir.ir_strategies import arrays, functions
from tests.support.compiler.machines.accelerator.lower.passes import (
    becomes,
    keeps_meaning,
    unchanged,
)


def test_the_start_of_a_sum_passes_every_loop_of_it() -> None:
    becomes(
        HoistReductionInit(),
        """
func f(A: int32[3, 2, 2]) -> (C: int32[3]):
  for i in 3:
    for k in 2:
      for l in 2:
        if k * 2 + l == 0:
          C[i] = 0
        C[i] = C[i] + A[i, k, l]
""",
        """
func f(A: int32[3, 2, 2]) -> (C: int32[3]):
  for i in 3:
    C[i] = 0
    for k in 2:
      for l in 2:
        C[i] = C[i] + A[i, k, l]
""",
    )


def test_loops_over_elements_inside_the_sum_are_doubled() -> None:
    becomes(
        HoistReductionInit(),
        """
func f(A: int32[6, 2]) -> (C: int32[6]):
  for k in 2:
    for i in 3:
      for j in 2 vectorized:
        if k == 0:
          C[i * 2 + j] = 0
        C[i * 2 + j] = C[i * 2 + j] + A[i * 2 + j, k]
""",
        """
func f(A: int32[6, 2]) -> (C: int32[6]):
  for i_1 in 3:
    for j_0 in 2 vectorized:
      C[i_1 * 2 + j_0] = 0
  for k in 2:
    for i in 3:
      for j in 2 vectorized:
        C[i * 2 + j] = C[i * 2 + j] + A[i * 2 + j, k]
""",
    )


def test_the_guard_of_a_sum_goes_with_its_start() -> None:
    becomes(
        HoistReductionInit(),
        """
func f(A: int32[3, 5]) -> (C: int32[3]):
  for i in 3:
    for k in 8:
      if k < 5:
        if k == 0:
          C[i] = 0
        C[i] = C[i] + A[i, k]
""",
        """
func f(A: int32[3, 5]) -> (C: int32[3]):
  for i in 3:
    if 0 < 5:
      C[i] = 0
    for k in 8:
      if k < 5:
        C[i] = C[i] + A[i, k]
""",
    )


def test_a_loop_that_may_not_run_does_not_start_either() -> None:
    becomes(
        HoistReductionInit(),
        """
func f() -> (C: int32[3]):
  for z in 3:
    C[z] = 7
  for i in 3:
    for k in i:
      if k == 0:
        C[i] = 0
      C[i] = C[i] + 1
""",
        """
func f() -> (C: int32[3]):
  for z in 3:
    C[z] = 7
  for i in 3:
    if 0 < i:
      C[i] = 0
    for k in i:
      C[i] = C[i] + 1
""",
    )


def test_a_start_stays_behind_what_it_reads() -> None:
    unchanged(
        HoistReductionInit(),
        """
func f() -> (C: int32[3], D: int32[1]):
  for i in 3:
    for k in 2:
      D[0] = int32(k) + 4
      if k == 0:
        C[i] = D[0]
      C[i] = C[i] + 1
""",
    )


def test_a_start_stays_where_turns_meet() -> None:
    """Each iteration of j initialises the same element again."""
    unchanged(
        HoistReductionInit(),
        """
func f() -> (C: int32[1]):
  for k in 2:
    for j in 3:
      if k == 0:
        C[0] = 5
      C[0] = C[0] + 1
""",
    )


def test_a_start_stays_where_neighbours_are_read() -> None:
    unchanged(
        HoistReductionInit(),
        """
func f() -> (C: int32[4]):
  for z in 4:
    C[z] = 9
  for k in 2:
    for j in 3:
      if k == 0:
        C[j] = 5
      C[j] = C[j] + C[j + 1]
""",
    )


def test_a_condition_on_data_is_no_start() -> None:
    unchanged(
        HoistReductionInit(),
        """
func f(A: int32[2]) -> (C: int32[1]):
  C[0] = 1
  for k in 2:
    if (k == 0) & (C[0] == A[0]):
      C[0] = 5
    C[0] = C[0] + 1
""",
    )


@settings(max_examples=40)
@given(st.data())
def test_random_programs_keep_their_meaning(data: st.DataObject) -> None:
    function = LowerBlocks().apply(data.draw(functions(exact=True)))
    keeps_meaning(HoistReductionInit(), function, data.draw(arrays(function)))
