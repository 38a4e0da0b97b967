"""Accumulators with several readers: one tensor is made of them, the others from that tensor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.graph import Body, TensorType
from tandem.compiler.graph.visit import all_bodies, all_lets, names_of
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.plan.target import Target
from tandem.compiler.quantise.forms import Scale
from tandem.compiler.quantise.network import apply_scales
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.compiler.quantise.quantised import Quantised
from tandem.compiler.requantisation import RequantSpec
from tests.support.compiler.quantise.networks import called, network
from tests.support.compiler.quantise.quantised_reference import reference

Array = NDArray[Any]
EXACT_ON = compile_options().exact_on
PARAMS = (
    "x: float32[1, 4, 5, 5], w: float32[8, 4, 3, 3], u: float32[8, 4, 3, 3], v: float32[8, 8, 1, 1]"
)


def built(lines: str, params: str = PARAMS, **scales: float | Scale) -> Quantised:
    """The quantised network of the lines, whose results are `p` and `q`, at the given scales."""
    text = "".join(f"  {line}\n" for line in lines.split("; "))
    function = network(f"func @f({params}):\n{text}  y = (p, q)\n  return y\n")
    chosen = {
        name: scale if isinstance(scale, Scale) else Scale(scale) for name, scale in scales.items()
    }
    return apply_scales(function, {"x": Scale(0.02), **chosen}, QuantiseOptions(), EXACT_ON)


def integers(found: Quantised, seed: int = 0) -> dict[str, Array]:
    """Every value of the network by name, by NumPy's integers."""
    (param,) = found.function.params
    assert isinstance(param.type, TensorType)
    x = np.random.default_rng(seed).standard_normal(param.type.static_shape("x"))
    *lets, _ = found.function.body.lets  # The last is the tuple of results.
    operators = replace(found.function, body=Body(tuple(lets), found.function.body.result))
    return reference(operators, [x.astype(np.float32)])


def readers(found: Quantised) -> Mapping[str, int]:
    """The number of values that read each accumulator."""
    lets = found.function.body.lets
    sums = [let.name for let in lets if let.name.endswith("_acc")]
    return {name: sum(name in names_of(let.value) for let in lets) for name in sums}


def test_a_relu_is_a_clip_of_the_same_scale() -> None:
    """Exactly what would be made from the accumulator at that scale, the coarser of the two."""
    found = built(
        "c = conv2d(x, w); r = relu(c); p = conv2d(c, v); q = conv2d(r, v)", c=0.04, r=0.05
    )
    assert set(readers(found).values()) == {1}
    scales = {name: scale.step for name, (_, scale) in found.scales.items()}
    assert scales["c_int8"] == scales["r_int8"] == 0.05
    values = integers(found)
    alone = integers(
        built("c = conv2d(x, w); r = relu(c); p = conv2d(r, v); q = conv2d(x, u)", r=0.05)
    )
    assert (values["r_int8"] == np.maximum(values["c_int8"], 0)).all()
    assert (values["r_int8"] == alone["r_int8"]).all()


def test_a_relu_that_comes_first() -> None:
    """The sums are stored before, unclipped."""
    found = built("c = conv2d(x, w); r = relu(c); p = conv2d(r, v); q = add(p, c)", c=0.05, r=0.05)
    assert called(found.function)[:4] == ["quantise", "conv2d", "requantise", "cast"]
    assert set(readers(found).values()) == {1}
    values = integers(found)
    assert (values["r_int8"] == np.maximum(values["c_int8"], 0)).all()


@pytest.mark.parametrize("limit", [0.1, 1e-4, 1e-15])
def test_a_clip_to_little_of_the_range(limit: float) -> None:
    """It has a scale of its own: wrong by half a step of each tensor, and clipped by a step of the
    sums if that is more than its range."""
    lines = (
        f"c = conv2d(x, w); r = clip(c, min=0.0, max={limit}); p = conv2d(c, v); q = conv2d(r, v)"
    )
    step = float(np.float32(limit / 127))
    found = built(lines, c=0.05, r=step)
    assert set(readers(found).values()) == {1}
    values = integers(found)
    wanted = np.clip(values["c_int8"] * 0.05, 0, limit)
    assert (np.abs(values["r_int8"] * step - wanted) <= step * 0.501).all()
    assert values["r_int8"].max() == 127


