from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.ir.stmt import Block
from tandem.compiler.ir.visit import statements
from tandem.compiler.lower.lower_blocks import LowerBlocks
from tests.support.compiler.ir.ir_strategies import arrays, functions
from tests.support.compiler.machines.accelerator.lower.passes import becomes, keeps_meaning


def test_a_block_becomes_what_it_means() -> None:
    becomes(
        LowerBlocks(),
        """
func f(A: float32[8, 4]) -> (C: float32[6]):
  for C.i in 8:
    for C.k in 4:
      block C(spatial i < 6 = C.i, reduce k < 4 = C.k):
        where C.i < 6
        init:
          C[i] = 0.0
        C[i] = C[i] + A[i, k]
""",
        """
func f(A: float32[8, 4]) -> (C: float32[6]):
  for C.i in 8:
    for C.k in 4:
      if C.i < 6:
        if C.k == 0:
          C[C.i] = 0.0
        C[C.i] = C[C.i] + A[C.i, C.k]
""",
    )


def test_init_without_an_axis_that_reduces_always_runs() -> None:
    becomes(
        LowerBlocks(),
        """
func f() -> (C: int32[2]):
  for C.i in 2:
    block C(spatial i < 2 = C.i):
      init:
        C[i] = 1
      C[i] = C[i] + 1
""",
        """
func f() -> (C: int32[2]):
  for C.i in 2:
    C[C.i] = 1
    C[C.i] = C[C.i] + 1
""",
    )


def test_axes_of_one_name_in_two_blocks_stay_apart() -> None:
    becomes(
        LowerBlocks(),
        """
func f() -> (C: int64[4], D: int64[4]):
  for C.a in 4:
    block C(spatial i < 4 = 3 - C.a):
      C[i] = i
  for D.a in 4:
    block D(spatial i < 4 = D.a):
      D[i] = C[i] + i
""",
        """
func f() -> (C: int64[4], D: int64[4]):
  for C.a in 4:
    C[3 - C.a] = 3 - C.a
  for D.a in 4:
    D[D.a] = C[D.a] + D.a
""",
    )


@settings(max_examples=40)
@given(st.data())
def test_random_programs_keep_their_meaning(data: st.DataObject) -> None:
    function = data.draw(functions(exact=True))
    keeps_meaning(LowerBlocks(), function, data.draw(arrays(function)))
    body = LowerBlocks().apply(function).body
    assert not any(isinstance(each, Block) for each in statements(body))
