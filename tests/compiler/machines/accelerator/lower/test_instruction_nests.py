"""Loop nests around a single instruction."""

from __future__ import annotations

import random
from itertools import product
from textwrap import indent

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.dtypes import INDEX
from tandem.compiler.ir.expr import Var
from tandem.compiler.ir.ops import load
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.stmt import Alloc, For, Invoke, Stmt, Store
from tandem.compiler.ir.visit import statements
from tandem.compiler.machines.accelerator.lower.index_sums import Env
from tandem.compiler.machines.accelerator.lower.instruction_nests import (
    Box,
    Conditions,
    Nest,
    flat,
    is_instruction,
    is_load,
    leaf,
    within,
    written_whole,
)
from tests.support.compiler.machines.accelerator.lower.invocations import INTRINSICS


def body(text: str) -> Stmt:
    declared = "func f(S: int8[4, 6, 4], P: int32[4, 4]) -> (D: int8[4, 6, 4]):\n"
    return parse(declared + indent(text, "  ")).body


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("D[0, 0, 0] = 1\n", True),
        ("for i in 4:\n  if i < 3:\n    for j in i:\n      D[i, j, 0] = 1\n", True),
        ("for i in 4 unrolled:\n  D[i, 0, 0] = 1\n", False),
        ("for i in 4:\n  for j in 2 unrolled:\n    D[i, j, 0] = 1\n", False),
        ("for i in 4:\n  D[i, 0, 0] = 1\n  D[i, 1, 0] = 1\n", False),
        ("alloc A: int8[4, 4] @ inp\nA[0, 0] = 1\n", False),
    ],
)
def test_what_is_one_instruction(text: str, whole: bool) -> None:
    stmt = body(text)
    assert is_instruction(stmt) is whole
    if whole:
        inner = leaf(stmt)
        assert not isinstance(inner, Invoke)
        assert inner.buffer.name == "D"


@pytest.mark.parametrize(
    ("kind", "loads"),
    [("int8[1] @ inp", True), ("int8[1] @ wgt", True), ("int8[1] @ acc", False)],
)
def test_which_are_the_load_units(kind: str, loads: bool) -> None:
    stmt = body(f"alloc A: {kind}\nfor i in 1:\n  A[i] = S[0, 0, 0]\n")
    assert isinstance(stmt, Alloc)
    assert is_load(stmt.body) is loads


def test_a_sequence_made_flat() -> None:
    stmt = body("""\
alloc A: int8[1] @ inp
A[0] = 1
alloc B: int8[1] @ inp
B[0] = 2
for i in 4:
  D[i, 0, 0] = 3
  D[i, 0, 1] = 4
D[0, 0, 0] = A[0]
""")
    buffers, parts = flat(stmt)
    assert [each.name for each in buffers] == ["A", "B"]
    assert [type(each).__name__ for each in parts] == ["Store", "Store", "For", "Store"]


WHOLE = """\
{outside}alloc A: int8[{shape}, 4, 6, 4] @ inp
{between}for i in 4:
{indent}  for j in 6:
{indent}    for l in 4:
{indent}      A[{index}] = S[i, j, l]
{indent}{more}D[0, 0, 0] = A[0, 0, 0, 0]
"""


def whole(between: str = "", index: str = "0, i, j, l", more: str = "", shape: int = 2) -> bool:
    """Whether A is written whole by the copy into it, with other statements around."""
    indentation = "  " * between.count("\n")
    text = WHOLE.format(
        outside="",
        between="".join("  " * at + line + "\n" for at, line in enumerate(between.splitlines())),
        indent=indentation,
        index=index,
        more=more,
        shape=shape,
    )
    first = text.index("for i in 4")
    lines = text[:first] + indentation + text[first:]
    stmt = body(lines)
    assert isinstance(stmt, Alloc)
    assert any(isinstance(each, Store) for each in statements(stmt))
    return written_whole(stmt.buffer, stmt.body)


def test_a_buffer_is_written_whole_by_the_only_copy_into_it() -> None:
    assert whole()
    assert not whole(more="A[1, 0, 0, 0] = 1\n")


def test_threads_have_a_slice_each() -> None:
    assert whole("for t in 2 unrolled:\n", "t, i, j, l")
    assert whole("for t in 2 unrolled:\nif t < 1:\n", "t, i, j, l")


