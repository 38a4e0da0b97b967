"""Patterns bind operands, look through layouts, and say what is in the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import Refusal
from tandem.compiler.graph import Constant, Function, Var
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.operators.elementwise import Cast
from tandem.compiler.graph.operators.products import Product
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.plan.pattern import Apply, Matcher, Mismatch, Operand, Pattern, inner_patterns
from tests.support.compiler.graph.graphs import graph

DATA = Operand("data", INT8, (2, 4))
WIDE = Apply(
    "cast",
    (DATA,),
    where=lambda given: isinstance(given, Cast) and given.to == INT32,
    requires="to int32 only",
    recomputed=True,
)
PRODUCT = Apply("dense", (Operand("data", INT8, (2,)), Operand("weight", INT8, constant=True)))
SUM = Apply("add", (PRODUCT, Operand("other")))
WEIGHT = "int8[2, 3](1, 2, 3, 4, 5, 6)"


def matcher(function: Function, **options: Any) -> Matcher:
    return Matcher(function.body, infer(function), **options)


def products(*lines: str, result: str = "s", params: str = "") -> Function:
    body = "".join(f"  {line}\n" for line in lines)
    return graph(f"func @f(x: int8[1, 3], y: int32[1, 2]{params}):\n{body}  return {result}\n")


def refusal(function: Function, pattern: Apply, name: str, **options: Any) -> str:
    with pytest.raises(Refusal) as found:
        matcher(function, **options).at(pattern, name)
    return str(found.value)


def test_what_is_bound() -> None:
    function = products(f"d = dense(x, {WEIGHT}, out_dtype=int32)", "s = add(d, y)")
    found = matcher(function).at(SUM, "s")
    assert found.name == "s"
    assert found.operators == ("dense", "add")
    assert found.lets == function.body.lets
    assert [*found.operands] == ["data", "weight", "other"]
    assert found.operands["data"] == Var("x")
    assert found.computed == ("data", "other")
    assert found.variable("other") == "y"
    assert found.constant("weight").array.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert found.let("dense") is function.body.lets[0]
    assert found.attributes("dense", Product) == function.body.lets[0].value.attributes  # type: ignore[union-attr]


@pytest.mark.parametrize("other", ["y", "int32[1, 2](1, 2)"])
def test_operands_that_are_known_or_not(other: str) -> None:
    either = Apply("add", (PRODUCT, Operand("other", constant=None)))
    function = products(f"d = dense(x, {WEIGHT}, out_dtype=int32)", f"s = add(d, {other})")
    found = matcher(function).at(either, "s")
    assert isinstance(found.operands["other"], Var) == (other == "y")


def test_operators_in_another_order_than_the_pattern_names_them() -> None:
    """Those of the graph's count: each after those that it reads."""
    both = Apply("add", (WIDE, Apply("negative", (Operand("other"),))))
    function = graph(
        "func @f(x: int8[1, 2], y: int32[1, 2]):\n"
        "  n = negative(y)\n  c = cast(x, to=int32)\n  s = add(c, n)\n  return s\n"
    )
    assert matcher(function).at(both, "s").operators == ("negative", "cast", "add")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["s = subtract(y, y)"], "the result comes from subtract, not from add"),
        (["s = add(y, y)"], "its a comes from an input, not from dense"),
        (
            ["n = negative(y)", "s = add(n, y)"],
            "its a comes from negative, not from dense",
        ),
        (
            [f"d = dense(x, {WEIGHT}, int32[2](1, 2), out_dtype=int32)", "s = add(d, y)"],
            "dense has 3 operands, not 2",
        ),
        (
            [f"d = dense(x, {WEIGHT}, out_dtype=int32)", "s = add(d, d)"],
            "the result of dense is used 2 times, and leaves the array once",
        ),
        (
            [
                "d = dense(y, int32[2, 2](1, 2, 3, 4))",
                "s = add(d, y)",
            ],
            "data of dense is int32, not int8",
        ),
        (
            ["d = dense(x, w, out_dtype=int32)", "s = add(d, y)"],
            "weight of dense is computed when the network runs",
        ),
        (
            [f"d = dense(int8[1, 3](1, 2, 3), {WEIGHT}, out_dtype=int32)", "s = add(d, y)"],
            "data of dense is a constant",
        ),
        (
            ["t = (x, y)", "s = t[1]"],
            "the result comes from a branch, a call or a tuple, not from add",
        ),
    ],
)
def test_refusals(lines: list[str], message: str) -> None:
    function = products(*lines, params=", w: int8[2, 3]")
    assert refusal(function, SUM, "s") == message


