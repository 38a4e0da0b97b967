from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.errors import LoweringError
from compiler.ir import interpreter
from compiler.ir.dtypes import INDEX
from compiler.ir.expr import Var
from compiler.ir.ops import load
from compiler.ir.parser import parse
from compiler.ir.stmt import For
from compiler.lower.accelerator.forms import Env
from compiler.lower.accelerator.nests import Box, Nest, within
from compiler.lower.accelerator.nests import Tests as Conditions

EXTENTS = {"i": 4, "j": 5, "k": 3}
SUMS = ("{a}*i + {b}*j", "{a}*i + {b}*k + j", "{a}*j", "{a}*k + {b}", "i", "{a}*t - j")
OTHERS = ("i // 2 + {a}*j", "(j + t) % 2", "min(i, k) + {b}", "{a}*(k // 2) - i")


def points(env: Env, box: Box) -> list[tuple[int, ...]]:
    """The turns of i, j and k that a box means."""
    ranges = [range(*box[name]) if name in box else (env[name],) for name in EXTENTS]
    return list(product(*ranges))


OUTSIDE = ("i", "{a}*i + {b}*t", "i // 2 + {b}", "{a}*t")


def conditions(rng: random.Random, forms: tuple[str, ...]) -> str:
    found = []
    for _ in range(rng.randint(0, 3)):
        form = rng.choice(forms)
        total = form.format(a=rng.choice((-3, -2, -1, 1, 2, 3)), b=rng.randint(-3, 3))
        found.append(f"({total} {rng.choice(('<', '<=', '=='))} {rng.randint(-3, 8)})")
    return " & ".join(found) or "True"


@settings(max_examples=120)
@given(st.randoms(use_true_random=False))
def test_boxes_are_the_turns_that_take_place(rng: random.Random) -> None:
    """Each once, for random conditions between loops, and extents that depend on loops."""
    inner = rng.choice(("5", "5", "i + 1", "5 - t", "min(5, i + t)"))
    function = parse(f"""
func f() -> (C: int8[3, 4, 5, 3]):
  for t in 3:
    for i in 4:
      if {conditions(rng, OUTSIDE)}:
        for j in {inner}:
          for k in 3:
            if {conditions(rng, SUMS + SUMS + OTHERS)}:
              C[t, i, j, k] = 1
""")
    (wanted,) = interpreter.run(function, [], complete=False)
    assert isinstance(function.body, For)
    nest = Nest.of(function.body.body)
    assert nest.names == set(EXTENTS)
    more = frozenset(name for name in EXTENTS if rng.random() < 0.2)
    for t in range(3):
        found: list[tuple[int, ...]] = []
        for env, box in nest.boxes({"t": t}, more):
            assert not box.keys() & (nest.unrolled | more)
            assert env.keys() | box.keys() == {"t", *EXTENTS}
            assert not env.keys() & box.keys()
            found += points(env, box)
        assert len(found) == len(set(found))
        assert set(found) == {tuple(map(int, each)) for each in np.argwhere(wanted[t])}


def test_a_condition_on_one_loop_shortens_its_box() -> None:
    i, j = Var("i"), Var("j")
    tests = Conditions.of((i * 3 < 10, i * -2 <= -3, j < 99))
    assert list(within(tests, {}, {"i": (0, 8), "j": (0, 4)})) == [({}, {"i": (2, 4), "j": (0, 4)})]


def test_a_condition_on_two_loops_takes_the_shorter_one_turn_by_turn() -> None:
    i, j = Var("i"), Var("j")
    tests = Conditions.of((i + j < 3,))
    found = list(within(tests, {}, {"i": (0, 2), "j": (0, 9)}))
    assert found == [({"i": 0}, {"j": (0, 3)}), ({"i": 1}, {"j": (0, 2)})]


def test_a_condition_that_never_fails_takes_no_loop_apart() -> None:
    tests = Conditions.of((Var("i") + Var("j") < 10,))
    box = {"i": (0, 2), "j": (0, 9)}
    assert list(within(tests, {}, box)) == [({}, box)]


def test_extents_that_depend_on_loops_inside_unroll_these() -> None:
    function = parse("""
func f() -> (C: int8[9, 9, 9]):
  for i in 4:
    for j in i + 1:
      for k in 3:
        C[i, j, k] = 1
""")
    assert Nest.of(function.body).unrolled == {"i"}


@pytest.mark.parametrize("test", ["i != 3", "(i < 3) | (j < 2)", "A[i] < 3"])
def test_other_conditions_are_refused(test: str) -> None:
    function = parse(f"""
func f(A: int32[4]) -> (C: int8[4, 4]):
  for i in 4:
    for j in 4:
      if {test}:
        C[i, j] = 1
""")
    with pytest.raises(LoweringError, match="is no comparison of sums of loops"):
        Nest.of(function.body)


def test_data_inside_of_a_comparison_is_refused() -> None:
    buffer = parse("func f(A: int64[4]) -> (C: int8[1]):\n  C[0] = 1\n").inputs[0]
    assert buffer.dtype == INDEX
    with pytest.raises(LoweringError, match=r"cannot be A\[i\]: it needs data"):
        Conditions.of((load(buffer, Var("i")) < 3,))
