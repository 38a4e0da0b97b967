"""Kernels are compiled once, on as many threads as there may be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tandem.compiler.errors import CodegenError
from tandem.compiler.graph import nodes as graph_nodes
from tandem.compiler.graph.evaluate import Interpreter, evaluate
from tandem.compiler.graph.passes import Fuse, transform
from tandem.compiler.graph.visit import rewrite_lets
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.cpu import runner as native
from tandem.compiler.machines.cpu.codegen import CpuTarget, ThreadPool, compile_function
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.runtime.native import NativeFunction
from tests.support.compiler.graph.graphs import graph, inputs, same_values


def test_each_kernel_once(monkeypatch: pytest.MonkeyPatch) -> None:
    function = graph(
        "func @f(x: int32[2, 3], y: int32[2, 3]):\n"
        "  a = add(x, y)\n  b = add(a, y)\n  c = multiply(a, b)\n  return c"
    )
    compiled = []

    def counting(program: PrimFunc, target: CpuTarget, pool: ThreadPool) -> NativeFunction:
        compiled.append(program)
        return compile_function(program, target, pool)

    monkeypatch.setattr(native, "compile_function", counting)
    run = NativeRunner()
    given = inputs(function, 0)
    for seed in (0, 1):
        given = inputs(function, seed)
        same_values(evaluate(function, given, run), evaluate(function, given, Interpreter()))
    assert len(compiled) == 2
    fused = transform(function, [Fuse()])
    for same in (fused, _renamed(fused)):
        same_values(evaluate(same, given, run), evaluate(function, given, run))
        assert len(compiled) == 3
    other = [np.zeros((2, 3), np.int32)] * 2
    same_values(evaluate(function, other, run), np.zeros((2, 3), np.int32))
    assert len(compiled) == 3


def _renamed(function: graph_nodes.Function) -> graph_nodes.Function:
    """The same, of kernels that are called otherwise."""

    def change(let: graph_nodes.Let) -> tuple[graph_nodes.Let, ...]:
        assert isinstance(let.value, graph_nodes.Call)
        assert isinstance(let.value.callee, graph_nodes.Function)
        kernel = replace(let.value.callee, name=f"other_{let.value.callee.name}")
        return (replace(let, value=replace(let.value, callee=kernel)),)

    return replace(function, body=rewrite_lets(function.body, change))


@pytest.mark.parametrize("reassociate", [False, True])
def test_threads_do_not_change_a_bit(reassociate: bool) -> None:
    function = graph(
        "func @f(x: float32[1, 8, 9, 9], w: float32[16, 8, 3, 3], v: float32[7, 784]):\n"
        "  a = conv2d(x, w)\n  b = relu(a)\n  c = flatten(b)\n  d = dense(c, v)\n  t = (b, d)\n"
        "  return t"
    )
    fused = transform(function, [Fuse()])
    given = inputs(function)
    one, many = (
        evaluate(fused, given, NativeRunner(threads, reassociate=reassociate)) for threads in (1, 3)
    )
    same_values(one, many)


def test_what_cannot_be_compiled_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*_: object) -> NativeFunction:
        raise CodegenError("not today")

    monkeypatch.setattr(native, "compile_function", refusing)
    function = transform(graph("func @f(x: int32[2]):\n  y = relu(x)\n  return y"), [Fuse()])
    with pytest.raises(CodegenError, match="not today"):
        evaluate(function, inputs(function), NativeRunner(2))
