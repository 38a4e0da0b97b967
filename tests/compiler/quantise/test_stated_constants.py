"""Dequantised constants keep their integers where their elements are moved."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.graph import Call, Constant
from tandem.compiler.graph.passes import EliminateDead, transform
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.quantise.stated_constants import MoveDequantise, StatedConstant
from tests.support.compiler.graph.graphs import agree
from tests.support.compiler.quantise.networks import network

RUN = NativeRunner()
HEAD = (
    "x: float32[1, 6, 4, 4], w: uint8[4, 6, 3], s: float32[4], z: uint8[4], t: float32[6], "
    "u: uint8[6], f: float32[4, 6, 3]"
)


def moved(lines: list[str], **more: np.ndarray) -> list[Call]:
    """The calls after the pass, which means the same."""
    generator = np.random.default_rng(0)
    given = {
        "w": generator.integers(0, 256, (4, 6, 3)),
        "s": np.linspace(0.01, 0.05, 4),
        "z": np.array([0, 255, 128, 7]),
        "t": np.linspace(0.02, 0.03, 6),
        "u": np.arange(100, 106),
        "f": np.zeros((4, 6, 3)),
        **more,
    }
    text = "\n".join([f"func @f({HEAD}):", *(f"  {each}" for each in lines), "  return y"])
    start = network(text, **given)
    found = transform(start, (MoveDequantise(RUN), EliminateDead()))
    agree(start, found, 0)
    return [let.value for let in found.body.lets if isinstance(let.value, Call)]


@pytest.mark.parametrize(
    ("lines", "axis"),
    [
        (["y = unsqueeze(r, axes=[2])"], 0),
        (["y = transpose(r, perm=[2, 0, 1])"], 1),
        (["y = slice(r, starts=[-1], ends=[-9], axes=[2], steps=[-1])"], 0),
        (["y = slice(r, starts=[1], ends=[3], axes=[0])"], 0),
        (["y = flatten(r)"], 0),
        (["a = reshape(r, shape=[2, 2, 6, 3])", "b = transpose(a, perm=[0, 2, 1, 3])"], None),
    ],
)
def test_integers_are_moved(lines: list[str], axis: int | None) -> None:
    if axis is None:
        # Scales along two axes are those of one no more: the rest is computed in real numbers.
        calls = moved(["r = dequantise(w, s, z, axis=0)", *lines, "y = relu(b)"])
        assert [each.callee.name for each in calls][-3:] == ["reshape", "transpose", "relu"]
        return
    calls = moved(["r = dequantise(w, s, z, axis=0)", *lines])
    stated = StatedConstant.of(calls[-1])
    assert stated is not None
    assert stated.scales.size == stated.values.shape[axis]
    assert stated.axis == axis


def test_groups_of_outputs() -> None:
    """Weights of a transposed convolution in two groups, with scales for the outputs of a group."""
    lines = ["r = dequantise(w, t, u, axis=1)", "a = reshape(r, shape=[2, 2, 6, 3])"]
    lines += ["b = transpose(a, perm=[0, 2, 1, 3])", "y = reshape(b, shape=[12, 2, 3])"]
    stated = StatedConstant.of(moved(lines)[-1])
    assert stated is not None
    np.testing.assert_array_equal(
        stated.scales, np.tile(np.linspace(0.02, 0.03, 6), 2).astype(np.float32)
    )


def test_zero_points_are_subtracted() -> None:
    (call,) = moved(["y = dequantise(w, s, z, axis=0)"])
    values, _, zeros = call.args
    assert isinstance(values, Constant)
    assert isinstance(zeros, Constant)
    assert values.array.dtype == np.int16
    assert not zeros.array.any()


def test_one_scale_needs_no_axis() -> None:
    lines = ["r = dequantise(w, s, z, axis=0)", "a = reshape(r, shape=[2, 12, 3])"]
    lines += ["y = transpose(a, perm=[1, 2, 0])"]
    calls = moved(lines, s=np.full(4, 0.5), z=np.array([1, 2, 3, 4]))
    assert [each.callee.name for each in calls] == ["dequantise"]


def test_constants_that_are_quantised_when_the_network_runs() -> None:
    """As models are exported after training with quantisation."""
    lines = ["q = quantise(f, s, z, axis=0, to=uint8)", "r = dequantise(q, s, z, axis=0)"]
    weights = np.random.default_rng(1).normal(size=(4, 6, 3)).astype("float32")
    (call,) = moved([*lines, "y = unsqueeze(r, axes=[2])"], f=weights)
    stated = StatedConstant.of(call)
    assert stated is not None
    steps, zeros = np.linspace(0.01, 0.05, 4).astype("float32"), np.array([0, 255, 128, 7])
    whole = np.rint(weights / steps[:, None, None]) + zeros[:, None, None]
    wanted = np.clip(whole, 0, 255) - zeros[:, None, None]
    np.testing.assert_array_equal(stated.values[:, :, 0], wanted)


def test_other_values_are_left() -> None:
    calls = moved(["v = unsqueeze(x, axes=[0])", "y = relu(v)"])
    assert [each.callee.name for each in calls] == ["unsqueeze", "relu"]
