"""Sketches on this processor: which kernels are measured, and what tasks know."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.errors import ReplayError
from tandem.compiler.graph import Call, Constant, Function, Var
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.dtypes import FLOAT32
from tandem.compiler.machines.cpu.backend import SketchedCall
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.compiler.machines.cpu.kernels import CpuKernel, computation_of
from tandem.compiler.machines.cpu.sketches import rules_of
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.machines.cpu.templates.layer import LayerOnCpu
from tandem.compiler.plan.planner import Plan, Planner
from tandem.compiler.te import compute, placeholder, reduce_axis, sum
from tandem.compiler.te.build import program_of
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.sketches.computation import Computation
from tandem.compiler.tune.sketches.evolution import Breeder
from tandem.compiler.tune.sketches.template import DEFAULT, SKETCHES
from tandem.compiler.tune.tasks import Task
from tandem.workbench.measurers.on_cpu import CpuLayer
from tandem.workbench.measurers.sketches_on_cpu import (
    SketchLayer,
    generic_schedule,
    layer_of,
    sketch_search,
    sketch_task,
    sketch_tasks,
)
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.te.nests import nest

HOST = CpuTarget.host(threads=1)
DENSE = """
kernel @k(x: float32[2, 40], w: float32[24, 40]):
  c = dense(x, w)
  r = relu(c)
  return r
"""
ROWS = np.random.default_rng(0).integers(-8, 8, (2, 40)).astype(np.float32)
WEIGHT = np.random.default_rng(1).integers(-8, 8, (24, 40)).astype(np.float32)
WANTED = np.maximum(ROWS @ WEIGHT.T, 0)


def call(program: str = DENSE) -> SketchedCall:
    """A dense layer with a weight that is known, and its plan."""
    kernel = graph(program)
    plan = Planner(cpu(HOST)).layer(Call(kernel, (Var("x"), Constant(WEIGHT))))
    assert plan is not None
    return SketchedCall(kernel, frozenset({1}), plan)


def plan_of(one: SketchedCall) -> tuple[Function, Plan]:
    assert one.plan is not None
    return one.kernel, one.plan


def drawn(computation: Computation) -> Choice:
    """The decisions of some sketch."""
    rules = rules_of(HOST, computation)
    breeder = Breeder(computation.start(), rules, computation.constant_names, random.Random(0))
    sketch = breeder.sample()
    assert sketch is not None
    return sketch.trace.choice


def results(kernel: CpuKernel, given: Sequence[NDArray[Any]]) -> NDArray[Any]:
    arrays = []
    for at, number in enumerate(kernel.operands):
        array = given[number]
        if at in kernel.packing:
            (array,) = compile_function(kernel.packing[at], HOST)(given[number])
        arrays.append(array)
    (result,) = compile_function(kernel.program, HOST)(*arrays)
    return np.asarray(result)


def test_tasks_are_computations_that_reduce() -> None:
    """Equal ones are a task, whatever their kernels and values are called."""
    other = DENSE.replace("c = ", "d = ").replace("relu(c)", "relu(d)").replace("@k", "@other")
    doubled = graph("""
kernel @double(x: float32[6]):
  y = add(x, x)
  return y
""")
    calls = {
        "a": call(),
        "b": SketchedCall(doubled, frozenset(), None),
        "c": call(other),
        "d": replace(call(), constants=frozenset()),
    }
    first, second = sketch_tasks(HOST, calls)
    assert (first.layers, second.layers) == (("a", "c"), ("d",))
    assert first.workload == computation_of(graph(DENSE), {1})
    assert second.workload == computation_of(graph(DENSE), ())
    assert (first.template, first.default) == (SKETCHES, DEFAULT)
    assert first.target.machine == HOST
    made = layer_of(HOST, first)
    assert made == SketchLayer(HOST, first.workload, *plan_of(calls["a"]))


def test_a_users_own_expressions_have_no_kernel() -> None:
    computation = computation_of(graph(DENSE), {1})
    task = sketch_task(HOST, ["y", "z"], computation)
    assert (task.layers, task.kernel, task.plan) == (("y", "z"), None, None)
    assert layer_of(HOST, task) == SketchLayer(HOST, computation, None, None)


def test_layers_of_templates() -> None:
    _, plan = plan_of(call())
    assert isinstance(plan.template, LayerOnCpu)
    task = Task(("y",), cpu(HOST), plan.template, plan.workload, plan.arguments, plan.choice)
    assert layer_of(HOST, task) == CpuLayer(HOST, plan.template, plan.workload)


def test_kernels() -> None:
    """Of the default the compiler's own, of others those of their decisions."""
    one = call()
    computation = computation_of(one.kernel, one.constants)
    choice = drawn(computation)
    own = SketchLayer(HOST, computation, *plan_of(one))
    alone = SketchLayer(HOST, computation, None, None)
    found = [layer.kernel(which) for layer in (own, alone) for which in (DEFAULT, choice)]
    assert [each.program.name for each in found] == ["k", "k", "kernel", "kernel"]
    assert [each.operators for each in found] == [("dense", "relu")] * 2 + [()] * 2
    # The template packs weights and prefetches them; without it nothing is packed.
    assert [bool(each.streamed) for each in found] == [True, False, False, False]
    assert not found[2].packing
    assert found[1].sources == found[3].sources
    for kernel in found:
        np.testing.assert_array_equal(results(kernel, (ROWS, WEIGHT)), WANTED)


def test_noise_and_what_it_gives() -> None:
    layer = SketchLayer(HOST, computation_of(graph(DENSE), {1}), None, None)
    x, w = layer.noise()
    assert (x.shape, w.shape) == ((2, 40), (24, 40))
    assert {str(x.dtype), str(w.dtype)} == {"float32"}
    np.testing.assert_array_equal(x, layer.noise()[0])
    assert x.std() > 0.5
    (found,) = layer.reference([ROWS, WEIGHT])
    np.testing.assert_array_equal(found, WANTED)


def test_what_tasks_know() -> None:
    computation = computation_of(graph(DENSE), {1})
    task = sketch_task(HOST, ["y"], computation)
    choice = drawn(computation)
    assert (task.knows(DEFAULT), task.knows(choice)) == (True, True)
    assert task.schedule(DEFAULT) == generic_schedule(computation, HOST)
    assert task.schedule(choice) != task.schedule(DEFAULT)
    (found,) = interpreter.run(task.schedule(choice).program, [ROWS, WEIGHT])
    np.testing.assert_array_equal(found, WANTED)
    assert task.knows({"s7.lanes": "i0"}) is False
    with pytest.raises(ReplayError, match="the trace does not decide"):
        task.schedule({"s7.lanes": "i0"})


def test_floats_are_added_in_another_order_if_the_computation_says_so() -> None:
    a, k = placeholder((3, 64), FLOAT32, "a"), reduce_axis(64, "k")
    program = program_of([compute((3,), lambda i: sum(a[i, k], k), "t")])
    ordered, any_order = (
        generic_schedule(Computation.of(program, reassociate=again), HOST)
        for again in (False, True)
    )
    # Lanes along terms, of which there are many.
    assert not nest(ordered, "s0").endswith("v")
    assert nest(any_order, "s0").endswith("v")


def test_searches() -> None:
    computation = computation_of(graph(DENSE), {1})
    task = sketch_task(HOST, ["y"], computation)
    choices = []
    for seed in (0, 0, 1):
        table, search = sketch_search(task, seed)
        assert table.template is SKETCHES
        choices.append([table.choice(row) for row in search.propose(2)])
    assert choices[0] == choices[1] != choices[2]
    assert all(task.knows(choice) for choice in choices[0])
