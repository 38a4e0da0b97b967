"""Programs with functions that are values: evaluator, optimised program and artifact agree."""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tandem.compiler.driver.build import build
from tandem.compiler.driver.call_sequence import call_sequence
from tandem.compiler.errors import BuildError, GraphError
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.live_ranges import live_ranges
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse, parse_function
from tandem.compiler.graph.passes import Defunctionalise, simplifying_passes, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.types import leaves
from tandem.compiler.graph.verify import verify
from tandem.runtime.artifact import Branch, CallFunction, Provenance, from_bytes, to_bytes
from tandem.runtime.devices.cpu import CpuDevice
from tandem.runtime.executor import Executor
from tests.compiler.driver.random_closures import programs
from tests.compiler.driver.test_control_flow import kept, refusals
from tests.support.compiler.graph.closures import CHOSEN, KEPT, STATES
from tests.support.compiler.graph.graphs import graph, same_values

MOST_VALUES: Final = 3000
"""Programs that compute more are left out: functions that call functions may be slow."""

SEEN: Counter[str] = Counter()
"""How many programs agreed, and how many of them have functions that are chosen when they run, or
that hold functions without a known end."""


class _TooSlow(Exception):
    """A program computes more than `MOST_VALUES` values."""


def agrees(program: str, measure: int, a: list[int], b: list[int]) -> None:
    module = parse(program, OPERATORS)
    assert parse(text(module), OPERATORS) == module
    function = parse_function(program, OPERATORS)
    verify(function)
    target, backends, runner = kept()
    values = [np.array(measure), np.array(a, np.int32), np.array(b, np.int32)]
    computed = 0

    def observe(*_: object) -> None:
        nonlocal computed
        computed += 1
        if computed > MOST_VALUES:
            raise _TooSlow

    try:
        wanted = evaluate(function, values, runner, observe)
    except _TooSlow:
        assume(False)
    first_order = transform(function, [Defunctionalise()])
    same_values(evaluate(first_order, values, runner), wanted)
    simpler = transform(function, simplifying_passes(runner))
    same_values(evaluate(simpler, values, runner), wanted)
    made = build(function, [target], Provenance("net"), backends=backends)
    executor = Executor(from_bytes(to_bytes(made)), [CpuDevice(1)])
    found = executor.run(dict(zip(("m", "a", "b"), values, strict=True))).outputs.values()
    same_values(tuple(found), tuple(leaves(wanted)))
    SEEN["chosen"] += "which" in text(first_order)
    SEEN["held without end"] += "@apply(" in text(first_order)
    SEEN["agreed"] += 1


_numbers = st.lists(st.integers(-5, 5), min_size=3, max_size=3)


@settings(max_examples=3, suppress_health_check=[*HealthCheck])
@given(programs(), st.integers(-1, 3), _numbers, _numbers)
def test_a_few_programs(program: str, measure: int, a: list[int], b: list[int]) -> None:
    agrees(program, measure, a, b)


@settings(max_examples=2000, suppress_health_check=[*HealthCheck])
@given(programs(), st.integers(-1, 3), _numbers, _numbers)
def _many_programs(program: str, measure: int, a: list[int], b: list[int]) -> None:
    agrees(program, measure, a, b)


@pytest.mark.exhaustive
def test_programs() -> None:
    SEEN.clear()
    _many_programs()
    assert SEEN["chosen"] > SEEN["agreed"] / 10
    assert SEEN["held without end"] > SEEN["agreed"] / 50


@settings(max_examples=2, suppress_health_check=[*HealthCheck])
@given(programs(), st.integers(0, 999))
def test_damaged_programs_are_refused_with_a_place(program: str, seed: int) -> None:
    assert refusals(program, range(seed, seed + 25))


@pytest.mark.exhaustive
@settings(max_examples=100, suppress_health_check=[*HealthCheck])
@given(programs(), st.integers(0, 999))
def test_many_damaged_programs(program: str, seed: int) -> None:
    refusals(program, range(seed, seed + 100))


@pytest.mark.parametrize("program", [CHOSEN, KEPT, STATES])
def test_artifacts(program: str) -> None:
    function = graph(program)
    target, backends, runner = kept()
    made = build(function, [target], Provenance("net"), backends=backends)
    executor = Executor(made, [CpuDevice(1)])
    for count in (0, 1, 5):
        inputs = {
            "n": np.array(count),
            "c": np.array(count, np.float32),
            "x": np.array(3) if program is not CHOSEN else np.arange(3, dtype=np.float32),
        }
        given_ = {param.name: inputs[param.name] for param in function.params}
        (found,) = executor.run(given_).outputs.values()
        wanted = evaluate(function, [*given_.values()], runner)
        assert isinstance(wanted, np.ndarray)
        np.testing.assert_array_equal(found, wanted)


def test_a_known_callee_costs_nothing() -> None:
    """The artifact is that of the program whose author wrote the call."""
    closure = """
func @apply(f: fn(float32[4]) -> float32[4], x: float32[4]) -> float32[4]:
  y = call f(x)
  return y

func @main(x: float32[4]) -> float32[4]:
  f = fun(a: float32[4]):
    b = add(a, x)
    yield b
  y = @apply(f, x)
  return y
"""
    plain = "func @main(x: float32[4]) -> float32[4]:\n  y = add(x, x)\n  return y"
    target, backends, _ = kept()
    one, other = (
        build(graph(text_), [target], Provenance("net"), backends=backends)
        for text_ in (closure, plain)
    )
    assert one.manifest.functions == other.manifest.functions == ()
    names, wanted = ([each.name for each in it.manifest.steps] for it in (one, other))
    assert names == wanted
    assert one.manifest.arena_bytes == other.manifest.arena_bytes
    assert one.code.keys() == other.code.keys()


def test_a_chosen_callee_is_a_branch() -> None:
    target, backends, _ = kept()
    made = build(graph(KEPT), [target], Provenance("net"), backends=backends)
    (_, run) = made.manifest.functions
    kinds = [type(each) for each in run.instructions]
    assert kinds.count(Branch) == 3
    assert CallFunction not in kinds


def test_memory_is_planned_of_programs_without_functions_that_are_values() -> None:
    with pytest.raises(GraphError, match="scaled is a function, or calls one: the pass defunctio"):
        live_ranges(graph(CHOSEN))
    with pytest.raises(BuildError, match="function main: double is a function, or calls one: the"):
        call_sequence(graph(STATES))
