"""Functions of gradients: their form, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.driver import build
from tandem.compiler.errors import EvaluationError, GradientError
from tandem.compiler.graph import Function
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.gradients import pullback, value_and_grad
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse_function
from tandem.compiler.graph.passes import Fuse, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.visit import constants
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.runtime.artifact import Provenance
from tandem.runtime.devices import CpuDevice
from tandem.runtime.executor import Executor
from tests.support.compiler.graph.closures import CHOSEN, COMPOSED
from tests.support.compiler.graph.gradient_draws import Array
from tests.support.compiler.graph.graphs import graph, same_values

LAYER = """
func @loss(x: float64[4, 3], w: float64[2, 3], b: float64[2]) -> float64[]:
  h = dense(x, w, b)
  s = sigmoid(h)
  q = multiply(s, s)
  l = reduce_sum(q, keepdims=False)
  return l
"""

LOOP = """
func @loop(n: int64[], x: float64[N], s: float64[]) -> (float64[N], int64[]):
  go = greater(n, int64[](0))
  r = if go:
    m = subtract(n, int64[](1))
    wave = sin(x)
    y = multiply(wave, s)
    t = @loop(m, y, s)
    yield t
  else:
    u = (x, n)
    yield u
  return r

func @main(n: int64[], x: float64[3], s: float64[]) -> float64[]:
  r = @loop(n, x, s)
  a = r[0]
  l = reduce_sum(a, keepdims=False)
  return l
"""


def outputs(function: Function, given: list[Array]) -> list[Array]:
    """What an artifact of the function gives."""
    artifact = build(function, [cpu(CpuTarget.host())], Provenance("gradients"))
    names = (param.name for param in function.params)
    run = Executor(artifact, [CpuDevice()]).run(dict(zip(names, given, strict=True)))
    return [*run.outputs.values()]


def slope(function: Function, given: list[Array], at: int) -> Array:
    """The gradient of a scalar function by central differences."""
    found = np.zeros_like(given[at])
    for place in np.ndindex(found.shape):
        moved = [[each.copy() for each in given] for _ in range(2)]
        moved[0][at][place] += 1e-5
        moved[1][at][place] -= 1e-5
        high, low = (evaluate(function, each) for each in moved)
        assert isinstance(high, np.ndarray)
        found[place] = (high - low) / 2e-5
    return found


def test_the_text_of_a_layer() -> None:
    found = value_and_grad(graph(LAYER), ["w"])
    assert (
        text(found)
        == """\
func @loss_value_and_grad(x: float64[4, 3], w: float64[2, 3], b: float64[2]):
  h = dense(x, w, b)
  s = sigmoid(h)
  q = multiply(s, s)
  l = reduce_sum(q, keepdims=False)
  l_gradient_1 = unsqueeze(float64[](1.0), axes=[0, 1])
  l_gradient_2 = expand(l_gradient_1, shape=[4, 2])
  q_gradient = multiply(l_gradient_2, s)
  q_gradient_1 = multiply(l_gradient_2, s)
  q_gradient_2 = add(q_gradient, q_gradient_1)
  s_gradient = multiply(q_gradient_2, s)
  s_gradient_1 = subtract(float64[](1.0), s)
  s_gradient_2 = multiply(s_gradient, s_gradient_1)
  h_gradient_1 = transpose(s_gradient_2, perm=[1, 0])
  w_gradient = matmul(h_gradient_1, x)
  gradients = (w_gradient,)
  gradients_1 = (l, gradients)
  return gradients_1
