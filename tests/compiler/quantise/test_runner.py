"""Kernels are compiled once."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.codegen import CpuTarget, compile_function
from compiler.graph.evaluate import evaluate, interpret
from compiler.ir.stmt import Function
from compiler.quantise import runner
from compiler.quantise.runner import NativeRunner
from runtime.native import NativeFunction
from tests.support.graphs import graph, inputs, same_values


def test_each_kernel_once(monkeypatch: pytest.MonkeyPatch) -> None:
    function = graph(
        "func @f(x: int32[2, 3], y: int32[2, 3]):\n"
        "  a = add(x, y)\n  b = add(a, y)\n  c = multiply(a, b)\n  return c"
    )
    compiled = []

    def counting(program: Function, target: CpuTarget) -> NativeFunction:
        compiled.append(program)
        return compile_function(program, target)

    monkeypatch.setattr(runner, "compile_function", counting)
    run = NativeRunner()
    for seed in (0, 1):
        given = inputs(function, seed)
        same_values(evaluate(function, given, run), evaluate(function, given, interpret))
    assert len(compiled) == 2
    other = [np.zeros((2, 3), np.int32)] * 2
    same_values(evaluate(function, other, run), np.zeros((2, 3), np.int32))
    assert len(compiled) == 2
