"""Functions that are called by name: recursion, in text and in evaluation."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import EvaluationError, GraphError, ParseError
from tandem.compiler.graph import Body, Call, Constant, Function, FunctionType, Global, Let, Var
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse, parse_function
from tandem.compiler.graph.passes import BindSymbols, EliminateDead, InferTypes, Inline, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import constants
from tests.support.compiler.graph.graphs import graph, same_values
from tests.support.compiler.graph.recursion import COUNT, EVEN, SUM


def scalar(value: int) -> np.ndarray[tuple[()], np.dtype[np.int64]]:
    return np.array(value)


def test_text_is_read_back() -> None:
    for program in (EVEN, SUM, COUNT):
        function = graph(program)
        for changed in (function, InferTypes().apply(function), EliminateDead().apply(function)):
            found = parse_function(text(changed), OPERATORS, constants(changed))
            assert found == changed
            assert text(found) == text(changed)


def test_which_functions_are_values() -> None:
    """A function above its callers that reaches no recursion is a value, all others have names."""
    program = graph(
        "func @leaf(n: int64[]) -> int64[]:\n  return n\n\n"
        + SUM.replace("  z = ", "  l = @leaf(n)\n  z = ")
    )
    assert [each.name for each in program.definitions] == []
    assert isinstance(program.body.lets[0].value, Call)
    assert isinstance(program.body.lets[0].value.callee, Function)
    # One that is called before its definition has a name for its later callers too.
    late = graph(
        "func @f(n: int64[]) -> int64[]:\n  a = @g(n)\n  return a\n"
        "func @g(n: int64[]) -> int64[]:\n  return n\n"
        "func @h(n: int64[]) -> int64[]:\n  a = @g(n)\n  b = @f(a)\n  return b\n"
    )
    assert [each.name for each in late.definitions] == ["f", "g"]
    assert isinstance(late.body.lets[0].value, Call)
    assert isinstance(late.body.lets[0].value.callee, Global)
    even = graph(EVEN)
    assert [each.name for each in even.definitions] == ["even", "odd"]


def test_recursion() -> None:
    for number in (0, 1, 7, 40):
        same_values(evaluate(graph(SUM), [scalar(number)]), scalar(number * (number + 1) // 2))
        same_values(evaluate(graph(EVEN), [scalar(number)]), np.array(number % 2 == 0))


def test_tail_calls_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tandem.compiler.graph.evaluate.MAX_CALLS", 3)
    x = np.array([1.0, -2.0], np.float32)
    same_values(evaluate(graph(COUNT), [scalar(20), x]), (x + np.float32(20), scalar(0)))


def test_recursion_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tandem.compiler.graph.evaluate.MAX_CALLS", 30)
    with pytest.raises(EvaluationError, match="function sum: more than 30 calls wait"):
        evaluate(graph(SUM), [scalar(-1)])


def test_every_size_has_a_function() -> None:
    bound = transform(graph(COUNT), [BindSymbols((("N", 2),))])
    assert [str(param.type) for param in bound.definitions[0].params] == ["int64[]", "float32[2]"]
    growing = graph("""
func @grow(x: float32[N]) -> float32[]:
  y = concat(x, x, axis=0)
  r = @grow(y)
  return r

func @main(x: float32[3]) -> float32[]:
  r = @grow(x)
  return r
""")
    with pytest.raises(GraphError, match="grow is called with more than 100 combinations of sizes"):
        BindSymbols(()).apply(growing)


def test_inlining() -> None:
    program = graph(
        "func @half(x: float32[N]) -> float32[N]:\n  y = multiply(x, float32[](0.5))\n  return y\n"
        "func @id(x: float32[N]) -> float32[N]:\n  return x\n\n"
        "func @f(x: float32[2], c: bool[]):\n  a = @half(x)\n  b = if c:\n    d = @half(a)\n"
        "    yield d\n  else:\n    e = @id(a)\n    yield e\n  return b\n"
    )
    found = transform(program, [Inline()])
    assert text(found) == text(
        graph(
            "func @f(x: float32[2], c: bool[]):\n  a = multiply(x, float32[](0.5))\n  b = if c:\n"
            "    d = multiply(a, float32[](0.5))\n    yield d\n  else:\n    yield a\n  return b\n"
        )
    )
    for name, recursive in (("sum", SUM), ("even", EVEN)):
        entered = transform(graph(recursive), [Inline()])
        same_values(evaluate(entered, [scalar(6)]), evaluate(graph(recursive), [scalar(6)]))
        assert name in {each.name for each in entered.definitions}
        assert entered.name not in {each.name for each in entered.definitions}


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("func @f(x: int8[]):\n  y = @f(x)\n  return y", "line 2, column 8: found 'f', expected a"),
        (
            "func @f(x: int8[]):\n  y = @k(x)\n  return y\n"
            "kernel @k(x: int8[]):\n  y = negative(x)\n  return y",
            "line 2, column 8: found 'k', a kernel that is defined below its use",
        ),
    ],
)
def test_texts_that_are_refused(program: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse(program, OPERATORS)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("subtract(n, int64[](1))", "cast(n, to=float32)", r"function sum: t calls sum\(float32"),
        ("yield s\n", "yield z\n", r"function sum: r is int64\[\] if the condition holds, else bo"),
        ("-> int64[]", "-> int8[]", r"function sum: s = add\(...\)"),
        ("t = @sum(m)", "t = @sum(m, m)", r"function sum: t calls sum\(int64\[\], int64\[\]\), wh"),
    ],
)
def test_programs_that_are_refused(old: str, new: str, message: str) -> None:
    assert old in SUM
    with pytest.raises(GraphError, match=message):
        verify(parse_function(SUM.replace(old, new), OPERATORS))


def test_what_no_text_can_say() -> None:
    one = Constant(np.ones((), np.int64))
    type_ = FunctionType((), one.type)
    call = Let("y", Call(Global("g", type_), ()))
    other = Let("y", Call(Global("g", FunctionType((one.type,), one.type)), (one,)))
    caller = Function("f", (), Body((call,), Var("y")), one.type)
    plain = Function("g", (), Body((), one), one.type)
    verify(Function("f", (), caller.body, one.type, definitions=(plain,)))
    user = Function("h", (), Body((Let("y", Call(caller, ())),), Var("y")))
    for function, message in (
        (caller, "function f: y calls g, which is not defined"),
        (
            Function("f", (), caller.body, definitions=(Function("g", (), Body((), one)),)),
            "function g is called by name, and declares no result",
        ),
        (
            Function("f", (), Body((other,), one), definitions=(plain,)),
            r"function f: y calls g as fn\(int64\[\]\) -> int64\[\], which is fn\(\) -> int64\[\]",
        ),
        (user, "function f: y calls g by name, which a function that is called as a value may"),
    ):
        with pytest.raises(GraphError, match=message):
            verify(function)
