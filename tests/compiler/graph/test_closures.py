"""Functions that are values: text, types, refusals and evaluation."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import EvaluationError, GraphError, ParseError
from tandem.compiler.graph import (
    Apply,
    Body,
    Constant,
    Fun,
    Function,
    FunctionKind,
    FunctionType,
    Global,
    Let,
    Param,
    Partial,
    TensorType,
    Var,
)
from tandem.compiler.graph.evaluate import Interpreter, evaluate
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse, parse_function
from tandem.compiler.graph.passes import (
    BindSymbols,
    EliminateCommon,
    EliminateDead,
    FoldConstants,
    InferTypes,
    Inline,
    LiftFunctions,
    Unroll,
    transform,
)
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.types import symbols_of
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import constants, functions
from tandem.compiler.ir.dtypes import FLOAT32
from tests.support.compiler.graph.closures import CHOSEN, COMPOSED, GROWING, KEPT, STATES
from tests.support.compiler.graph.graphs import agree, graph, same_values

PROGRAMS = (CHOSEN, COMPOSED, GROWING, KEPT, STATES)
X = TensorType((2,), FLOAT32)


@pytest.mark.parametrize("program", PROGRAMS)
def test_text_is_read_back(program: str) -> None:
    module = parse(program, OPERATORS)
    assert text(module) == program.removeprefix("\n")
    assert parse(text(module), OPERATORS) == module
    for changed in (InferTypes().apply(graph(program)), EliminateDead().apply(graph(program))):
        found = parse_function(text(changed), OPERATORS, constants(changed))
        assert found == changed
        assert text(found) == text(changed)


def test_every_form() -> None:
    program = """\
func @both(a: int8[], b: int8[]) -> int8[]:
  y = add(a, b)
  return y

func @main(fun: int8[], call: int8[], partial: int8[]) -> int8[]:
  fn = @both
  f = partial @both(fun)
  g: fn(int8[]) -> int8[] = partial fn(call)
  h = fun(z: int8[]) -> int8[]:
    a = call f(z)
    b = call g(a)
    yield b
  none = fun():
    yield partial
  p = (h, none)
  q = p[1]
  k = call q()
  r = call h(k)
  return r
"""
    function = graph(program)
    assert text(function) == program
    values = [type(let.value) for let in function.body.lets]
    assert values[:4] == [Partial, Partial, Partial, Fun]
    assert values[-1] is Apply
    types = verify(function)
    assert str(types["fn"]) == "fn(int8[], int8[]) -> int8[]"
    assert str(types["p"]) == "(fn(int8[]) -> int8[], fn() -> int8[])"
    given = [np.array(value, np.int8) for value in (1, 20, 3)]
    same_values(evaluate(function, given), np.array(24, np.int8))


def test_a_name_of_a_value_is_no_word() -> None:
    function = graph(
        "func @f(call: (int8[],)):\n  partial = call[0]\n  fun = (partial,)\n  return fun"
    )
    same_values(evaluate(function, [(np.array(1, np.int8),)]), (np.array(1, np.int8),))


def test_evaluation() -> None:
    x = np.array([1, 2, 3], np.float32)
    for c, wanted in ((1, x + 3), (3, x * 9**3)):
        found = evaluate(graph(CHOSEN), [np.array(3), np.array(c, np.float32), x])
        same_values(found, wanted.astype(np.float32))
    for n, wanted_number in ((0, 3), (1, 6), (2, 5), (5, 2)):
        found = evaluate(graph(STATES), [np.array(n), np.array(3)])
        same_values(found, np.array(wanted_number))
    for n, wanted_number in ((1, 6), (2, 12), (3, 0), (5, -24)):
        found = evaluate(graph(KEPT), [np.array(n), np.array(3)])
        same_values(found, np.array(wanted_number))
    composed = evaluate(graph(COMPOSED), [np.array(3), np.array(1, np.float32)])
    same_values(composed, np.array(2.0**8, np.float32))


def test_calls_of_values_that_end_a_function_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tandem.compiler.graph.evaluate.MAX_CALLS", 3)
    same_values(evaluate(graph(STATES), [np.array(20), np.array(0)]), np.array(-19))
    with pytest.raises(EvaluationError, match="function compose: more than 3 calls wait"):
        evaluate(graph(COMPOSED), [np.array(20), np.array(1, np.float32)])


def test_observers_see_values_within_functions_and_no_functions() -> None:
    seen: list[tuple[str, str]] = []
    evaluate(
        graph(COMPOSED),
        [np.array(1), np.array(1, np.float32)],
        observe=lambda function, name, _: seen.append((function, name)),
    )
    assert ("compose", "x") in seen
    assert ("main", "b") in seen
    assert ("main", "g") not in seen
    assert ("compose", "f") not in seen


BOTH = """
func @both(a: float32[N], b: float32[N]) -> float32[N]:
  y = add(a, b)
  return y