def test_a_loop_between_writes_a_part_at_a_time() -> None:
    assert not whole("for k in 2:\n", "k, i, j, l")
    assert not whole("for t in 2 unrolled:\n", "0, i, j, l")


def test_slices_that_do_not_lie_together_are_parts() -> None:
    """Zeros between one's rows would be the other's elements."""
    assert not whole("for t in 2 unrolled:\n", "i - i, t, j, l")


EXTENTS = {"i": 4, "j": 5, "k": 3}
SUMS = ("{a}*i + {b}*j", "{a}*i + {b}*k + j", "{a}*j", "{a}*k + {b}", "i", "{a}*t - j")
OTHERS = ("i // 2 + {a}*j", "(j + t) % 2", "min(i, k) + {b}", "{a}*(k // 2) - i")


def points(env: Env, box: Box) -> list[tuple[int, ...]]:
    """The iterations of i, j and k that a box means."""
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
    with pytest.raises(LoweringError, match=r"cannot be A\[i\]: it depends on data"):
        Conditions.of((load(buffer, Var("i")) < 3,))


@pytest.mark.parametrize(
    ("loops", "parts", "whole"),
    [
        (("x", "k"), ("if k == 0:", "fill_5(C x)", "gemm(C x, E k, B k)"), True),
        (("x", "k"), ("if 2 * t + k == 0:", "fill_5(C x)", "gemm(C x, E k, B k)"), True),
        (("x",), ("if t == 0:", "fill_5(C x)", "gemm(C x, E x, B x)"), True),
        (("x", "k"), ("if k == 1:", "fill_5(C x)", "gemm(C x, E k, B k)"), False),
        (("x", "k"), ("if k <= 0:", "fill_5(C x)", "gemm(C x, E k, B k)"), False),
        (("x", "k"), ("if k - t == 0:", "fill_5(C x)", "gemm(C x, E k, B k)"), False),
        (("x", "k"), ("if t == 0:", "fill_5(C x)", "gemm(C x, E k, B k)"), False),
        (("x", "k"), ("if k + x == 0:", "fill_5(C x)", "gemm(C x, E k, B k)"), False),
        (("x", "k"), ("if k == 0:", "fill_5(C k)", "gemm(C x, E k, B k)"), False),
        (("x", "k"), ("if k == 0:", "alu_max_imm_m7(A x, C x)", "gemm(C x, E k, B k)"), False),
        (("x", "k"), ("if k == 0:", "fill_5(C x)", "fill_0(C x)", "gemm(C x, E k, B k)"), False),
    ],
)
def test_an_initialiser_and_its_update(
    loops: tuple[str, ...], parts: tuple[str, ...], whole: bool
) -> None:
    """An instruction if each loop leads to other elements, or initialises in its first one."""
    test, first, *others = parts

    def invoked(call: str) -> str:
        name, _, operands = call.removesuffix(")").partition("(")
        regions = (
            f"{one[0]}[{one[2:]} :+ 1, 0 :+ {4 if one[0] == 'B' else 1}, 0 :+ 4]"
            for one in operands.split(", ")
        )
        return f"invoke {name}({', '.join(regions)})"

    lines = [f"for {name} in 3:" for name in ("t", *loops)]
    lines = [indent(line, "  " * (1 + depth)) for depth, line in enumerate(lines)]
    inside = "  " * (1 + len(lines))
    lines += [inside + test, f"{inside}  {invoked(first)}"]
    lines += [inside + invoked(each) for each in others]
    header = (
        "func f(C: int32[8, 1, 4] @ acc, A: int32[8, 1, 4] @ acc, E: int8[8, 1, 4] @ inp, "
        "B: int8[8, 4, 4] @ wgt) -> (C: int32[8, 1, 4] @ acc):"
    )
    function = parse("\n".join([header, *lines]), INTRINSICS)
    assert isinstance(function.body, For)
    stmt = function.body.body
    assert is_instruction(stmt) is whole
    if whole:
        nest = Nest.of(stmt)
        assert nest.first is not None
        assert leaf(stmt) is nest.leaf
        assert isinstance(nest.leaf, Invoke)
        assert nest.leaf.intrinsic.name == "gemm"
        assert not is_load(stmt)
