"""Gradients that a text asks for: both ways, types, what they compute, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.driver import build
from tandem.compiler.errors import CompilerError, GradientError, GraphError, ParseError
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.gradients import pullback, value_and_grad
from tandem.compiler.graph.infer import infer
from tandem.compiler.graph.nodes import Function
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.visit import program
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.runtime.artifact import Provenance
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tests.support.compiler.graph.gradient_texts import SLOPE
from tests.support.compiler.graph.graphs import graph

LOSS = """
func @loss(w: float64[3], x: float64[3], n: int64[]) -> float64[]:
  y = multiply(w, x)
  t = tanh(y)
  l = reduce_sum(t, keepdims=False)
  return l
"""
W, X = np.array([0.3, -0.2, 0.5]), np.array([1.0, 2.0, -1.5])


def asking(value: str, call: str = "call g(w, x, int64[](1))") -> str:
    return (
        LOSS
        + f"""
func @main(w: float64[3], x: float64[3]) -> RESULT:
  g = {value}
  r = {call}
  return r
"""
    )


def slopes() -> tuple[np.ndarray, np.ndarray]:
    inner = 1 - np.tanh(W * X) ** 2
    return inner * X, inner * W


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("grad(@loss)", "(float64[3], float64[3])"),
        ("grad(@loss, 1)", "(float64[3])"),
        ("grad(@loss, 1, 0)", "(float64[3], float64[3])"),
        ("value_and_grad(@loss, 0)", "(float64[], (float64[3]))"),
        ("value_and_grad(@loss)", "(float64[], (float64[3], float64[3]))"),
    ],
)
def test_both_ways_and_what_they_compute(value: str, result: str) -> None:
    source = asking(value).replace(" -> RESULT", "")
    module = parse(source, OPERATORS)
    printed = text(module)
    assert f"  g = {value}\n" in printed
    assert parse(printed, OPERATORS) == module
    whole = program(module, "main")
    kind = f"fn(float64[3], float64[3], int64[]) -> {result}"
    assert str(infer(whole)["g"]).replace(",)", ")") == kind
    given, both = graph(source), slopes()
    found = evaluate(given, [W, X])
    wanted = {"grad(@loss, 1)": (both[1],), "grad(@loss, 1, 0)": both[::-1]}.get(value, both)
    if value.startswith("value"):
        value_found, found = found
        np.testing.assert_allclose(value_found, np.tanh(W * X).sum(), rtol=1e-12)
        wanted = both[: len(found)]
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    # What the parser gives has a text of its own, without gradients.
    assert text(graph(text(given))) == text(given)


def test_an_artifact() -> None:
    artifact = build(
        graph(asking("grad(@loss)").replace(" -> RESULT", "")),
        [cpu(CpuTarget.host())],
        Provenance("g"),
    )
    outputs = Executor(artifact, [CpuDevice(1)]).run({"w": W, "x": X}).outputs
    for one, other in zip(outputs.values(), slopes(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


SECOND = f"""{SLOPE}
func @main(x: float64[]) -> float64[]:
  h = grad(@slope)
  d = call h(x)
  r = d[0]
  return r
"""


def test_second_order() -> None:
    x = 0.7
    found = evaluate(graph(SECOND), [np.array(x)])
    np.testing.assert_allclose(found, 2 * np.cos(x) - x * np.sin(x), rtol=1e-12)


def test_a_loop_that_descends() -> None:
    """A function that takes the function that it makes smaller."""
    whole = graph(
        """
func @bowl(x: float64[2]) -> float64[]:
  d = subtract(x, float64[2](1.0, -2.0))
  s = multiply(d, d)
  l = reduce_sum(s, keepdims=False)
  return l

func @descend(slope: fn(float64[2]) -> (float64[2],), x: float64[2], left: int64[]) -> float64[2]:
  more = greater(left, int64[](0))
  r = if more:
    g = call slope(x)
    d = g[0]
    step = multiply(d, float64[](0.25))
    next = subtract(x, step)
    less = subtract(left, int64[](1))
    t = @descend(slope, next, less)
    yield t
  else:
    yield x
  return r

func @main(x: float64[2], n: int64[]) -> float64[2]:
  slope = grad(@bowl)
  y = @descend(slope, x, n)
  return y