"""
    )


def test_text_is_read_back() -> None:
    for program in (LAYER, LOOP):
        found = value_and_grad(graph(program))
        assert parse_function(text(found), OPERATORS, constants(found)) == found


def test_a_layer_in_the_evaluator_and_an_artifact() -> None:
    function = graph(LAYER)
    rng = np.random.default_rng(1)
    given = [rng.standard_normal(shape) for shape in ((4, 3), (2, 3), (2,))]
    value, gradients = evaluate(value_and_grad(function), given)
    same_values(value, evaluate(function, given))
    for at, found in enumerate(gradients):
        np.testing.assert_allclose(found, slope(function, given, at), rtol=1e-6)
    artifact = outputs(value_and_grad(function), given)
    for one, other in zip(artifact, (value, *gradients), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("count", [0, 3, 40, pytest.param(200, marks=pytest.mark.exhaustive)])
def test_a_loop_keeps_its_values_in_calls_that_wait(count: int) -> None:
    function = graph(LOOP)
    given = [np.array(count), np.array([0.3, -1.2, 2.0]), np.array(1.1)]
    value, (dx, ds) = evaluate(value_and_grad(function), given)
    np.testing.assert_allclose(dx, slope(function, given, 1), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ds, slope(function, given, 2), rtol=1e-6, atol=1e-9)
    for one, other in zip(outputs(value_and_grad(function), given), (value, dx, ds), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_a_loop_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tandem.compiler.graph.evaluate.MAX_CALLS", 30)
    given = [np.array(31), np.array([0.3, -1.2, 2.0]), np.array(1.1)]
    with pytest.raises(EvaluationError, match="function loop_pullback: more than 30 calls wait"):
        evaluate(value_and_grad(graph(LOOP)), given)


def test_a_short_loop_of_known_length_is_straight_code() -> None:
    program = LOOP.replace("n: int64[], x: float64[3]", "x: float64[3]").replace(
        "r = @loop(n, x, s)\n  a", "r = @loop(int64[](5), x, s)\n  a"
    )
    found = value_and_grad(graph(program))
    assert found.definitions == ()
    assert text(found).count("sin(") == text(found).count("cos(") == 5


@pytest.mark.parametrize("factor", [1.5, 2.5])
def test_closures(factor: float) -> None:
    function = graph(CHOSEN.replace("float32", "float64"))
    given = [np.array(3), np.array(factor), np.array([0.5, -1.0, 2.0])]
    seeds = np.array([1.0, -2.0, 0.5])
    dc, dx = evaluate(pullback(function), [*given, seeds])
    step = 1e-6
    for at, found in ((1, dc), (2, dx)):
        for place in np.ndindex(given[at].shape):
            high, low = ([each.copy() for each in given] for _ in range(2))
            high[at][place] += step
            low[at][place] -= step
            change = evaluate(function, high) - evaluate(function, low)  # type: ignore[operator]
            np.testing.assert_allclose(
                np.asarray(found)[place], seeds @ change / (2 * step), rtol=1e-6
            )
    artifact = outputs(pullback(function), [*given, seeds])
    for one, other in zip(artifact, (dc, dx), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("count", [0, 1, 4])
def test_closures_without_a_known_end(count: int) -> None:
    """Functions that a recursion composes, which hold what gradients are of."""
    smooth = "c = sin(a)\n    b = multiply(c, x)"
    function = graph(COMPOSED.replace("float32", "float64").replace("b = add(a, a)", smooth))
    given, step = np.array(count), 1e-6
    for x in (0.7, 1.3):
        value, (found,) = evaluate(value_and_grad(function), [given, np.array(x)])
        same_values(value, evaluate(function, [given, np.array(x)]))
        high, low = (evaluate(function, [given, np.array(x + way)]) for way in (step, -step))
        np.testing.assert_allclose(found, (high - low) / (2 * step), rtol=1e-6)  # type: ignore[operator]
        both = outputs(value_and_grad(function), [given, np.array(x)])
        np.testing.assert_allclose(both, (value, found), rtol=1e-12)


def test_second_order_of_a_loop() -> None:
    """The Hessian of the loop's result, from the pullback of the pullback."""
    function = graph(LOOP)
    first = value_and_grad(function)
    second = pullback(pullback(function))
    x, s, way = np.array([0.3, -1.2, 2.0]), np.array(1.1), np.array([1.0, -0.5, 0.7])
    found = evaluate(second, [np.array(4), x, s, np.array(1.0), way, np.array(0.0)])
    step = 1e-5
    (_, high), (_, low) = (
        evaluate(first, [np.array(4), x + sign * step * way, s]) for sign in (1, -1)
    )
    for one, a, b in zip(found[:2], high, low, strict=True):
        np.testing.assert_allclose(one, (a - b) / (2 * step), rtol=1e-6, atol=1e-9)


def test_further_results_have_no_part_in_gradients() -> None:
    function = graph("""
func @f(x: float64[2], pair: (float64[2], int64[])) -> (float64[], float64[2]):
  a = pair[0]
  y = multiply(x, a)
  l = reduce_sum(y, keepdims=False)
  z = exp(y)
  both = (l, z)
  return both
""")
    x, a = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    (value, z), (dx, (da,)) = evaluate(value_and_grad(function), [x, (a, np.array(0))])
    assert value == 11.0
    np.testing.assert_allclose(z, np.exp(x * a))
    np.testing.assert_array_equal(dx, a)
    np.testing.assert_array_equal(da, x)


def test_symbolic_extents() -> None:
    function = graph("""
func @f(x: float64[N, 3], b: float64[3]) -> float64[]:
  y = add(x, b)
  r = relu(y)
  m = reduce_mean(r, keepdims=False)
  return m
""")
    x, b = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]), np.zeros(3)
    _, (dx, db) = evaluate(value_and_grad(function), [x, b])
    np.testing.assert_allclose(dx, (x > 0) / 6)
    np.testing.assert_allclose(db, (x > 0).sum(0) / 6)


