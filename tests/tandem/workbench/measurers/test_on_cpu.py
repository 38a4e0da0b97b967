"""Measuring choices on this processor."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.graph import Atom, Call, Constant, Function, TensorType, Var
from tandem.compiler.graph.passes import InferTypes
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.machines.cpu.templates.layer import LayerOnCpu
from tandem.compiler.plan.planner import Planner
from tandem.compiler.tune.trial import Status
from tandem.workbench.measurers import on_cpu
from tandem.workbench.measurers.on_cpu import (
    LEAST_RUNS,
    LEAST_SECONDS,
    MOST_RUNS,
    TOLERANCE,
    WARM_UP,
    CpuLayer,
    CpuMeasurer,
    alternate,
    alternated,
)
from tests.support.compiler.graph.graphs import graph

Array = NDArray[Any]

HOST = CpuTarget.host(1)
KERNELS = {
    "float32": """
kernel @k(x: float32[1, 3, 9, 9], w: float32[16, 3, 3, 3], b: float32[16]):
  c = conv2d(x, w, b, padding=[1, 1, 1, 1])
  r = relu(c)
  return r
""",
    "int8": """
kernel @k(x: int8[1, 6, 8, 8], w: int8[16, 6, 3, 3], b: int32[16]):
  c = conv2d(x, w, b)
  return c
""",
    "uint8": """
kernel @k(x: uint8[1, 6, 8, 8], w: int8[16, 6, 3, 3], b: int32[16]):
  c = conv2d(x, w, b)
  return c
""",
}


def layer(name: str, machine: CpuTarget = HOST) -> tuple[CpuLayer, dict[str, int | str]]:
    """A layer and the choice that it is compiled with."""
    kernel = InferTypes().apply(graph(KERNELS[name]))
    type_ = kernel.params[1].type
    assert isinstance(type_, TensorType)
    weight = Constant(np.ones(type_.static_shape("w"), type_.dtype.numpy))
    others = (Var(param.name) for param in kernel.params[2:])
    arguments: tuple[Atom, ...] = (Var("x"), weight, *others)
    plan = Planner(cpu(machine)).layer(Call(kernel, arguments))
    assert plan is not None
    assert isinstance(plan.template, LayerOnCpu)
    return CpuLayer(machine, plan.template, plan.workload), dict(plan.choice)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_median_of_seconds(name: str, threads: int) -> None:
    measured, choice = layer(name, replace(HOST, threads=threads))
    cores = os.sched_getaffinity(0)
    outcome = CpuMeasurer()(measured, choice, float("inf"))
    assert outcome.status is Status.MEASURED, outcome.reason
    assert 0 < outcome.cost < 1
    assert os.sched_getaffinity(0) == cores


def test_a_wrong_result_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, choice = layer("float32")
    monkeypatch.setattr(on_cpu, "reference_of", lambda kernel, arrays: np.zeros((1, 16, 9, 9)))
    outcome = CpuMeasurer()(measured, choice, float("inf"))
    assert outcome.status is Status.FAILED
    assert outcome.reason == "its result differs from the reference"


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("at", [0, 3])
def test_real_results_may_differ_by_their_greatest_times_the_tolerance(
    scale: float, at: int
) -> None:
    """Whatever their magnitude, and wherever the difference is."""
    wanted = np.array([1.0, -4.0, 0.0, 2.0]) * scale
    for sign in (-1, 1):
        for share, close in ((0.9, True), (1.1, False)):
            found = wanted.copy()
            found[at] += sign * share * TOLERANCE * 4 * scale
            assert on_cpu.close(found, wanted) is close


def test_other_results_are_equal() -> None:
    zeros, integers = np.zeros(3, np.float32), np.array([1, 100_000], np.int32)
    assert on_cpu.close(zeros, zeros)
    assert not on_cpu.close(zeros + np.float32(1e-30), zeros)
    assert on_cpu.close(np.zeros((0, 2), np.float32), np.zeros((0, 2), np.float32))
    assert on_cpu.close(integers, integers)
    assert not on_cpu.close(integers + np.array([0, 1], np.int32), integers)


@pytest.mark.parametrize("name", KERNELS)
def test_what_it_is_measured_with(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Normal noise, or all integers from -4 to 4; without a sign, from 0."""
    seen: list[Array] = []

    def kept(kernel: Function, arrays: list[Array]) -> Array:
        seen.extend(arrays)
        return reference(kernel, arrays)

    reference = on_cpu.reference_of
    monkeypatch.setattr(on_cpu, "reference_of", kept)
    measured, choice = layer(name)
    CpuMeasurer()(measured, choice, float("inf"))
    for array, param in zip(seen, measured.workload.kernel.params, strict=True):
        assert isinstance(param.type, TensorType)
        assert array.shape == param.type.static_shape(param.name)
        assert array.dtype == param.type.dtype.numpy
        if array.dtype.kind == "f":
            assert np.unique(array).size == array.size
            assert abs(array.mean()) < 0.5 < array.std() < 1.5
        else:
            least = 0 if array.dtype.kind == "u" else -4
            # A bias of 16 numbers need not have them all.
            assert {*array.flat} <= {*range(least, 5)}
            assert len({*array.flat}) == 5 - least or array.size < 100


def test_a_choice_that_cannot_be_scheduled_fails() -> None:
    measured, choice = layer("int8")
    outcome = CpuMeasurer()(measured, {**choice, "channels": 7}, float("inf"))
    assert outcome.status is Status.FAILED
    assert "Error" in outcome.reason


@dataclass
class FakeClock:
    """A clock that only what is timed moves on, and the number of calls of that."""

    seconds: float
    now: float = 0.0
    calls: int = 0

    def call(self) -> None:
        self.now += self.seconds
        self.calls += 1


@pytest.mark.parametrize(("threads", "clock"), [(1, "thread_time"), (2, "perf_counter")])
@pytest.mark.parametrize(
    ("seconds", "runs"),
    [(1.0, LEAST_RUNS), (LEAST_SECONDS / 20.5, 21), (LEAST_SECONDS / 1000, MOST_RUNS)],
)
def test_runs_until_there_are_enough_and_they_were_long_enough(
    seconds: float, runs: int, threads: int, clock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At least five, for 30 ms, and at most fifty; the first two are not counted."""
    fake = FakeClock(seconds)
    monkeypatch.setattr(on_cpu, clock, lambda: fake.now)
    found = alternated([fake.call], threads, 1)
    assert found.tolist() == [[pytest.approx(seconds)]]
    assert fake.calls == WARM_UP + runs


def test_calls_alternate_and_change_their_order() -> None:
    order: list[str] = []
    calls = [lambda: order.append("a"), lambda: order.append("b")]
    found = alternated(calls, 1, 3)
    assert found.shape == (3, 2)
    assert (found > 0).all()
    assert [name for name, _ in groupby(order)] == ["a", "b", "a", "b"]


def test_alternate_times_each_choice() -> None:
    measured, choice = layer("int8")
    found = alternate(measured, [choice, choice], 2)
    assert found.shape == (2, 2)
    assert ((found > 0) & (found < 1)).all()
