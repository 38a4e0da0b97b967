"""Functions are known by their content, however they share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.compiler.errors import GraphError
from tandem.compiler.graph import Body, Call, Function, If, Let, Param, TensorType, Var
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import functions
from tandem.compiler.ir import BOOL, FLOAT32
from tests.support.compiler.graph.graphs import graph

X = Param("x", TensorType((2,), FLOAT32))
PROGRAM = "func @f(x: float32[2]):\n  y = elu(x, alpha=0.0)\n  return y\n"


def test_the_same_text_is_the_same_function() -> None:
    assert graph(PROGRAM) == graph(PROGRAM)
    assert hash(graph(PROGRAM)) == hash(graph(PROGRAM))
    for old, new in (("@f", "@g"), ("0.0", "-0.0"), ("float32", "float64"), ("y", "z")):
        assert graph(PROGRAM.replace(old, new)) != graph(PROGRAM)
    assert graph(PROGRAM.replace("y =", "y: float32[2] =")) != graph(PROGRAM)
    assert graph(PROGRAM) != PROGRAM


def test_other_definitions_are_another_function() -> None:
    """A call by name says nothing of what is called."""
    calls = "func @f(x: int8[2]) -> int8[2]:\n  y = @g(x)\n  return y\n"

    def program(operator: str) -> Function:
        inner = f"  z = {operator}(x)\n  y = @f(z)\n  return y\n"
        return graph(f"func @g(x: int8[2]) -> int8[2]:\n{inner}{calls}")

    assert [each.name for each in program("relu").definitions] == ["g"]
    assert program("relu") == program("relu")
    assert program("relu") != program("negative")


def test_where_a_value_comes_from_does_not_make_it_another() -> None:
    plain = Let("y_int8", Call(OPERATORS["relu"], (Var("x"),)))
    told = replace(plain, origin="y")
    assert (plain.source, told.source) == ("y_int8", "y")
    assert plain == told
    assert repr(plain) == repr(told)
    first, second = (Function("f", (X,), Body((let,), Var("y_int8"))) for let in (plain, told))
    assert first.digest == second.digest


def tower(height: int) -> Function:
    """A function that calls one twice that calls one twice that ..."""
    callee = Function("f0", (X,), Body((Let("y", Call(OPERATORS["relu"], (Var("x"),))),), Var("y")))
    for level in range(1, height):
        lets = (Let("a", Call(callee, (Var("x"),))), Let("b", Call(callee, (Var("a"),))))
        callee = Function(f"f{level}", (X,), Body(lets, Var("b")))
    return callee


def test_shared_functions_take_linear_time() -> None:
    assert tower(60) == tower(60)
    assert tower(60) != replace(tower(60), name="f")
    assert len(functions(tower(60))) == 60
    verify(tower(60))
    assert text(tower(60)).count("func @") == 60


def test_long_chains_are_no_deep_trees() -> None:
    count = 5000
    lets = tuple(
        Let(f"v{number + 1}", Call(OPERATORS["relu"], (Var(f"v{number}"),)))
        for number in range(count)
    )
    function = Function("f", (Param("v0", X.type),), Body(lets, Var(f"v{count}")))
    assert len(verify(function)) == count + 1
    assert hash(function) == hash(replace(function))


def test_what_is_too_deep_is_refused() -> None:
    body = Body((), Var("x"))
    for depth in range(1000):
        body = Body((Let(f"v{depth}", If(Var("c"), body, Body((), Var("x")))),), Var(f"v{depth}"))
    with pytest.raises(GraphError, match="function f is nested too deeply"):
        Function("f", (X, Param("c", TensorType((), BOOL))), body)
