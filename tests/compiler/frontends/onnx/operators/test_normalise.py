"""Normalisations: the graph's calls, and what is refused, by hand."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tandem.compiler.errors import CompilerError, FrontendError, UnsupportedError
from tandem.compiler.frontends.onnx.operators.normalise import CONVERTERS
from tandem.compiler.frontends.onnx.values import Value
from tandem.compiler.graph.operators.reductions import AveragePool, Epsilon, LayerNorm, Reduction
from tandem.compiler.graph.operators.shapes import Reshape
from tests.support.compiler.frontends.converted import Converted


@pytest.fixture
def body() -> Converted:
    return Converted(CONVERTERS)


def refused(message: str, kind: type[CompilerError] = FrontendError) -> pytest.RaisesExc[Any]:
    start = "not supported: " if kind is UnsupportedError else ""
    return pytest.raises(kind, match=rf"^node n \(\w+\): {re.escape(start + message)}$")


def operands(body: Converted, count: int) -> list[Value]:
    return [body.value(2, 3, 4, 5), *(body.value(3) for _ in range(count))]


def test_batches(body: Converted) -> None:
    given = operands(body, 4)
    body.node("BatchNormalization", 15, *given, epsilon=0.5)
    body.node("BatchNormalization", 6, *given, is_test=1, epsilon=0.5)
    body.node("BatchNormalization", 9, *given, epsilon=0.5)
    assert [(call[0], call[2]) for call in body.calls] == [("batch_norm", Epsilon(0.5))] * 3
    assert body.calls[0][1] == tuple(each.atom.name for each in given)  # type: ignore[union-attr]
    with refused("training: is_test is 0", UnsupportedError):
        body.node("BatchNormalization", 6, *given)
    with refused("spatial 0", UnsupportedError):
        body.node("BatchNormalization", 6, *given, is_test=1, spatial=0)
    with refused("its result y1, number 2", UnsupportedError):
        body.node("BatchNormalization", 9, *given, outputs=2, used=2)


def test_batches_in_training(body: Converted) -> None:
    given = operands(body, 4)
    found = body.node(
        "BatchNormalization", 15, *given, training_mode=1, momentum=0.75, outputs=3, used=3
    )
    assert [each.shape for each in found] == [(2, 3, 4, 5), (3,), (3,)]
    calls = body.calls
    axes = [call[2] for call in calls if call[0] == "reduce_mean"]
    assert axes == [Reduction((0, 2, 3), True), Reduction((0, 2, 3), False)]
    # Of the running ones three quarters stay.
    running = [each.atom.name for each in given[3:]]  # type: ignore[union-attr]
    factors = {call[1][0]: call[1][1] for call in calls if call[0] == "multiply"}
    assert [factors[name] for name in running] == [0.75, 0.75]
    assert [float(each) for each in factors.values() if isinstance(each, np.ndarray)] == [
        *(0.75, 0.25, 0.75, 0.25),
    ]


def test_last_axes(body: Converted) -> None:
    x, scale = body.value(2, 3, 4), body.value(3, 4)
    body.node("LayerNormalization", 17, x, scale, axis=1, epsilon=0.5)
    assert [(call[0], call[2]) for call in body.calls] == [("layer_norm", LayerNorm(1, 0.5))]
    found = body.node("LayerNormalization", 17, x, scale, axis=-2, outputs=3, used=3)
    assert [each.shape for each in found] == [(2, 3, 4), (2, 1, 1), (2, 1, 1)]
    means = [call[2] for call in body.calls if call[0] == "reduce_mean"]
    assert means == [Reduction((1, 2), True)] * 2
    assert body.operators[-3:] == ["add", "sqrt", "reciprocal"]


def test_groups(body: Converted) -> None:
    x = body.value(2, 6, 4, 5)
    body.node("GroupNormalization", 21, x, body.value(6), body.value(6), num_groups=3)
    assert body.operators == [
        *("reshape", "layer_norm", "reshape", "reshape", "multiply", "reshape", "add"),
    ]
    shapes = [call[2] for call in body.calls if call[0] == "reshape"]
    channels = Reshape((1, 6, 1, 1))
    assert shapes == [Reshape((2, 3, 40)), Reshape((2, 6, 4, 5)), channels, channels]
    with refused("float32[6] has no channels"):
        body.node(
            "GroupNormalization", 21, body.value(6), body.value(6), body.value(6), num_groups=3
        )


def test_lengths(body: Converted) -> None:
    x = body.value(2, 3)
    for order in (1, 2):
        body.node("LpNormalization", 1, x, axis=0, p=order)
        calls = body.calls[-4:]
        assert [call[0] for call in calls] == [f"reduce_l{order}", "equal", "where", "divide"]
        assert calls[0][2] == Reduction((0,), True)
        assert (calls[1][1][1], calls[2][1][1]) == (0, 1)
    with refused("p is 3"):
        body.node("LpNormalization", 1, x, p=3)


@pytest.mark.parametrize(("size", "padding"), [(1, (0, 0)), (2, (0, 1)), (3, (1, 1)), (4, (1, 2))])
def test_channels_around(body: Converted, size: int, padding: tuple[int, int]) -> None:
    body.node("LRN", 13, body.value(2, 6, 4, 5), size=size, alpha=0.5, beta=0.25, bias=2.0)
    calls = {call[0]: call for call in body.calls}
    before, after = padding
    assert calls["average_pool"][2] == AveragePool(
        kernel=(size, 1), padding=(before, 0, after, 0), count_include_pad=True
    )
    assert body.calls[1][2] == Reshape((2, 1, 6, 20))
    numbers = [call[1][1] for call in body.calls if isinstance(call[1][-1], np.ndarray)]
    assert numbers == [0.5, 2.0, 0.25]
    assert body.operators[-4:] == ["multiply", "add", "power", "divide"]


def test_what_has_no_channels_around(body: Converted) -> None:
    with refused("float32[2, 6] has no spatial axes"):
        body.node("LRN", 13, body.value(2, 6), size=1)
    with refused("size is 0"):
        body.node("LRN", 13, body.value(2, 6, 4), size=0)
