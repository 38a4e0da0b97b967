"""Kernels of the accelerator that follow each other are one stream."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tandem.compiler.graph import Call, Function, Var
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.nodes import FunctionKind, TupleGet
from tandem.compiler.graph.passes import transform
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.plan.offload import AllOnHost, FormStreams, offload_passes
from tests.support.compiler.graph.graphs import graph, inputs, keeps_meaning
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.quantised_graphs import Net

TYPE = "int8[4]"
KERNEL = f"kernel[other] @k(p: {TYPE}) -> {TYPE}:\n  r = relu(p)\n  return r\n\n"


def streams(function: Function) -> list[int]:
    """Calls in each stream, in order."""
    return [
        sum(isinstance(each.value, Call) for each in let.value.callee.body.lets)
        for let in function.body.lets
        if isinstance(let.value, Call)
        and isinstance(let.value.callee, Function)
        and let.value.callee.kind is FunctionKind.STREAM
    ]


def test_a_chain_is_one_stream() -> None:
    function = graph(
        f"{KERNEL}func @f(x: {TYPE}) -> {TYPE}:\n"
        "  a = @k(x)\n  b = @k(a)\n  c = @k(b)\n  return c\n"
    )
    assert streams(FormStreams("other").apply(function)) == [3]


def test_the_cpu_goes_first_where_it_can() -> None:
    """y needs nothing of the accelerator: one stream instead of two."""
    function = graph(
        f"{KERNEL}func @f(x: {TYPE}, z: {TYPE}) -> {TYPE}:\n"
        "  a = @k(x)\n  y = negative(z)\n  b = @k(y)\n  c = add(a, b)\n  return c\n"
    )
    found = FormStreams("other").apply(function)
    assert streams(found) == [2]
    assert sum(isinstance(each.value, TupleGet) for each in found.body.lets) == 2
    keeps_meaning(FormStreams("other"), function, inputs(function))


def test_a_stream_without_instructions_is_none() -> None:
    """The CPU concatenates where no kernel of the stream computes."""
    blocks = "{0, 1/4, 2, 3, _, 1%4}"
    parts = f"p: int8[1, 4, 2, 2]{blocks}, q: int8[1, 4, 2, 2]{blocks}"
    whole = f"int8[1, 8, 2, 2]{blocks}"
    function = graph(
        f"kernel[other, placed] @k({parts}) -> {whole}:\n"
        f"  a = convert(p, shape=[1, 4, 2, 2], source={blocks})\n"
        f"  b = convert(q, shape=[1, 4, 2, 2], source={blocks})\n  c = concat(a, b, axis=1)\n"
        f"  r = convert(c, shape=[1, 8, 2, 2], target={blocks})\n  return r\n\n"
        f"func @f({parts}) -> {whole}:\n  z = @k(p, q)\n  return z\n"
    )
    found = FormStreams("other").apply(function)
    assert streams(found) == []
    (let,) = found.body.lets
    assert isinstance(let.value, Call)
    assert isinstance(let.value.callee, Function)
    assert let.value.callee.target == ""
    keeps_meaning(FormStreams("other"), function, inputs(function))


def test_what_the_cpu_does_between_parts_streams() -> None:
    function = graph(
        f"{KERNEL}func @f(x: {TYPE}) -> {TYPE}:\n"
        "  a = @k(x)\n  y = negative(a)\n  b = @k(y)\n  c = add(a, b)\n  return c\n"
    )
    assert streams(FormStreams("other").apply(function)) == [1, 1]
    keeps_meaning(FormStreams("other"), function, inputs(function))


@given(
    values=st.lists(
        st.tuples(st.booleans(), st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=12
    )
)
def test_a_stream_ends_only_where_the_cpu_has_to_come_between(
    values: list[tuple[bool, int, int]],
) -> None:
    """There are as many streams as a path through the graph goes from the CPU to the target."""
    kernel = f"kernel[other] @k(p: {TYPE}, q: {TYPE}) -> {TYPE}:\n  r = add(p, q)\n  return r\n\n"
    lines, levels = [], [(0, False)]
    for number, (on_target, *read) in enumerate(values, 1):
        a, b = (each % number for each in read)
        lines.append(f"  v{number} = {'@k' if on_target else 'add'}(v{a}, v{b})\n")
        # How often a value's paths went to the target, and whether they are there.
        level = max(levels[a][0], levels[b][0])
        if on_target:
            level = max(count + (not there) for count, there in (levels[a], levels[b]))
        levels.append((level, on_target))
    text = f"{kernel}func @f(v0: {TYPE}) -> {TYPE}:\n{''.join(lines)}  return v{len(values)}\n"
    found = streams(FormStreams("other").apply(graph(text)))
    assert len(found) == max(count for count, _ in levels)
    assert sum(found) == sum(on_target for on_target, *_ in values)


def test_two_branches_of_a_network() -> None:
    """Both convolutions read one image, and both results leave."""
    net = Net()
    x = net.quantise("x8", Var("x"))
    a, b = net.conv("a", x, (4, 4)), net.conv("b", x, (4, 4), 1, 1, 0)
    both = net.call("both", "maximum", a, b)
    function = net.function((1, 4, 5, 5), both)
    passes = offload_passes(accelerator(machine("tiny")), lambda _: None)
    found = transform(function, passes)
    assert streams(found) == [2]
    given = np.random.default_rng(0).normal(size=(1, 4, 5, 5)).astype(np.float32)
    wanted = evaluate(function, [given], NativeRunner(reassociate=False))
    np.testing.assert_array_equal(evaluate(found, [given], NativeRunner(reassociate=False)), wanted)
    back = transform(found, (AllOnHost(),))
    assert streams(back) == []
    np.testing.assert_array_equal(evaluate(back, [given], NativeRunner(reassociate=False)), wanted)
