"""Calls of kernels in streams, planned and compiled for the accelerator."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph import Call, Function
from tandem.compiler.graph.nodes import FunctionKind
from tandem.compiler.graph.passes import simplifying_passes, transform
from tandem.compiler.machines.accelerator.backend import StreamBackend
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.plan.parts import ArtifactParts, Invocation
from tandem.runtime.artifact import Step
from tandem.runtime.artifact.stream import StreamCode
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.quantised_graphs import residual_net

TINY = machine("tiny")


def compiled(threads: int = 2) -> tuple[Step, StreamCode, ArtifactParts]:
    """The step that the only stream of the network becomes."""
    backend = StreamBackend(accelerator(TINY, hiding=threads > 1))
    passes = (*simplifying_passes(NativeRunner(reassociate=False)), *backend.passes())
    function = transform(residual_net(), passes)
    calls = [
        Invocation(let.name, let.value.callee, ("the image",), ("the sums",))
        for let in function.body.lets
        if isinstance(let.value, Call)
        and isinstance(let.value.callee, Function)
        and let.value.callee.kind is FunctionKind.STREAM
    ]
    (call,) = calls
    parts = ArtifactParts({}, lambda _: None)
    step = backend.step(call, parts)
    assert not step.on_host
    (code,) = parts.code.values()
    assert isinstance(code, StreamCode)
    return step, code, parts


def test_the_step() -> None:
    step, code, parts = compiled()
    assert (step.code, step.inputs, step.outputs) == ("stream", ("the image",), ("the sums",))
    assert step.macs == sum(each.macs for each in code.layers)
    assert step.operators == tuple(name for each in code.layers for name in each.operators)
    assert step.device == "accelerator"
    assert code.config == TINY
    assert not parts.constants


@pytest.mark.parametrize(
    ("name", "operators", "macs", "values"),
    [
        ("c1", ("conv2d", "requantise"), 6 * 75 * 64, True),
        ("pool", ("max_pool",), 0, False),
        ("c3", ("conv2d", "requantise_add"), 6 * 54 * 16, True),
        ("mean", ("cast", "reduce_sum", "requantise"), 0, False),
        ("out_acc", ("dense",), 12 * 5, True),
    ],
)
def test_layers(name: str, operators: tuple[str, ...], macs: int, values: bool) -> None:
    """Called as the network calls them, whatever their results are called on the way."""
    _, code, _ = compiled()
    (layer,) = (each for each in code.layers if each.name == name)
    assert (layer.operators, layer.macs) == (operators, macs)
    weights = [each.name for each in code.contents if each.name.endswith(".weight")]
    assert any(each.startswith(f"{name}_") for each in weights) == values
    assert layer.least_bytes > 0
    numbers = np.unique(code.layer_of[code.layer_of >= 0])
    assert numbers.tolist() == list(range(len(code.layers)))


def test_one_thread_where_two_do_not_fit() -> None:
    """Of the two convolutions the second has 3 x 3 weights of two blocks: too much for twice."""
    backends = [StreamBackend(accelerator(TINY, hiding=hiding)) for hiding in (True, False)]
    twice, once = (choices(backend) for backend in backends)
    assert twice["c2_blocks"] == once["c2_blocks"]
    assert twice["c2_blocks"]["threads"] == 1
    assert (twice["pool_blocks"]["threads"], once["pool_blocks"]["threads"]) == (2, 1)


def choices(backend: StreamBackend) -> dict[str, dict[str, object]]:
    """What is chosen for each kernel, by the names of the results."""
    passes = (*simplifying_passes(NativeRunner(reassociate=False)), *backend.passes())
    found: dict[str, dict[str, object]] = {}
    for let in transform(residual_net(), passes).body.lets:
        match let.value:
            case Call(callee=Function(kind=FunctionKind.STREAM) as stream):
                for inner in stream.body.lets:
                    assert isinstance(inner.value, Call)
                    if isinstance(inner.value.callee, Function):
                        found[inner.name] = dict(backend.planner.plan(inner.value).choice)
            case _:
                pass
    return found