def test_stored_floats_have_gradients_of_float32() -> None:
    function = graph("""
func @f(x: float32[2], y: float16[2]) -> float32[]:
  w = cast(y, to=float32)
  narrow = cast(x, to=bfloat16)
  wide = cast(narrow, to=float32)
  p = multiply(w, wide)
  s = reduce_sum(p, keepdims=False)
  return s
""")
    x, y = np.array([1.0, 2.0], np.float32), np.array([3.0, 4.0], np.float16)
    _, (dx, dy) = evaluate(value_and_grad(function), [x, y])
    same_values(dx, np.array([3.0, 4.0], np.float32))
    same_values(dy, np.array([1.0, 2.0], np.float32))


def test_refusals() -> None:
    def refused(program: str, message: str, wrt: list[str] | None = None) -> None:
        with pytest.raises(GradientError, match=message):
            value_and_grad(graph(program), wrt)

    vector = "func @f(x: float32[3], n: int64[]) -> float32[3]:\n  return x"
    refused(vector, r"^function f gives float32\[3\]: gradients are of a float scalar, or of the")
    refused(LAYER, "function loss: parameter v is not there; gradients can be of x, w, b", ["v"])
    refused(LOOP, r"parameter n is int64\[\], without floats; gradients can be of x, s", ["n"])
    refused(LAYER, "parameters x, x: one is named twice", ["x", "x"])
    with pytest.raises(GradientError, match=r"function f gives int64\[\], without floats"):
        pullback(graph("func @f(n: int64[]) -> int64[]:\n  return n"))
    with pytest.raises(GradientError, match=r"kernel .* has no gradient: take gradients before"):
        value_and_grad(transform(graph(LAYER), [Fuse()]))
    scatter = """
func @f(x: float32[3], i: int64[2]) -> float32[]:
  u = gather(x, i)
  y = scatter_elements(x, i, u, reduction=mul)
  s = reduce_sum(y, keepdims=False)
  return s
"""
    refused(scatter, r"y = scatter_elements\(data float32\[3\], .*its reduction is mul: with none")
    symbols = """
func @f(x: float32[N, M, 3]) -> float32[]:
  y = reshape(x, shape=[-1])
  z = softmax(y)
  s = reduce_sum(z, keepdims=False)
  return s
"""
    refused(symbols, r"y = reshape\(data float32\[N, M, 3\]\) has no gradient: the shape of a grad")


LISTS = """
type List[T] = Nil | Cons(T, List[T])

func @total(xs: List[float64[]], w: float64[], s: float64[]) -> float64[]:
  r = match xs:
    Nil():
      yield s
    Cons(x, rest):
      p = multiply(x, w)
      y = add(s, p)
      t = @total(rest, w, y)
      yield t
  return r

func @series(n: int64[], x: float64[]) -> List[float64[]]:
  go = greater(n, int64[](0))
  r = if go:
    m = subtract(n, int64[](1))
    y = sin(x)
    t = @series(m, y)
    c = Cons(y, t)
    yield c
  else:
    e = Nil[float64[]]()
    yield e
  return r

"""


def test_known_data_is_differentiated() -> None:
    function = graph(
        LISTS
        + """func @main(x: float64[], w: float64[]) -> float64[]:
  e = Nil[float64[]]()
  a = Cons(x, e)
  z = exp(x)
  b = Cons(z, a)
  r = @total(b, w, float64[](0.0))
  return r
"""
    )
    value, (dx, dw) = evaluate(value_and_grad(function), [np.array(0.5), np.array(2.0)])
    np.testing.assert_allclose(
        [value, dx, dw], [2 * (np.exp(0.5) + 0.5), 2 * (np.exp(0.5) + 1), np.exp(0.5) + 0.5]
    )


UNKNOWN = (
    LISTS
    + """func @main(n: int64[], x: float64[], w: float64[]) -> float64[]:
  b = @series(n, x)
  r = @total(b, w, float64[](0.0))
  q = @total(b, x, r)
  return q
"""
)
"""A list whose length an input says, of which two sums are taken: two gradients of it are added."""


