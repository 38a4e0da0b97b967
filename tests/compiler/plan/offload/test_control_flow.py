"""Layers in loops and branches go to the accelerator too."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph import (
    Body,
    Call,
    Constant,
    Function,
    FunctionType,
    Global,
    If,
    Let,
    Param,
    TensorType,
    Var,
)
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.nodes import FunctionKind
from tandem.compiler.graph.operators import OPERATORS
from tandem.compiler.graph.opspec import OpSpec
from tandem.compiler.graph.passes import Fuse, transform
from tandem.compiler.graph.visit import all_lets, functions
from tandem.compiler.ir.dtypes import INT8, INT64
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.plan.offload import offload_passes
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.offloaded import both, run_on
from tests.support.compiler.plan.quantised_graphs import Net

DATA, COUNT = TensorType((1, 4, 5, 5), INT8), TensorType((), INT64)


def number(value: int) -> Constant:
    return Constant(np.array(value))


def layers(count: Constant | Var) -> Function:
    """A convolution as often as `count` says, and another one after it if that is not 1."""
    net = Net()
    often = net.conv("a", Var("x"), (4, 4))
    type_ = FunctionType((COUNT, DATA), DATA)
    again = (
        *net.lets,
        Let("m", Call(OPERATORS["subtract"], (Var("n"), number(1)))),
        Let("t", Call(Global("loop", type_), (Var("m"), often))),
    )
    body = (
        Let("more", Call(OPERATORS["greater"], (Var("n"), number(0)))),
        Let("r", If(Var("more"), Body(again, Var("t")), Body((), Var("x")))),
    )
    params = (Param("n", COUNT), Param("x", DATA))
    loop = Function("loop", params, Body(body, Var("r")), DATA)
    last = Net(1)
    other = last.conv("b", Var("y"), (4, 4), 1, 1, 0)
    main = (
        Let("y", Call(Global("loop", type_), (count, Var("x")))),
        Let("one", Call(OPERATORS["equal"], (Var("n"), number(1)))),
        Let("z", If(Var("one"), Body((), Var("y")), Body(tuple(last.lets), other))),
    )
    return Function("main", params, Body(main, Var("z")), DATA, definitions=(loop,))


def streams_in(function: Function) -> list[str]:
    """The operators of the streams in a function's bodies, as text."""
    return [
        "+".join(kernel.name for kernel in functions(let.value.callee)[:-1])
        for let in all_lets(function.body)
        if isinstance(let.value, Call)
        and isinstance(let.value.callee, Function)
        and let.value.callee.kind is FunctionKind.STREAM
    ]


def test_all_bodies_are_walked() -> None:
    function = layers(Var("n"))
    passes = offload_passes(accelerator(machine("tiny")), lambda _: None)
    found = transform(function, (*passes, Fuse()))
    (loop,) = found.definitions
    for body in (found, loop):
        (stream,) = streams_in(body)
        assert "conv2d" in stream
        assert not any(
            isinstance(let.value, Call) and isinstance(let.value.callee, OpSpec)
            for let in all_lets(body.body)
        )


@pytest.mark.exhaustive
def test_a_loop_and_a_branch() -> None:
    function = layers(Var("n"))
    on_cpu, shared = both(function, machine("tiny"))
    streams = [each.name for each in shared.manifest.steps if not each.on_host]
    assert [each.split(".")[0] for each in streams] == ["b_blocks", "loop"]
    assert not any(not each.on_host for each in on_cpu.manifest.steps)
    x = np.random.default_rng(0).integers(-128, 128, (1, 4, 5, 5)).astype(np.int8)
    for times in (0, 1, 3):
        n = np.array(times)
        wanted = evaluate(function, [n, x], NativeRunner(1, reassociate=False))
        run = run_on(shared, "functional", n, x)
        (found,) = run.outputs.values()
        np.testing.assert_array_equal(found, wanted)
        macs = {each.name: each.macs for each in run.profile.steps if each.run}
        assert macs == {
            **({} if times == 1 else {streams[0]: 4 * 4 * 25}),
            **({streams[1]: times * 4 * 4 * 9 * 25} if times else {}),
        }


@pytest.mark.exhaustive
def test_a_loop_that_is_known_is_one_stream() -> None:
    _, shared = both(layers(number(3)), machine("tiny"))
    (first, _) = [each for each in shared.manifest.steps if not each.on_host]
    assert first.operators.count("conv2d") == 3
    assert len(shared.manifest.functions) == 1
