"""Pullbacks of functions that are called by name: types, names, and what they give by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.gradients.data_gradients import with_data_gradients
from tandem.compiler.graph.gradients.pullbacks import Pullbacks
from tandem.compiler.graph.nodes import Function, Module
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.passes.named_functions import by_name
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.types import TupleType
from tandem.compiler.graph.verify import verify
from tandem.compiler.graph.visit import program
from tests.support.compiler.graph.gradient_texts import GEOMETRIC
from tests.support.compiler.graph.graphs import graph

POWER = """
func @power(x: float64[], n: int64[], y: float64[]) -> (float64[], int64[], float64[]):
  a = multiply(x, y)
  b = multiply(a, a)
  t = (b, n, y)
  return t

func @main(x: float64[], n: int64[], y: float64[]):
  t = @power(x, n, y)
  return t
"""


def pullbacks(source: str) -> Pullbacks:
    whole = with_data_gradients(by_name(graph(source)))
    named = {name: each for name, each in whole.named.items() if name != "main"}
    return Pullbacks(named, OPERATORS, {*named})


X, N, Y = np.array(3.0), np.array(1), np.array(5.0)


@pytest.mark.parametrize(
    ("wanted", "present", "given", "gradients"),
    [
        # x^2 y^2 has the gradients 2 x y^2 = 150 and 2 x^2 y = 90.
        ((True, False, True), (True, True), (1, 10), [150, 100]),
        ((True, True, True), (True, True), (2, 1), [300, 181]),
        ((True, False, True), (True, False), (2,), [300, 180]),
        ((True, False, True), (False, True), (2,), [0, 2]),
        ((False, False, True), (True, True), (1, 0.5), [90.5]),
        ((True, False, False), (True, True), (1, 7), [150]),
        ((False, False, False), (True, True), (1, 7), []),
        ((True, False, True), (False, False), (), [0, 0]),
    ],
)
def test_gradients_that_are_wanted_and_present(
    wanted: tuple[bool, ...], present: tuple[bool, ...], given: tuple[float, ...], gradients: Any
) -> None:
    found = pullbacks(POWER)
    callee = found.of("power", wanted, present)
    assert callee.name == "power_pullback"
    assert [str(each) for each in callee.type.params] == [
        *("float64[]", "int64[]", "float64[]"),
        *("float64[]" for _ in given),
    ]
    assert isinstance(callee.type.result, TupleType)
    assert [str(each) for each in callee.type.result.items] == ["float64[]"] * len(gradients)
    (written,) = found.definitions()
    assert written.name == callee.name
    assert tuple(param.type for param in written.params) == callee.type.params
    assert written.result == callee.type.result
    whole = program(Module((*found.named.values(), written)), callee.name)
    verify(whole)
    values = evaluate(whole, [X, N, Y, *(np.array(each, np.float64) for each in given)])
    assert [float(np.asarray(each)) for each in values] == gradients


def test_the_text() -> None:
    """The function's own values, then gradients, which are called after the values."""
    found = pullbacks(POWER)
    found.of("power", (False, False, True), (True, True))
    (written,) = found.definitions()
    assert text(written) == TEXT


TEXT = """\
func @power_pullback(x: float64[], n: int64[], y: float64[], gradient: float64[], gradient_1: \
float64[]) -> (float64[],):
  a = multiply(x, y)
  b = multiply(a, a)
  t = (b, n, y)
  b_gradient = multiply(gradient, a)
  b_gradient_1 = multiply(gradient, a)
  b_gradient_2 = add(b_gradient, b_gradient_1)
  a_gradient = multiply(b_gradient_2, y)
  a_gradient_1 = multiply(b_gradient_2, x)
  a_gradient_2 = add(gradient_1, a_gradient_1)
  gradients = (a_gradient_2,)
  return gradients
"""


def test_each_is_written_once() -> None:
    found = pullbacks(POWER)
    found.taken.add("power_pullback")
    one = found.of("power", (True, False, True), (True, True))
    other = found.of("power", (True, False, False), (True, True))
    assert found.of("power", (True, False, True), (True, True)) is one
    assert (one.name, other.name) == ("power_pullback_1", "power_pullback_2")
    assert [each.name for each in found.definitions()] == [one.name, other.name]
    assert found.definitions() == ()


LOOP = f"""{GEOMETRIC}
func @main(n: int64[], x: float64[], s: float64[]):
  r = @loop(n, x, s)
  return r
"""


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_loop_calls_its_pullback(count: int) -> None:
    """Of x s^n: s^n and n x s^(n - 1), times the gradient."""
    found = pullbacks(LOOP)
    callee = found.of("loop", (False, True, True), (True,))
    written = found.definitions()
    assert [each.name for each in written] == ["loop_pullback"]
    whole = program(Module((*found.named.values(), *written)), callee.name)
    x, s = 3.0, 2.0
    values = evaluate(whole, [np.array(count), np.array(x), np.array(s), np.array(10.0)])
    wanted = [10 * s**count, 10 * count * x * s ** (count - 1)]
    assert [float(np.asarray(each)) for each in values] == wanted


LISTS = """
type List = Nil | Cons(float64[], Inner, List)
type Inner = Inner(float64[], int8[])

func @both(list: List) -> (List, List):
  t = (list, list)
  return t

func @main(list: List):
  t = @both(list)
  return t
"""


def test_gradients_of_data_are_added_by_functions() -> None:
    """Also those of the types in the fields."""
    found = pullbacks(LISTS)
    callee = found.of("both", (True,), (True, True))
    assert [str(each) for each in callee.type.params] == [
        *("List", "List_gradient", "List_gradient")
    ]
    names = [each.name for each in found.definitions()]
    assert names == ["both_pullback", "add_List_gradient", "add_Inner_gradient"]
    (gradient,) = {type_ for type_ in callee.type.params if str(type_) == "List_gradient"}
    assert found.adder(gradient) is found.adder(gradient)  # type: ignore[arg-type]
    taken = pullbacks(LISTS)
    taken.taken.add("add_List_gradient")
    added = taken.adder(gradient)  # type: ignore[arg-type]
    assert added.name == "add_List_gradient_1"
    assert added.type.params == (gradient, gradient)
    assert added.type.result == gradient
    (alone, *_) = taken.definitions()
    assert isinstance(alone, Function)
    assert alone.name == added.name
