"""Images that repeat the pixels of others have their bytes, of whatever scale is wanted."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.graph import Var
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.passes import Fuse, transform
from tandem.compiler.graph.reasons import Reason
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.quantise.forms import Scale
from tandem.compiler.quantise.network import apply_scales, quantise_network
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.compiler.quantise.quantised import Quantised
from tandem.compiler.quantise.samples import synthetic
from tests.support.compiler.quantise.networks import called, network, sqnr
from tests.support.compiler.quantise.quantised_reference import REFERENCE, reference

RUN = NativeRunner()
HEAD = "x: float32[1, 4, 4, 6], w: float32[8, 4, 3, 3], v: float32[5, 8, 3, 3]"
SMALL = ["c = conv2d(x, w, padding=[1, 1, 1, 1])", "r = relu(c)"]
LARGE = "u = upsample(r, factors=[2, 3])"
LAST = "y = conv2d({}, v)"


def quantised(
    *lines: str, head: str = HEAD, least: float = 20, **given: NDArray[np.generic]
) -> Quantised:
    """A network of integers that gives what NumPy's integers and nearly what real numbers give."""
    text = "\n".join([f"func @f({head}):", *(f"  {line}" for line in lines), "  return y"])
    real = network(text, **given)
    (sample,) = synthetic(real, 1)
    found = quantise_network(real, [sample], RUN, None, compile_options().exact_on)
    wanted, native = (
        evaluate(transform(function, (Fuse(),)), sample, RUN) for function in (real, found.function)
    )
    assert isinstance(wanted, np.ndarray)
    assert isinstance(native, np.ndarray)
    assert sqnr(wanted, native) > least
    result = found.function.body.result
    assert isinstance(result, Var)
    if set(called(found.function)) <= set(REFERENCE):
        np.testing.assert_array_equal(native, reference(found.function, sample)[result.name])
    return found


def operators(lines: list[str], head: str = HEAD) -> list[str]:
    """The operators of the network of integers, without those that quantise and dequantise."""
    names = called(quantised(*lines, head=head).function)
    return [each for each in names if each not in ("quantise", "dequantise")]


LAYER = ["conv2d", "requantise"]
LARGER = f"{HEAD}, x2: float32[1, 4, 8, 18], w2: float32[8, 4, 1, 1], v2: float32[5, 16, 3, 3]"
JOINED = [*SMALL, LARGE, "d = conv2d(x2, w2)", "k = concat(u, d, axis=1)", "z = conv2d(k, v2)"]


def test_the_scale_is_that_of_the_image() -> None:
    found = quantised(*SMALL, LARGE, "y = conv2d(u, v)")
    scales = dict(found.scales.values())
    assert scales["u"] == scales["r"]
    assert called(found.function)[1:4] == ["conv2d", "requantise", "upsample"]


def test_the_scale_of_a_concatenation_is_given_to_the_smaller_image() -> None:
    layers = [*LAYER, "upsample"], LAYER
    found = operators([*JOINED, "y = relu(z)"], LARGER)
    assert sorted(found) == sorted([*layers[0], *layers[1], "concat", *LAYER])
    assert found.index("upsample") == found.index("requantise") + 1


def test_of_two_scales_the_second_is_given_to_the_smaller_image() -> None:
    """The layer's sums become int8 once; a pass over the smaller image makes the other scale."""
    pool = "g = max_pool(z, kernel=[3, 4], strides=[3, 4])"
    found = operators([*JOINED, "e = conv2d(r, v)", pool, "y = add(e, g)"], LARGER)
    at = found.index("cast")
    assert found[at : at + 3] == ["cast", "requantise", "upsample"]
    assert found.count("cast") == found.count("upsample") == 1


def test_it_is_added_to_a_layer() -> None:
    found = operators([*SMALL, LARGE, "d = conv2d(x2, w2)", "y = add(d, u)"], LARGER)
    assert sorted(found) == sorted([*LAYER, "upsample", "conv2d", "requantise_add"])


def test_repeated_twice() -> None:
    found = operators([*SMALL, LARGE, "t = upsample(u, factors=[1, 2])", "y = conv2d(t, v)"])
    assert found == [*LAYER, "upsample", "upsample", *LAYER]


def test_stated_scales_are_kept() -> None:
    """Between a `dequantise` and a `quantise` of one scale there is nothing to compute."""
    lines = [
        *("xq = quantise(x, s, z)", "xr = dequantise(xq, s, z)"),
        *(
            "u = upsample(xr, factors=[2, 3])",
            "uq = quantise(u, s, z)",
            "ur = dequantise(uq, s, z)",
        ),
        "y = max_pool(ur, kernel=[2, 2])",
    ]
    head = "x: float32[1, 4, 4, 6], s: float32[], z: int8[]"
    given = {"s": np.array(0.02), "z": np.array(3)}
    found = quantised(*lines, head=head, least=30, **given).function
    assert called(found) == ["quantise", "upsample", "max_pool", "dequantise"]


def test_real_numbers_are_repeated_as_such() -> None:
    """Where they are computed in real numbers; as int8, after they were quantised."""
    function = quantised(*SMALL, "s = sigmoid(r)", "y = upsample(s, factors=[2, 2])").function
    assert called(function)[-2:] == ["sigmoid", "upsample"]
    lines = ["s = sigmoid(r)", "u = upsample(s, factors=[2, 2])", "y = conv2d(u, v)"]
    found = called(quantised(*SMALL, *lines).function)
    assert found[found.index("sigmoid") :][:3] == ["sigmoid", "quantise", "upsample"]


def test_what_nobody_wants_as_int8_stays_real() -> None:
    """Quantising would lose bits for nothing."""
    found = quantised("y = upsample(x, factors=[2, 2])", head="x: float32[1, 4, 4, 6]", least=100)
    assert called(found.function) == ["upsample"]


@pytest.mark.parametrize(
    ("line", "head", "reason"),
    [
        (
            "y = reduce_mean(x, axes=[2, 3], keepdims=True)",
            "x: float32[1, 4, H, 6]",
            "an extent of its data is open: --shape, which gives it, would help",
        ),
        (
            "y = reduce_mean(x, axes=[2, 3], keepdims=True)",
            "x: float32[1, 4, 4096, 2048]",
            "it is a mean of 8,388,608 elements: 8,388,607 fit",
        ),
        (
            "y = reduce_mean(x, axes=[1, 2, 3], keepdims=False)",
            "x: float32[2, 4, 6, 6]",
            "its result has no axis of channels: keepdims=1 would help",
        ),
        (
            "y = reduce_mean(s, axes=[2, 3], keepdims=True)",
            "x: float32[1, 4, 4, 6]",
            "no sample of the calibration reached its data: --calibrate with inputs that do would "
            "help",
        ),
    ],
)
def test_why_a_mean_is_one_of_real_numbers(line: str, head: str, reason: str) -> None:
    function = network(f"func @f({head}):\n  s = sigmoid(x)\n  {line}\n  return y\n")
    found = apply_scales(function, {"x": Scale(0.1)}, QuantiseOptions()).function
    reasons = {let.name: let.reasons for let in found.body.lets}
    assert reasons["y"] == (Reason("reduce_mean", reason),)
