"""The gradients of all operators: against central differences, or none, or refused."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from tandem.compiler.errors import GradientError
from tandem.compiler.graph import Body, Call, Function, Let, Param, TensorType, Var
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.gradient_query import constant_gradient
from tandem.compiler.graph.gradients import pullback
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.ir.dtypes import dtype_of
from tests.support.compiler.graph.gradient_cases import CASES
from tests.support.compiler.graph.gradient_draws import Array, OperatorCall
from tests.support.compiler.graph.graphs import graph

STEPS = {name for name, spec in OPERATORS.items() if spec.gradient is constant_gradient}
"""Operators whose results count as constants."""

REFUSED = {
    "bit_cast": "bit_cast(x, to=float32)",
    "convert": "convert(x, shape=[1, 2, 2, 2], target={0, 1/2, 2, 3, 1%2})",
    "dequantise_blocks": "dequantise_blocks(codes, scale, axis=1, block=4)",
    "determinant": "determinant(x)",
    "pack_windows": "pack_windows(x, kernel=[1, 1], batch=1, block=2)",
    "sample": "sample(x, positions)",
    "view": "view(x, shape=[8])",
}
"""Calls of operators of floats that have no rule."""

STRAIGHT = {
    "fake_encode": ("fake_encode(x, s, table=[0, 1, -2, -1])", [1, 1, 1, 1, 1, 1]),
    "fake_quantise": ("fake_quantise(x, s, low=-2, high=1)", [1, 1, 1, 0, 1, 0]),
}
"""Operators whose gradients are not those of their steps: calls, and the gradients that they have
at 0.6, 0.2, -0.7, 9, -1.2 and -3 for a scale of 0.5."""

INTEGERS = {
    *("arg_max", "arg_min", "bit_shift", "bitwise_and", "bitwise_not", "bitwise_or"),
    *("bitwise_xor", "equal", "greater", "greater_or_equal", "is_inf", "is_nan", "less"),
    *("less_or_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "lookup"),
    *("max_pool_index", "put_rows", "quantise", "requantise", "requantise_add", "top_k"),
    *("true_positions", "widen"),
}
"""Operators whose results are never floats, so that they need no rule."""


def function_of(name: str, call: OperatorCall) -> Function:
    """A function that calls the operator on its parameters."""
    spec = OPERATORS[name]
    params = tuple(
        Param(f"x{number}", TensorType(array.shape, dtype_of(array.dtype.name)))
        for number, array in enumerate(call.operands)
    )
    args = tuple(Var(param.name) for param in params)
    let = Let("y", Call(spec, args, spec.attributes(**call.attributes)))
    return Function("f", params, Body((let,), Var("y")))


def check(name: str, seed: int) -> None:
    """Compares the derivative, in a random direction, of a random sum of the results' elements."""
    rng = np.random.default_rng([zlib.crc32(name.encode()), seed])
    call = CASES[name](rng)
    function = function_of(name, call)
    ways = {
        at: rng.uniform(-1, 1, operand.shape)
        for at, operand in enumerate(call.operands)
        if operand.dtype.kind == "f"
    }
    single = any(each.dtype == np.float32 for each in call.operands)
    step, tolerance = (1e-2, 1e-4) if single else (1e-5, 1e-6)

    def results(size: float) -> list[Array]:
        moved = [
            np.asarray(operand + size * ways[at], operand.dtype) if at in ways else operand
            for at, operand in enumerate(call.operands)
        ]
        found = evaluate(function, moved)
        return [np.asarray(each) for each in (found if isinstance(found, tuple) else (found,))]

    weights = [np.asarray(rng.uniform(-1, 1, each.shape), each.dtype) for each in results(0.0)]
    pairs = zip(weights, results(step), results(-step), strict=True)
    wanted = sum(float(np.sum(weight * (a - b))) for weight, a, b in pairs) / (2 * step)
    gradients = evaluate(pullback(function), [*call.operands, *weights])
    assert isinstance(gradients, tuple)
    terms = []
    for (at, way), gradient in zip(ways.items(), gradients, strict=True):
        operand = call.operands[at]
        assert isinstance(gradient, np.ndarray)
        assert (gradient.shape, gradient.dtype) == (operand.shape, operand.dtype)
        terms += [*(gradient * way).reshape(-1)]
    scale = max(sum(map(abs, terms)), 1e-3)
    assert abs(sum(terms) - wanted) <= tolerance * scale, (call, sum(terms), wanted)


@pytest.mark.parametrize("name", CASES)
def test_some_central_differences(name: str) -> None:
    for seed in range(4):
        check(name, seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CASES)
def test_central_differences(name: str) -> None:
    for seed in range(4, 24):
        check(name, seed)


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_has_a_rule_or_is_refused(name: str) -> None:
    """An operator without a rule is named here, one with a rule is drawn above."""
    kinds = (CASES.keys(), STEPS, STRAIGHT.keys(), REFUSED.keys(), INTEGERS)
    listed = [names for names in kinds if name in names]
    assert len(listed) == 1
    if OPERATORS[name].gradient is None:
        assert name in REFUSED or name in INTEGERS


@pytest.mark.parametrize("name", sorted(STEPS))
def test_steps_are_constant(name: str) -> None:
    function = graph(
        f"func @f(x: float32[3]) -> float32[3]:\n  y = {name}(x)\n  z = add(y, x)\n  return z"
    )
    x, weights = np.array([[0.5, -1.5, 2.2], [1.0, 2.0, 3.0]], np.float32)
    (found,) = evaluate(pullback(function), [x, weights])
    np.testing.assert_array_equal(found, weights)


@pytest.mark.parametrize("name", STRAIGHT)
def test_straight_through(name: str) -> None:
    call, slopes = STRAIGHT[name]
    function = graph(
        f"func @f(x: float32[6], s: float32[]) -> float32[6]:\n  y = {call}\n  return y"
    )
    x = np.array([0.6, 0.2, -0.7, 9.0, -1.2, -3.0], np.float32)
    weights = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], np.float32)
    of_data, of_scale = evaluate(pullback(function), [x, np.array(0.5, np.float32), weights])
    np.testing.assert_array_equal(of_data, weights * slopes)
    np.testing.assert_array_equal(of_scale, 0.0)


@pytest.mark.parametrize("name", REFUSED)
def test_operators_without_a_rule_are_refused_by_name(name: str) -> None:
    function = graph(
        "func @f(x: float32[1, 2, 2, 2], codes: uint4[2, 4], scale: float32[2, 1], "
        f"positions: float32[1, 1, 1, 2]):\n  place = {REFUSED[name]}\n  return place"
    )
    message = (
        rf"^function f: place = {name}\(.* has no gradient: {name} has no rule; write place by "
        r"operators that have one, or keep its operands constant by stop_gradient$"
    )
    with pytest.raises(GradientError, match=message):
        pullback(function)


def test_nothing_is_refused_where_no_gradient_is_needed() -> None:
    function = graph("""
func @f(x: float64[2, 2], y: float64[]) -> float64[]:
  still = stop_gradient(x)
  a = determinant(still)
  b = multiply(a, y)
  return b
""")
    x = np.array([[1.0, 2.0], [3.0, 5.0]])
    dx, dy = evaluate(pullback(function), [x, np.array(3.0), np.array(1.0)])
    np.testing.assert_array_equal(dx, np.zeros((2, 2)))
    np.testing.assert_allclose(dy, -1.0)