"""
    )
    found = evaluate(whole, [np.zeros(2), np.array(40)])
    np.testing.assert_allclose(found, [1.0, -2.0], atol=1e-9)
    artifact = build(whole, [cpu(CpuTarget.host())], Provenance("descend"))
    outputs = Executor(artifact, [CpuDevice(1)]).run({"x": np.zeros(2), "n": np.array(40)}).outputs
    np.testing.assert_array_equal(next(iter(outputs.values())), found)


def test_symbols_and_element_types_that_a_declared_type_says() -> None:
    whole = graph(
        """
func @norm[T](x: T[N]) -> T[]:
  l = reduce_sum_square(x, keepdims=False)
  return l

func @main(x: float64[3], y: float32[2]) -> (float64[3], float32[2]):
  g: fn(float64[3]) -> (float64[3],) = grad(@norm)
  h: fn(float32[2]) -> (float32[2],) = grad(@norm)
  a = call g(x)
  b = call h(y)
  c = a[0]
  d = b[0]
  r = (c, d)
  return r
"""
    )
    y = np.array([3.0, 4.0], np.float32)
    one, other = evaluate(whole, [X, y])
    np.testing.assert_allclose(one, 2 * X)
    np.testing.assert_allclose(other, 2 * y)


TREES = """
type List = Nil | Cons(float64[], List)

func @total(list: List, x: float64[]) -> float64[]:
  r = match list:
    Nil:
      yield float64[](0.0)
    Cons(head, rest):
      own = multiply(head, x)
      power = sin(own)
      others = @total(rest, x)
      sum = add(power, others)
      yield sum
  return r

func @make(n: int64[], x: float64[], list: List) -> List:
  more = greater(n, int64[](0))
  r = if more:
    less = subtract(n, int64[](1))
    longer = Cons(x, list)
    made = @make(less, x, longer)
    yield made
  else:
    yield list
  return r

func @f(x: float64[], n: int64[]) -> float64[]:
  empty = Nil()
  list = @make(n, x, empty)
  t = @total(list, x)
  return t

func @slope(x: float64[], n: int64[]) -> float64[]:
  g = grad(@f)
  d = call g(x, n)
  r = d[0]
  return r

func @main(x: float64[], n: int64[]) -> (float64[], float64[]):
  g = value_and_grad(@slope)
  d = call g(x, n)
  v = d[0]
  e = d[1]
  s = e[0]
  r = (v, s)
  return r
"""


@pytest.mark.parametrize("count", [0, 1, 3])
def test_second_derivatives_through_data_types(count: int) -> None:
    """n sin(x^2): 2 n x cos(x^2), and 2 n cos(x^2) - 4 n x^2 sin(x^2)."""
    x, n = 0.8, count
    first, second = evaluate(graph(TREES), [np.array(x), np.array(n)])
    np.testing.assert_allclose(first, 2 * n * x * np.cos(x * x), rtol=1e-12)
    wanted = 2 * n * np.cos(x * x) - 4 * n * x * x * np.sin(x * x)
    np.testing.assert_allclose(second, wanted, rtol=1e-12, atol=1e-15)


FULL_TREE = """
type Tree = Leaf(float64[2]) | Node(Tree, Tree)

func @full(depth: int64[], x: float64[2]) -> Tree:
  more = greater(depth, int64[](0))
  r = if more:
    less = subtract(depth, int64[](1))
    left = @full(less, x)
    moved = multiply(x, float64[2](0.9, 1.1))
    right = @full(less, moved)
    node = Node(left, right)
    yield node
  else:
    leaf = Leaf(x)
    yield leaf
  return r

func @value(tree: Tree, w: float64[2]) -> float64[2]:
  r = match tree:
    Leaf(row):
      y = multiply(row, w)
      t = sin(y)
      yield t
    Node(left, right):
      a = @value(left, w)
      b = @value(right, w)
      p = multiply(a, b)
      s = add(p, a)
      yield s
  return r

func @f(x: float64[2], w: float64[2], depth: int64[]) -> float64[]:
  tree = @full(depth, x)
  v = @value(tree, w)
  l = reduce_sum(v, keepdims=False)
  return l

func @slope(x: float64[2], w: float64[2], depth: int64[]) -> (float64[], float64[2], float64[2]):
  g = grad(@f)
  d = call g(x, w, depth)
  dx = d[0]
  dw = d[1]
  both = multiply(dx, dw)
  l = reduce_sum(both, keepdims=False)
  r = (l, dx, dw)
  return r

func @main(x: float64[2], w: float64[2], depth: int64[]) -> (float64[], float64[2], float64[2]):
  g = value_and_grad(@slope)
  d = call g(x, w, depth)
  v = d[0]
  l = v[0]
  e = d[1]
  ex = e[0]
  ew = e[1]
  r = (l, ex, ew)
  return r
