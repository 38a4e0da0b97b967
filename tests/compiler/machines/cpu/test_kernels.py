"""Kernels of the CPU: what their programs read, and what is packed for them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.errors import ReplayError
from tandem.compiler.graph import Call, Constant, Function, Var
from tandem.compiler.ir import interpreter
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.compiler.machines.cpu.kernels import (
    CpuKernel,
    computation_of,
    cpu_kernel,
    kernel_of_sketch,
    operator_names,
    scheduled_kernel,
    sketched_kernel,
)
from tandem.compiler.machines.cpu.sketches import rules_of, sketched
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.machines.cpu.templates.dense import DenseOnCpu
from tandem.compiler.plan.planner import Plan, Planner
from tandem.compiler.te.tree import allocated
from tandem.compiler.tune.sketches.evolution import Breeder
from tests.support.compiler.graph.graphs import graph

HOST = CpuTarget.host(threads=1)
TARGET = cpu(HOST)
DENSE = """
kernel @k(b: float32[2, 24], w: float32[24, 40], x: float32[2, 40]):
  c = dense(x, w)
  s = add(c, b)
  return s
"""
NARROW = """
kernel @k(x: float32[15], w: int4[6, 15]):
  c = cast(w, to=float32)
  y = subtract(c, x)
  return y
"""
ROWS = np.random.default_rng(0).integers(-8, 8, (2, 40)).astype(np.float32)
WEIGHT = np.random.default_rng(1).integers(-8, 8, (24, 40)).astype(np.float32)
BIAS = np.arange(48, dtype=np.float32).reshape(2, 24)


class Unfetched(DenseOnCpu):
    """A template whose programs do not prefetch."""

    name = "unfetched"
    prefetches = False


def results(kernel: CpuKernel, given: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """What native code of a kernel and of its packing programs computes of parameters."""
    arrays = []
    for at, number in enumerate(kernel.operands):
        array = given[number]
        if at in kernel.packing:
            read = (given[source] for source in kernel.sources[at])
            (array,) = compile_function(kernel.packing[at], HOST)(*read)
        arrays.append(array)
    (result,) = compile_function(kernel.program, HOST)(*arrays)
    return np.asarray(result)


def dense() -> tuple[Function, Plan]:
    """The kernel of a dense layer with a weight that is known, and its plan."""
    kernel = graph(DENSE)
    plan = Planner(TARGET).layer(Call(kernel, (Var("b"), Constant(WEIGHT), Var("x"))))
    assert plan is not None
    return kernel, plan


def test_a_planned_layer() -> None:
    kernel, plan = dense()
    found = cpu_kernel(kernel, plan, TARGET)
    assert (found.program.name, found.operators) == ("k", ("dense", "add"))
    assert found.macs == 2 * 24 * 40
    (at,) = found.packing
    assert found.operands[at] == 1
    assert sorted(found.operands) == [0, 1, 2]
    assert found.sources == {at: (1,)}
    assert found.packing[at].outputs == (found.program.inputs[at],)
    assert found.streamed == (found.program.inputs[at].name,)
    np.testing.assert_array_equal(results(found, (BIAS, WEIGHT, ROWS)), ROWS @ WEIGHT.T + BIAS)


def test_a_template_that_does_not_prefetch() -> None:
    _, plan = dense()
    found = scheduled_kernel(Unfetched(), plan.workload, plan.choice, TARGET)
    assert (len(found.packing), found.streamed) == (1, ())
    np.testing.assert_array_equal(results(found, (BIAS, WEIGHT, ROWS)), ROWS @ WEIGHT.T + BIAS)


def test_a_layer_without_a_plan() -> None:
    found = cpu_kernel(graph(DENSE), None, TARGET)
    assert (found.packing, found.sources, found.streamed) == ({}, {}, ())
    assert (found.operands, found.macs) == ((0, 1, 2), 2 * 24 * 40)
    np.testing.assert_array_equal(results(found, (BIAS, WEIGHT, ROWS)), ROWS @ WEIGHT.T + BIAS)


def test_a_constant_of_four_bits() -> None:
    """Two elements in a byte, which the program reads where it needs them."""
    found = cpu_kernel(graph(NARROW), None, TARGET, (1,))
    assert (found.operands, found.sources, [*found.packing]) == ((0, 1), {1: (1,)}, [1])
    assert [each.name for each in found.program.inputs] == ["x", "w_packed"]
    assert found.packing[1].name == "w_packed"
    assert found.streamed == ("w_packed",)
    assert (found.operators, found.macs) == (("cast", "subtract"), 0)
    assert not {"w"} & {*allocated(found.program.body)}
    codes = np.random.default_rng(2).integers(-8, 8, (6, 15)).astype(np.int8)
    nibbles = codes.reshape(-1, 2).view(np.uint8) & 15
    packed = nibbles[:, 0] | nibbles[:, 1] << 4
    x = np.arange(15, dtype=np.float32)
    (bytes_,) = compile_function(found.packing[1], HOST)(
        codes.astype(found.packing[1].inputs[0].dtype.numpy)
    )
    np.testing.assert_array_equal(bytes_, packed)
    (result,) = compile_function(found.program, HOST)(x, packed)
    np.testing.assert_array_equal(result, codes - x)


def test_the_computation_of_a_kernel() -> None:
    computation = computation_of(graph(DENSE), {1, 0})
    assert computation.constants == (0, 1)
    program = computation.start().program
    inputs = [(each.name, each.shape) for each in program.inputs]
    assert inputs == [("a0", (2, 24)), ("a1", (24, 40)), ("a2", (2, 40))]
    (result,) = interpreter.run(program, [BIAS, WEIGHT, ROWS])
    np.testing.assert_array_equal(result, ROWS @ WEIGHT.T + BIAS)


def test_kernels_of_sketches() -> None:
    kernel = graph(DENSE)
    computation = computation_of(kernel, {1})
    rules, rng = rules_of(HOST, computation), random.Random(0)
    breeder = Breeder(computation.start(), rules, computation.constant_names, rng)
    packed = 0
    for number in range(40):
        if packed and number > 2:
            break
        sketch = breeder.sample()
        assert sketch is not None
        choice = sketch.trace.choice
        found = sketched_kernel(kernel, computation, choice, HOST)
        assert (found.program.name, found.operators) == ("k", ("dense", "add"))
        assert (found.macs, found.streamed) == (2 * 24 * 40, ())
        assert sorted(found.operands) == [0, 1, 2]
        assert found.sources == {at: (1,) for at in found.packing}
        packed += len(found.packing)
        np.testing.assert_array_equal(results(found, (BIAS, WEIGHT, ROWS)), ROWS @ WEIGHT.T + BIAS)
        alone = kernel_of_sketch(sketched(computation, choice, HOST), "other")
        assert (alone.program.name, alone.operators, alone.macs) == ("other", (), 0)
        assert (alone.operands, alone.sources) == (found.operands, found.sources)
    assert packed, "weights are packed in some of them"


def test_decisions_of_something_else_are_refused() -> None:
    kernel = graph(DENSE)
    with pytest.raises(ReplayError, match=r"the trace does not decide"):
        sketched_kernel(kernel, computation_of(kernel, ()), {"s7.lanes": "i0"}, HOST)


def test_operators_of_kernels_with_several_results() -> None:
    kernel = graph("""
kernel @k(x: float32[4], y: float32[4]):
  a = add(x, y)
  b = relu(a)
  t = (a, b)
  return t
""")
    assert operator_names(kernel) == ("add", "relu")