def test_gradients_pass_through_data_whose_form_is_not_known() -> None:
    function = graph(UNKNOWN)
    step = value_and_grad(function)
    assert "type List_float64_gradient = Zero_List_float64_gradient | Cons_" in text(step)
    x, w = 0.5, 2.0
    value, (dx, dw) = evaluate(step, [np.array(3), np.array(x), np.array(w)])
    parts, slopes = [x], [1.0]
    for _ in range(3):
        slopes.append(slopes[-1] * np.cos(parts[-1]))
        parts.append(np.sin(parts[-1]))
    wanted = [
        sum(parts[1:]) * (w + x),
        sum(slopes[1:]) * (w + x) + sum(parts[1:]),
        sum(parts[1:]),
    ]
    np.testing.assert_allclose([value, dx, dw], wanted)
    _, (dx, dw) = evaluate(step, [np.array(0), np.array(x), np.array(w)])
    assert (dx, dw) == (0, 0)


def test_second_derivatives_pass_through_data() -> None:
    function = graph(UNKNOWN)
    step, second = value_and_grad(function), pullback(pullback(function, ["x"]), ["x"])
    assert "type List_float64_gradient_gradient = Zero_" in text(second)
    one = np.array(1.0)
    (found,) = evaluate(second, [np.array(3), np.array(0.5), np.array(2.0), one, one])

    def gradient(x: float) -> Array:
        _, gradients = evaluate(step, [np.array(3), np.array(x), np.array(2.0)])
        return np.asarray(gradients[0])

    high, low = gradient(0.5 + 1e-5), gradient(0.5 - 1e-5)
    np.testing.assert_allclose(found, (high - low) / 2e-5, rtol=1e-8)


FORMS = """
type Option = None | Some(float64[2], int64[])
type Rose = Leaf | Node((float64[2], float64[]), Option, Roses)
type Roses = Empty | More(Rose, Roses)

func @rose(n: int64[], x: float64[2], s: float64[]) -> Rose:
  more = greater(n, int64[](0))
  r = if more:
    m = subtract(n, int64[](1))
    y = sin(x)
    e = Empty()
    a = @rose(m, y, s)
    ae = More(a, e)
    t = multiply(s, s)
    b = @rose(m, x, t)
    both = More(b, ae)
    pair = (y, s)
    odd = greater(n, int64[](1))
    some = if odd:
      it = Some(x, n)
      yield it
    else:
      none = None()
      yield none
    node = Node(pair, some, both)
    yield node
  else:
    leaf = Leaf()
    yield leaf
  return r

func @sum(rose: Rose) -> float64[2]:
  r = match rose:
    Node(pair, some, below):
      x = pair[0]
      s = pair[1]
      p = multiply(x, s)
      q = match some:
        Some(y, n):
          yq = multiply(y, p)
          yield yq
        else:
          yield p
      t = @all(below)
      u = add(q, t)
      yield u
    Leaf:
      yield float64[2](0.0, 0.0)
  return r

func @all(roses: Roses) -> float64[2]:
  r = match roses:
    More(first, others):
      a = @sum(first)
      b = @all(others)
      c = add(a, b)
      yield c
    Empty:
      yield float64[2](0.0, 0.0)
  return r

func @main(n: int64[], x: float64[2], s: float64[]) -> float64[]:
  rose = @rose(n, x, s)
  a = @sum(rose)
  b = @sum(rose)
  c = multiply(a, b)
  r = reduce_sum(c, keepdims=False)
  return r
"""
"""Types that hold each other, tuples, and values that have no gradients."""


def test_all_forms_of_data() -> None:
    function = graph(FORMS)
    step = value_and_grad(function)
    x, s = np.array([0.4, -0.7]), np.array(1.3)
    value, (dx, ds) = evaluate(step, [np.array(3), x, s])
    np.testing.assert_array_equal(value, evaluate(function, [np.array(3), x, s]))
    way, size = np.array([0.6, 0.8]), 1e-6
    for found, moves in ((dx @ way, (way, 0)), (ds, (0 * way, 1))):
        high, low = (
            np.asarray(
                evaluate(function, [np.array(3), x + d * moves[0], np.array(s + d * moves[1])])
            )
            for d in (size, -size)
        )
        np.testing.assert_allclose(found, (high - low) / (2 * size), rtol=1e-7)


def test_data_types_that_have_no_gradients() -> None:
    declared = UNKNOWN.replace("type List", "type List_float64_gradient = A(int64[])\ntype List", 1)
    with pytest.raises(GradientError, match="a type List_float64_gradient is declared, and gradi"):
        value_and_grad(graph(declared))
    symbols = UNKNOWN.replace("float64[]", "float64[N]").replace("float64[N](0.0)", "s")
    symbols = symbols.replace(
        "w: float64[N]) -> float64[N]:\n  b", "w: float64[N], s: float64[N]):\n  b"
    )
    symbols = symbols.replace("  return q", "  l = reduce_sum(q, keepdims=False)\n  return l")
    with pytest.raises(GradientError, match=r"List\[float64\[N\]\] has extents that are symbols"):
        value_and_grad(graph(symbols))