def test_clips_of_which_none_has_the_other() -> None:
    """A tensor with the limits of both, which nothing else reads."""
    lines = (
        "c = conv2d(x, w); l = clip(c, min=-1.0, max=0.5); h = clip(c, min=-0.5, max=1.0); "
        "p = conv2d(l, v); q = conv2d(h, v)"
    )
    found = built(lines, l=1 / 127, h=1 / 127)
    assert set(readers(found).values()) == {1}
    values = integers(found)
    assert values["l_int8_1"].min() == -127
    assert values["l_int8_1"].max() == 127
    half = round(0.5 * 127)
    assert (values["l_int8"] == np.clip(values["l_int8_1"], -127, half)).all()
    assert (values["h_int8"] == np.clip(values["l_int8_1"], -half, 127)).all()


def test_sums_that_only_concatenations_read() -> None:
    """At their scales; all come from a tensor of the scale that was chosen for the sums."""
    lines = (
        "c = conv2d(x, w); s = relu(x); d = conv2d(s, u); j = concat(c, d, axis=1); "
        "k = concat(j, d, axis=1); p = conv2d(j, t); q = conv2d(k, z)"
    )
    params = f"{PARAMS}, t: float32[8, 16, 1, 1], z: float32[8, 24, 1, 1]"
    found = built(lines, params, s=0.02, c=0.03, d=0.04, j=0.05, k=0.07)
    assert set(readers(found).values()) == {1}
    scales = sorted(scale.step for _, (of, scale) in found.scales.items() if of == "c")
    assert scales == [0.03, 0.05, 0.07]
    values = integers(found)
    tensors = {scale.step: values[name] for name, (of, scale) in found.scales.items() if of == "c"}
    for step in (0.05, 0.07):
        assert (np.abs(tensors[step] * step - tensors[0.03] * 0.03) <= step * 0.501).all()


def test_sums_with_a_residual() -> None:
    """The residual is added once; a clip without limits is the value itself, with its users."""
    lines = (
        "c = conv2d(x, w, padding=[1, 1, 1, 1]); d = conv2d(x, u, padding=[1, 1, 1, 1]); "
        "a = add(c, d); r = relu(a); p = conv2d(a, v); q = conv2d(r, v)"
    )
    found = built(lines, c=0.05, d=0.05, a=0.06, r=0.06)
    assert called(found.function).count("requantise_add") == 1
    values = integers(found)
    assert (values["r_int8"] == np.maximum(values["a_int8"], 0)).all()
    same = "c = conv2d(x, w); k = clip(c); b = relu(x); s = conv2d(b, u); d = sigmoid(s); "
    same += "a = add(k, d); p = conv2d(a, v); q = conv2d(c, v)"
    found = built(same, c=0.05, b=0.02, s=0.05, k=0.05, d=0.05, a=0.06)
    assert set(readers(found).values()) == {1}


