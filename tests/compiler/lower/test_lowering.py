from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import IRError
from tandem.compiler.ir.expr import Var
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.stmt import PrimFunc, Store
from tandem.compiler.ir.visit import rewrite
from tandem.compiler.lower import LOOP_PASSES, lower
from tests.support.compiler.ir.ir_strategies import arrays, functions
from tests.support.compiler.machines.accelerator.lower.passes import keeps_meaning

TILED = """
func C(A: float32[50, 70], B: float32[70, 40]) -> (C: float32[50, 40]):
  for C.k_o in 24:
    for C.i_o in 4:
      for C.k_i in 3:
        for C.i_i in 16:
          for C.j in 40 vectorized:
            block C(spatial i < 50 = C.i_o * 16 + C.i_i, spatial j < 40 = C.j,\
 reduce k < 70 = C.k_o * 3 + C.k_i):
              where C.i_o * 16 + C.i_i < 50, C.k_o * 3 + C.k_i < 70
              init:
                C[i, j] = 0.0
              C[i, j] = C[i, j] + A[i, k] * B[k, j]
"""


@dataclass(frozen=True)
class Break:
    """A pass with a mistake: it forgets a variable."""

    name: str = "break"

    def apply(self, function: PrimFunc) -> PrimFunc:
        def change(stmt: object) -> object:
            return replace(stmt, value=Var("lost")) if isinstance(stmt, Store) else stmt

        return replace(function, body=rewrite(function.body, change))  # type: ignore[arg-type]


@dataclass(frozen=True)
class All:
    name: str = "all"

    def apply(self, function: PrimFunc) -> PrimFunc:
        return lower(function)


def test_a_tiled_product(golden: Callable[[str, str], None]) -> None:
    golden("lower/tiled.txt", text(lower(parse(TILED))))


def test_the_pass_that_breaks_a_program_is_named() -> None:
    with pytest.raises(IRError, match=r"after break: .*lost"):
        lower(parse(TILED), (LOOP_PASSES[0], Break()))


def test_an_illegal_program_is_refused_as_it_comes() -> None:
    with pytest.raises(IRError, match="lost"):
        lower(Break().apply(parse(TILED)))


@settings(max_examples=40)
@given(st.data())
def test_random_programs_keep_their_meaning(data: st.DataObject) -> None:
    function = data.draw(functions(exact=True))
    keeps_meaning(All(), function, data.draw(arrays(function)))
