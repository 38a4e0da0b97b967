"""Programs with control flow: evaluator, optimised program and artifact agree."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tandem.compiler.driver.build import Backends, build
from tandem.compiler.errors import CompilerError
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.parser import parse_function
from tandem.compiler.graph.passes import simplifying_passes, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.types import leaves
from tandem.compiler.graph.verify import verify
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.plan.target import Target
from tandem.runtime.artifact import Provenance, from_bytes, to_bytes
from tandem.runtime.devices.cpu import CpuDevice
from tandem.runtime.executor import Executor
from tests.compiler.driver.random_programs import programs
from tests.support.compiler.graph.graphs import graph, same_values


@cache
def kept() -> tuple[Target[CpuTarget], Backends, NativeRunner]:
    """The target, and caches of code for all programs."""
    return cpu(CpuTarget.host(threads=1)), Backends(), NativeRunner(1, reassociate=False)


def agrees(program: str, measure: int, a: list[int], b: list[int]) -> None:
    function = parse_function(program, OPERATORS)
    verify(function)
    assert text(parse_function(text(function), OPERATORS)) == text(function)
    target, backends, runner = kept()
    values = [np.array(measure), np.array(a, np.int32), np.array(b, np.int32)]
    wanted = evaluate(function, values, runner)
    simpler = transform(function, simplifying_passes(runner))
    same_values(evaluate(simpler, values, runner), wanted)
    made = build(function, [target], Provenance("net"), backends=backends)
    executor = Executor(from_bytes(to_bytes(made)), [CpuDevice(1)])
    inputs = dict(zip(("n", "a", "b"), values, strict=True))
    for _ in range(2):
        found = executor.run(inputs).outputs.values()
        same_values(tuple(found), tuple(leaves(wanted)))


_numbers = st.lists(st.integers(-5, 5), min_size=3, max_size=3)


@settings(max_examples=2, suppress_health_check=[HealthCheck.too_slow])
@given(programs(), st.integers(-1, 5), _numbers, _numbers)
def test_a_few_programs(program: str, measure: int, a: list[int], b: list[int]) -> None:
    agrees(program, measure, a, b)


@pytest.mark.exhaustive
@settings(max_examples=2000, suppress_health_check=[HealthCheck.too_slow])
@given(programs(), st.integers(-1, 5), _numbers, _numbers)
def test_programs(program: str, measure: int, a: list[int], b: list[int]) -> None:
    agrees(program, measure, a, b)


def damage(program: str, random: np.random.Generator) -> str:
    """The program with some words exchanged for others of it, dropped or doubled."""
    words = program.split(" ")
    for _ in range(int(random.integers(1, 4))):
        at, other = random.integers(len(words), size=2)
        match random.integers(3):
            case 0:
                words[at] = words[other]
            case 1:
                words[at], words[other] = words[other], words[at]
            case _:
                del words[at]
    return " ".join(words)


def refusals(program: str, seeds: range) -> list[str]:
    """The messages for damaged programs; programs that are still legal have none."""
    messages = []
    for seed in seeds:
        damaged = damage(program, np.random.default_rng(seed))
        try:
            verify(parse_function(damaged, OPERATORS))
        except CompilerError as error:
            messages.append(str(error))
    assert not any("\n" in message for message in messages)
    assert all("line " in each or "function " in each or "kernel " in each for each in messages)
    return messages


@settings(max_examples=2)
@given(programs(), st.integers(0, 999))
def test_damaged_programs_are_refused_with_a_place(program: str, seed: int) -> None:
    assert refusals(program, range(seed, seed + 25))


@pytest.mark.exhaustive
@settings(max_examples=100)
@given(programs(), st.integers(0, 999))
def test_many_damaged_programs(program: str, seed: int) -> None:
    refusals(program, range(seed, seed + 100))


def test_results_lie_in_their_order() -> None:
    """Not in that of a set, which is another in each process: equal programs have equal bytes."""
    names = [f"r{number}" for number in range(7)]
    newline = "\n"
    lines = [f"    {name} = add(x, float32[]({at}.0))" for at, name in enumerate(names)]
    program = f"""
func @main(c: bool[], x: float32[2]):
  t = if c:
{newline.join(lines)}
    y = ({", ".join(names)})
    yield y
  else:
    n = ({", ".join("x" for _ in names)})
    yield n
  return t
"""
    manifest = build(graph(program), [kept()[0]], Provenance("test")).manifest
    results = [each.tensor for each in manifest.results]
    assert len(results) == len(names)
    assert [each.name for each in manifest.tensors if each.name in results] == results