"""


def test_second_derivatives_of_trees_against_differences() -> None:
    whole = graph(FULL_TREE)
    artifact = build(whole, [cpu(CpuTarget.host())], Provenance("trees"))
    assert [form.name for form in artifact.manifest.forms]
    executor = Executor(artifact, [CpuDevice(1)])
    x, w = np.array([0.7, -0.4]), np.array([1.2, 0.5])

    def at(x: np.ndarray, w: np.ndarray, depth: int) -> list[np.ndarray]:
        given = {"x": x, "w": w, "depth": np.array(depth)}
        return [*executor.run(given).outputs.values()]

    for depth in (0, 1, 3):
        _, ex, ew = at(x, w, depth)
        for one, other in zip(evaluate(whole, [x, w, np.array(depth)])[1:], (ex, ew), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        for place in range(2):
            step = np.zeros(2)
            step[place] = 1e-5
            of_x = (at(x + step, w, depth)[0] - at(x - step, w, depth)[0]) / 2e-5
            of_w = (at(x, w + step, depth)[0] - at(x, w - step, depth)[0]) / 2e-5
            np.testing.assert_allclose([ex[place], ew[place]], [of_x, of_w], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("grad(@loss, 3)", r"main: g takes gradients of loss by parameter 3, and it has 3, from 0"),
        ("grad(@loss, 2)", r"main: g takes gradients of loss by parameter 2, which is int64\[\]: "),
        ("grad(@loss, 0, 0)", r"main: g takes gradients of loss by a parameter twice"),
    ],
)
def test_what_inference_refuses(value: str, message: str) -> None:
    with pytest.raises(GraphError, match=f"^function {message}"):
        graph(asking(value).replace(" -> RESULT", ""))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "func @f(x: float32[2]) -> float32[2]:\n  return x\n\n"
            "func @main(x: float32[2]) -> float32[2]:\n  g = grad(@f)\n  return x\n",
            r"^function main: g takes gradients of f, which gives float32\[2\]: gradients are of a",
        ),
        (
            "func @f(n: int64[]) -> float32[]:\n  return float32[](1.0)\n\n"
            "func @main(x: float32[2]) -> float32[2]:\n  g = grad(@f)\n  return x\n",
            r"^function main: g takes gradients of f by no parameter with floats",
        ),
        (
            "func @f(x: float32[N]) -> float32[]:\n  l = reduce_sum(x, keepdims=False)\n"
            "  return l\n\n"
            "func @main(x: float32[2]) -> float32[2]:\n  g = grad(@f)\n  return x\n",
            r"^function main: g takes gradients of f, with \['N'\] open: declare the type of g",
        ),
        (
            "func @f(x: float32[]) -> float32[]:\n  g = grad(@f)\n  d = call g(x)\n  r = d[0]\n"
            "  return r\n",
            r"^function f is part of its own gradients$",
        ),
        (
            "func @f(x: float32[2, 2]) -> float32[]:\n  d = determinant(x)\n  return d\n\n"
            "func @main(x: float32[2, 2]) -> float32[2, 2]:\n  g = grad(@f)\n  d = call g(x)\n"
            "  r = d[0]\n  return r\n",
            r"determinant",
        ),
    ],
)
def test_what_is_refused(source: str, message: str) -> None:
    with pytest.raises((GraphError, GradientError), match=message):
        graph(source)


@pytest.mark.parametrize(
    "damaged", ["grad(@loss", "grad(@)", "grad(@loss,)", "grad(@no)", "grad(@loss, w)"]
)
def test_texts_that_are_none(damaged: str) -> None:
    with pytest.raises(ParseError):
        parse(asking(damaged).replace(" -> RESULT", ""), OPERATORS)


def test_programs_have_functions_in_their_place() -> None:
    whole = program(parse(asking("grad(@loss)").replace(" -> RESULT", ""), OPERATORS), "main")
    with pytest.raises(CompilerError, match="main: g is the gradient of loss, and programs have"):
        evaluate(whole, [W, X])


def test_they_are_what_python_writes() -> None:
    loss: Function = graph(LOSS)
    given = [W, X, np.array(1)]
    (_, wanted), found = (
        evaluate(value_and_grad(loss), given),
        evaluate(graph(asking("grad(@loss)").replace(" -> RESULT", "")), [W, X]),
    )
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    assert pullback(loss).name == "loss_pullback"