kernel @k(a: float32[2]) -> float32[2]:
  y = relu(a)
  return y

func @main(x: float32[2]):
"""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("g = @both", r"main: g: both is fn\(.*, with \['N'\] open: declare the type of g"),
        ("g = partial @both(x, x, x)", r"main: g takes both\(float32\[2\], .*, which is fn\(float"),
        ("g: fn(float32[2], float32[3]) -> float32[2] = @both", r"main: g takes both\(\), which "),
        ("g: float32[2] = partial @both(x)", r"main: g is fn\(float32\[2\]\) -> float32\[2\], and"),
        ("g = partial x(x)", r"main: g calls x, which is float32\[2\] and no function"),
        ("g = call x()", r"main: g calls x, which is float32\[2\] and no function"),
        ("g = call z()", "main: g uses z, which is defined nowhere before"),
        ("f = partial @both(x)\n  g = call f()", r"main: g calls f\(\), which is fn\(float32\[2\]"),
        ("f = partial @both(x)\n  g = call f(x, x)", r"main: g gives arguments to f\(.*which is f"),
        ("f = partial @both(x)\n  g = relu(f)", r"main: g = relu\(...\): x is fn\(float32\[2\]\) "),
        ("g = fun(x: int8[]):\n    yield x", "main: two values are called x"),
        ("g = fun(z: int8[]):\n    yield y", "main: the result uses y, which is defined nowhere"),
        (
            "g = fun(z: int8[]) -> bool[]:\n    yield z",
            r"main: the result of g is int8\[\], and is ",
        ),
        (
            "g = fun(z: int8[]):\n    yield z\n  h = (z,)",
            "main: h uses z, which is defined only ins",
        ),
        (
            "c = equal(x, x)\n  f = partial @both(x)\n  d = bit_cast(x, to=int32)\n"
            "  g = if bool[](True):\n    yield f\n  else:\n    yield x",
            r"main: g is fn\(float32\[2\]\) -> float32\[2\] if the condition holds, else float32",
        ),
    ],
)
def test_programs_that_are_refused(line: str, message: str) -> None:
    with pytest.raises(GraphError, match=f"function {message}"):
        verify(parse_function(f"{BOTH}  {line}\n  return x", OPERATORS))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("g = @none", "line 11, column 8: found 'none', expected a function of this text: @both, "),
        ("g = @k", "line 11, column 8: found 'k', a kernel, which is no value"),
        ("g = partial @k()", "line 11, column 16: found 'k', a kernel, which is no value"),
        (
            "g = @main",
            "line 11, column 8: found 'main', expected a function with a declared result",
        ),
        ("g = call @both(x, x)", "line 11, column 7: found 'call', expected an operator"),
        ("g = partial f", "line 11, column 16: found the end of the line, expected '\\('"),
        ("g = fun(z):\n    yield z", "line 11, column 12: found '\\)', expected ':'"),
        (
            "g = fun(z: int8[]):\n    return z",
            "line 12, column 5: found 'return', expected a value",
        ),
        ("g: fn(int8[]) = @both", "line 11, column 17: found '=', expected '->'"),
        ("g: fn = @both", "line 11, column 6: found 'fn', expected a type"),
    ],
)
def test_texts_that_are_refused(line: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse(f"{BOTH}  {line}\n  return x", OPERATORS)


def test_programs_take_and_give_no_functions() -> None:
    one = "func @f(g: fn(int8[]) -> int8[], x: int8[]):\n  y = call g(x)\n  return y"
    with pytest.raises(GraphError, match=r"function f takes g, which is fn\(int8\[\]\) -> int8"):
        evaluate(graph(one), [])
    other = "func @f():\n  g = fun(y: int8[]):\n    yield y\n  z = (g,)\n  return z"
    with pytest.raises(GraphError, match=r"function f gives \(fn\(int8\[\]\) -> int8\[\],\): pro"):
        evaluate(graph(other), [])


def test_what_no_text_can_say() -> None:
    type_ = FunctionType((X,), X)
    params = (Param("x", X),)
    body = Body(
        (Let("g", Partial(Global("h", type_))), Let("y", Apply(Var("g"), (Var("x"),)))), Var("y")
    )
    plain = Function("h", (Param("a", X),), Body((), Var("a")), X)
    verify(Function("f", params, body, definitions=(plain,)))
    twice = Function("h", (Param("a", X), Param("b", X)), Body((), Var("a")), X)
    caller = Function("f", params, body, X)
    kernel = Function("f", params, body, X, FunctionKind.KERNEL, definitions=(plain,))
    stream = Function("f", params, body, X, FunctionKind.STREAM, "cpu", definitions=(plain,))
    for function, message in (
        (caller, "function f: g takes h, which is not defined"),
        (
            Function("f", params, body, definitions=(twice,)),
            "function f: g takes h as fn.*, which ",
        ),
        (
            Function("f", params, body, definitions=(Function("h", params, Body((), Var("x"))),)),
            "function h is called by name, and declares no result",
        ),
        (kernel, "kernel f: g is no operator, no tuple and no part of one"),
        (stream, "stream f: g is no call of a kernel for cpu"),
    ):
        with pytest.raises(GraphError, match=message):
            verify(function)
    unknown = Let("g", Partial(Global("h", type_), (Constant(np.ones(2, np.float32)),)))
    verify(Function("f", params, Body((unknown,), Var("x")), definitions=(plain,)))


@pytest.mark.parametrize("program", [CHOSEN, KEPT, STATES, COMPOSED])
def test_passes_keep_functions_that_are_values(program: str) -> None:
    """Each pass alone, whether it comes before or after."""
    start = graph(program)
    run = Interpreter()
    passes = (
        InferTypes(),
        LiftFunctions(),
        EliminateDead(),
        EliminateCommon(),
        FoldConstants(run),
        Unroll(run),
        BindSymbols(()),
        Inline(),
    )
    for work in passes:
        agree(start, transform(start, [work]))
    agree(start, transform(start, [*passes, *passes]))


def test_symbols_of_functions_are_bound() -> None:
    function = graph(
        """
func @swap(f: fn(float32[N], float32[M]) -> float32[M], a: float32[M], b: float32[N]) -> float32[M]:
  y = call f(b, a)
  return y

func @second(a: float32[N], b: float32[M]) -> float32[M]:
  return b

func @main(x: float32[K], y: float32[2]) -> float32[2]:
  g: fn(float32[K], float32[2]) -> float32[2] = @second
  h = fun(z: float32[K]):
    r = call g(z, y)
    yield r
  t = call h(x)
  s = @swap(g, t, x)
  return s
"""
    )
    bound = transform(function, [BindSymbols((("K", 3),))])
    assert not any(symbols_of(type_) for each in functions(bound) for type_ in infer(each).values())
    assert "fn(float32[3], float32[2]) -> float32[2]" in text(bound)
    given = [np.ones(3, np.float32), np.ones(2, np.float32)]
    same_values(evaluate(bound, given), evaluate(function, given))
