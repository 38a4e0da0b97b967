"""Programs of kernels: which weights are packed, and what is computed then."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph import Atom, Call, Constant, Function, Var
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.passes import InferTypes
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function
from tandem.compiler.machines.cpu.kernels import CpuKernel, cpu_kernel
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.plan.planner import Planner
from tests.support.compiler.graph.graphs import graph, inputs

HOST = CpuTarget.host(threads=1)
TARGET = cpu(HOST)

CONV = """
kernel @k(x: float32[1, 3, 9, 9], w: float32[5, 3, 3, 3], b: float32[5], y: float32[1, 5, 4, 4]):
  c = conv2d(x, w, b, strides=[2, 2])
  s = add(y, c)
  r = relu(s)
  return r
"""
DENSE = """
kernel @k(x: float32[2, 7], w: float32[5, 7]):
  c = dense(x, w)
  r = tanh(c)
  return r
"""
INTEGERS = """
kernel @k(x: int8[1, 6, 5, 5], w: int8[20, 6, 3, 3], b: int32[20]):
  c = conv2d(x, w, b, padding=[1, 1, 1, 1])
  return c
"""
BORDER = """
kernel @k(x: int8[1, 6, 5, 5], w: int8[20, 6, 3, 3], b: int32[20]):
  p = pad(x, pads=[0, 0, 1, 0, 0, 0, 2, 1], value=-128.0)
  c = conv2d(p, w, b, out_dtype=int32)
  return c
"""
JOINED = """
kernel @k(x: float32[1, 3, 5, 5], w: float32[4, 3, 3, 3]):
  c = conv2d(x, w)
  s = reduce_max(c, axes=[1], keepdims=False)
  return s
"""
DEPTHWISE = """
kernel @k(x: float32[1, 3, 5, 5], w: float32[3, 1, 3, 3]):
  c = conv2d(x, w, groups=3)
  return c
"""


def typed(program: str) -> Function:
    """The kernel; the types of all its values are known."""
    return InferTypes().apply(graph(program))


def call(kernel: Function, *known: int) -> Call:
    """A call of the kernel, of which the parameters of these numbers are constants."""
    args: list[Atom] = [Var(param.name) for param in kernel.params]
    for number in known:
        array = inputs(kernel, seed=3)[number]
        assert not isinstance(array, tuple)
        args[number] = Constant(np.asarray(array))
    return Call(kernel, tuple(args))


def runs(kernel: Function, *, pack: bool) -> CpuKernel:
    """The kernel's program, which gives what the kernel gives."""
    found = cpu_kernel(kernel, Planner(TARGET).layer(call(kernel, *([1] if pack else []))), TARGET)
    given = inputs(kernel, seed=3)
    arrays = []
    for at, number in enumerate(found.operands):
        array = given[number]
        assert not isinstance(array, tuple)
        if at in found.packing:
            (array,) = compile_function(found.packing[at], HOST)(array)
        arrays.append(array)
    (result,) = compile_function(found.program, HOST)(*arrays)
    wanted = evaluate(kernel, given, NativeRunner(reassociate=False))
    assert not isinstance(wanted, tuple)
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)
    return found


@pytest.mark.parametrize("program", [CONV, DENSE, INTEGERS, BORDER])
def test_packed_weights(program: str) -> None:
    kernel = typed(program)
    plan = Planner(TARGET).layer(call(kernel, 1))
    assert plan is not None
    assert plan.workload.weight == 1
    found = runs(kernel, pack=True)
    assert {found.operands[at] for at in found.packing} == {1}
    for at, packing in found.packing.items():
        assert packing.outputs[0] == found.program.inputs[at]
    assert {*found.operands} == {*range(len(kernel.params))}
    plain = runs(kernel, pack=False)
    assert not plain.packing
    assert plain.macs == found.macs


@pytest.mark.parametrize("channels", [1, 3, 8])
@pytest.mark.parametrize("size", [1, 4])
def test_operators_that_broadcast_after_a_layer(channels: int, size: int) -> None:
    """They read an axis of one element at 0, and not at a loop's number."""
    convolution = typed(f"""
kernel @k(x: int8[1, 5, {size}, {size}], w: int8[{channels}, 5, 3, 3], s: float32[1]):
  c = conv2d(x, w, padding=[1, 1, 1, 1], out_dtype=int32)
  f = cast(c, to=float32)
  r = multiply(f, s)
  return r
""")
    dense = typed(f"""
kernel @k(x: int8[{size}, 9], w: int8[{channels}, 9], s: float32[1]):
  c = dense(x, w, out_dtype=int32)
  f = cast(c, to=float32)
  r = multiply(f, s)
  return r
""")
    for kernel in (convolution, dense):
        found = runs(kernel, pack=True)
        assert found.packing or channels == 1


@pytest.mark.parametrize("program", [CONV, DENSE, INTEGERS])
def test_weights_are_packed_whatever_else_is_known(program: str) -> None:
    kernel = typed(program)
    for last in range(1, len(kernel.params)):
        plan = Planner(TARGET).layer(call(kernel, *range(1, last + 1)))
        assert plan is not None
        assert plan.workload.weight == 1


def test_what_it_says_of_itself() -> None:
    found = runs(typed(CONV), pack=True)
    assert found.operators == ("conv2d", "add", "relu")
    assert found.macs == 5 * 4 * 4 * 3 * 3 * 3
    assert found.program.name == "k"


@pytest.mark.parametrize("program", [JOINED, DEPTHWISE])
def test_where_packing_does_not_help(program: str) -> None:
    assert not runs(typed(program), pack=True).packing


def test_weights_that_are_used_elsewhere() -> None:
    kernel = typed("""
kernel @k(x: float32[3, 3]):
  c = dense(x, x)
  return c
""")
    assert Planner(TARGET).layer(call(kernel, 0)) is None
    kernel = typed("kernel @k(x: float32[3]):\n  a = relu(x)\n  return a\n")
    assert Planner(TARGET).layer(call(kernel)) is None


def test_the_second_of_two_layers_where_packing_does_not_help_the_first() -> None:
    kernel = typed("""
kernel @k(x: float32[2, 7], v: float32[5, 7], w: float32[9, 5]):
  a = dense(x, v)
  c = dense(a, w)
  return c
""")
    plan = Planner(TARGET).layer(call(kernel, 2))
    assert plan is not None
    assert (plan.workload.line, plan.workload.weight) == (1, 2)