def test_scales_that_a_network_states() -> None:
    """0..2.55 and -2.55..0, both rounded to a step of 0.02, which has them all."""
    text = """
func @f(x: float32[1, 4, 5, 5], w: float32[8, 4, 3, 3]):
  c = conv2d(x_dq, w)
  r = relu(c)
  n = clip(c, max=0.0)
  rq = quantise(r, float32[](0.01), int8[](-128))
  p = dequantise(rq, float32[](0.01), int8[](-128))
  nq = quantise(n, float32[](0.01), int8[](127))
  q = dequantise(nq, float32[](0.01), int8[](127))
  y = (p, q)
  return y
"""
    text = text.replace(
        "  c = conv",
        (
            "  x_q = quantise(x, float32[](0.02), int8[](0))\n"
            "  x_dq = dequantise(x_q, float32[](0.02), int8[](0))\n  c = conv"
        ),
    )
    found = apply_scales(network(text), {}, QuantiseOptions(), EXACT_ON)
    assert set(readers(found).values()) == {1}
    values = integers(found)
    (name,) = (let.name for let in found.function.body.lets if let.name.endswith("_int8_1"))
    _, scale = found.scales[name]
    assert scale.step == pytest.approx(5.1 / 255)
    common = (values[name].astype(np.float64) - scale.zero) * scale.step
    for tensor, limits, zero in (("r_int8", (0, 2.55), -128), ("n_int8", (-2.55, 0), 127)):
        real = (values[tensor].astype(np.float64) - zero) * 0.01
        assert (np.abs(real - np.clip(common, *limits)) <= 0.00501).all()


def test_sums_that_are_read_as_real_numbers_too_leave_whole() -> None:
    params = "x: float32[3, 16], w: float32[8, 16], v: float32[8, 8]"
    lines = "d = dense(x, w); r = relu(d); p = dense(r, v); q = sigmoid(d)"
    found = built(lines, params, r=0.05)
    assert called(found.function)[:4] == ["quantise", "dense", "requantise", "dense"]
    assert readers(found)["d_acc"] == 2
    # Without them they leave as int8.
    found = built(
        "d = dense(x, w); r = relu(d); p = dense(r, v); q = dense(d, v)", params, d=0.05, r=0.05
    )
    assert set(readers(found).values()) == {1}


def test_sums_of_two_tensors_are_made_for_each_reader() -> None:
    """They cost no products, and so lose no bit."""
    lines = "m = max_pool(x, kernel=[1, 1]); a = add(m, x); r = relu(a); "
    lines += "p = conv2d(a, v); q = conv2d(r, v)"
    found = built(lines, "x: float32[1, 4, 5, 5], v: float32[4, 4, 1, 1]", a=0.05, r=0.03)
    assert called(found.function).count("requantise_add") == 2
    scales = {name: scale.step for name, (_, scale) in found.scales.items()}
    assert (scales["a_int8"], scales["r_int8"]) == (0.05, 0.03)


def test_what_no_target_computes_exactly_stays() -> None:
    """A machine whose results have 7 bits."""

    def is_exact(spec: RequantSpec) -> bool:
        return spec.low >= -64 or spec.high < 64

    only: tuple[Target[Any], ...] = (replace(EXACT_ON[0], is_exact=is_exact),)
    text = (
        f"func @f({PARAMS}):\n  c = conv2d(x, w)\n  l = clip(c, max=0.2)\n  h = clip(c, min=-0.2)\n"
        "  p = conv2d(l, v)\n  q = conv2d(h, v)\n  y = (p, q)\n  return y\n"
    )
    chosen = {"x": Scale(0.02), **{name: Scale(1 / 127) for name in "lh"}}
    found = apply_scales(network(text), chosen, QuantiseOptions(), only)
    assert readers(found)["c_acc"] == 2


def test_branches() -> None:
    """Each has its own sums."""
    text = f"""
func @f({PARAMS}, xt: bool[]):
  y = if xt:
    c = conv2d(x, w)
    r = relu(c)
    p = conv2d(r, v)
    q = add(p, c)
    yield q
  else:
    n = conv2d(x, u)
    yield n
  return y
"""
    scales = {"x": Scale(0.02), **{name: Scale(0.05) for name in "crpqn"}}
    found = apply_scales(network(text), scales, QuantiseOptions(), EXACT_ON).function
    for body in all_bodies(found.body):
        read = Counter(name for let in body.lets for name in names_of(let.value))
        sums = [let.name for let in body.lets if let.name.endswith("_acc")]
        assert all(read[name] == 1 for name in sums)
    assert sum(let.name.endswith("_acc") for let in all_lets(found.body)) == 3