def test_a_mismatch_says_who_was_met_and_who_was_meant() -> None:
    with pytest.raises(Mismatch) as found:
        matcher(products("s = subtract(y, y)")).at(SUM, "s")
    assert (found.value.value, found.value.found) == ("the result", "subtract")
    assert found.value.wanted == ("add",)


def test_attributes_and_dimensions() -> None:
    function = graph(
        "func @f(x: int8[3], y: int8[1, 3]):\n"
        "  a = cast(x, to=int32)\n  b = cast(y, to=int16)\n  t = (a, b)\n  return t\n"
    )
    assert refusal(function, WIDE, "a") == "its x has 1 dimensions, not 2 or 4"
    assert refusal(function, WIDE, "b") == "it is done to int32 only"


def test_tuples_are_no_operands() -> None:
    function = graph(
        "func @g(t: (int8[2], int8[2])) -> int8[2]:\n  a = t[0]\n  return a\n"
        "func @f(t: (int8[2], int8[2])):\n  a = @g(t)\n  return a\n"
    )
    pattern = Apply("g", (Operand("data"),))
    assert (
        refusal(function, pattern, "a")
        == "the result comes from a branch, a call or a tuple, not from g"
    )


def test_what_is_cheap_is_computed_for_each_user() -> None:
    function = graph(
        "func @f(x: int8[1, 3]):\n"
        "  c = cast(x, to=int32)\n  a = negative(c)\n  b = add(a, c)\n  return b\n"
    )
    (cast, negative, _) = function.body.lets
    cheap = Apply("negative", (WIDE,))
    assert matcher(function).at(cheap, "a").lets == (cast, negative)
    dear = Apply("negative", (Apply("cast", (DATA,)),))
    assert (
        refusal(function, dear, "a")
        == "the result of cast is used 2 times, and leaves the array once"
    )


def test_the_results_own_users_do_not_matter() -> None:
    function = products(f"d = dense(x, {WEIGHT}, out_dtype=int32)", "a = add(d, d)", result="a")
    assert matcher(function).at(PRODUCT, "d").name == "d"


def test_layouts_are_looked_through() -> None:
    lines = [
        "r = reshape(x, shape=[3, 1])",
        "b = reshape(r, shape=[1, 3])",
        f"d = dense(b, {WEIGHT}, out_dtype=int32)",
        "e = reshape(d, shape=[1, 2])",
        "s = add(e, y)",
    ]
    function = products(*lines)
    assert refusal(function, SUM, "s") == "its a comes from reshape, not from dense"
    found = matcher(function, through=frozenset({"reshape"})).at(SUM, "s")
    assert found.operators == ("dense", "add")
    assert found.variable("data") == "x"


def test_the_type_is_what_the_operator_reads() -> None:
    """Not what lies behind a change of layout."""
    function = graph(
        "func @f(x: int8[3]):\n"
        f"  r = reshape(x, shape=[1, 3])\n  d = dense(r, {WEIGHT}, out_dtype=int32)\n  return d\n"
    )
    found = matcher(function, through=frozenset({"reshape"})).at(PRODUCT, "d")
    assert found.variable("data") == "x"


def test_parameters_that_stand_for_constants() -> None:
    function = products("d = dense(x, w, out_dtype=int32)", result="d", params=", w: int8[2, 3]")
    assert refusal(function, PRODUCT, "d").endswith("is computed when the network runs")
    weight = Constant(np.ones((2, 3), np.int8))
    found = matcher(function, known={"w": weight}).at(PRODUCT, "d")
    assert found.constant("weight") is weight
    assert found.computed == ("data",)


def test_inner_patterns() -> None:
    outer: Pattern = Apply("relu", (SUM,))
    assert [*inner_patterns(outer)] == [SUM, PRODUCT]
    assert [*inner_patterns(DATA)] == []
