"""Networks that say themselves how they are quantised: integers give what they say."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.graph import Function, Var
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.passes import Fuse, transform
from tandem.compiler.graph.visit import constants
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.quantise.network import has_scales, quantise_network
from tandem.compiler.quantise.samples import synthetic
from tests.support.compiler.quantise.networks import called, network
from tests.support.compiler.quantise.quantised_reference import REFERENCE, reference

RUN = NativeRunner()
EXACT_ON = compile_options().exact_on

HEAD = (
    "x: float32[2, 4, 6, 6], w: int8[8, 4, 3, 3], s: float32[], z: int8[], o: float32[], u: int8[]"
)
CHANNELS = "sw: float32[8], zw: int8[8], b: int32[8], sb: float32[8], zb: int32[8]"
START = ["xq = quantise(x, s, z)", "xr = dequantise(xq, s, z)"]
CONV = [
    "wr = dequantise(w, sw, zw, axis=0)",
    "br = dequantise(b, sb, zb, axis=0)",
    "c = conv2d(xr, wr, br{padding})",
]
END = ["q = quantise({last}, o, u)", "y = dequantise(q, o, u)"]


def values(zero: int, out: float = 0.11) -> dict[str, NDArray[np.generic]]:
    """Constants as a quantiser would choose them, and zero points of activations."""
    generator = np.random.default_rng(0)
    sw = generator.uniform(0.01, 0.03, 8).astype("float32")
    s = np.float32(0.03)
    return {
        "s": np.array(s),
        "z": np.array(zero),
        "o": np.array(out, "float32"),
        "u": np.array(zero // 2),
        "w": generator.integers(-127, 128, (8, 4, 3, 3)),
        "v": generator.integers(-127, 128, (8, 4, 3, 3)),
        "sw": sw,
        "zw": np.zeros(8),
        "b": generator.integers(-3000, 3000, 8),
        "sb": sw * s,
        "zb": np.zeros(8),
    }


def program(lines: list[str], params: str = f"{HEAD}, {CHANNELS}") -> str:
    """A function of these lines."""
    return "\n".join([f"func @main({params}):", *(f"  {each}" for each in lines), "  return y"])


def same(function: Function, step: float) -> Function:
    """Integers give the numbers that the function says, but for halves, which it rounds otherwise:
    seldom, and by one step."""
    assert has_scales(function)
    found = quantise_network(function, [], RUN, targets=EXACT_ON).function
    given = next(synthetic(function, 1, seed=3))
    wanted, native = (
        evaluate(transform(graph, (Fuse(),)), given, RUN) for graph in (function, found)
    )
    assert isinstance(wanted, np.ndarray)
    assert isinstance(native, np.ndarray)
    off = np.abs(native.astype(np.float64) - wanted) / step
    assert off.max() < 1.01
    assert (off > 0.01).mean() < 0.002
    if set(called(found)) <= set(REFERENCE):
        assert isinstance(found.body.result, Var)
        exact = reference(found, given)[found.body.result.name]
        np.testing.assert_array_equal(native, exact)
    return found


@pytest.mark.parametrize("padding", ["", ", padding=[1, 1, 1, 1]"])
@pytest.mark.parametrize("zero", [0, -37])
@pytest.mark.parametrize("relu", [False, True])
def test_convolutions(padding: str, zero: int, relu: bool) -> None:
    lines = [*START, *CONV, *(["r = relu(c)"] if relu else []), *END]
    text = program(lines).format(padding=padding, last="r" if relu else "c")
    found = same(network(text, **values(zero)), 0.11)
    pad = ["pad"] if zero and padding else []
    assert called(found) == ["quantise", *pad, "conv2d", "requantise", "dequantise"]


def test_unsigned_with_zero_points() -> None:
    given = {**values(0), "z": np.array(120), "u": np.array(100)}
    text = program([*START, *CONV, *END]).replace("z: int8[]", "z: uint8[]")
    text = text.replace("u: int8[]", "u: uint8[]").replace("(x, s, z)", "(x, s, z, to=uint8)")
    text = text.replace("{last}, o, u", "c, o, u, to=uint8")
    found = same(network(text.format(padding=""), **given), 0.11)
    assert called(found) == ["quantise", "conv2d", "requantise", "dequantise"]


def test_weights_beyond_int8_take_their_inputs_twice() -> None:
    given = {**values(5), "zw": np.array([-100, 90, 0, 1, 2, 3, 4, 5])}
    text = program([*START, *CONV, *END]).format(padding=", padding=[0, 1, 0, 1]", last="c")
    found = same(network(text, **given), 0.11)
    (weights,) = [each for each in constants(found).values() if each.array.ndim == 4]
    assert weights.array.dtype == np.int8
    assert weights.array.shape[1] > 4
    assert "gather" in called(found)


def test_a_residual_block_with_a_scale_between() -> None:
    lines = [
        *START,
        *CONV[:2],
        "c = conv2d(xr, wr, br, padding=[1, 1, 1, 1])",
        "cq = quantise(c, o, u)",
        "cr = dequantise(cq, o, u)",
        "vr = dequantise(v, sw, zw, axis=0)",
        "d = conv2d(xr, vr, padding=[1, 1, 1, 1])",
        "dq = quantise(d, o, z)",
        "dr = dequantise(dq, o, z)",
        "a = add(cr, dr)",
        "r = relu(a)",
        *END,
    ]
    text = program(lines, f"{HEAD}, {CHANNELS}, v: int8[8, 4, 3, 3]").format(last="r")
    found = same(network(text, **values(11)), 0.11)
    assert called(found).count("requantise_add") == 1
    assert not {"add", "relu"} & set(called(found))


def test_pools_places_and_joins() -> None:
    lines = [
        *START,
        "m = max_pool(xr, kernel=[2, 2], strides=[2, 2])",
        "a = average_pool(xr, kernel=[2, 2], strides=[2, 2])",
        "j = concat(m, a, axis=1)",
        "jq = quantise(j, o, u)",
        "jr = dequantise(jq, o, u)",
        "g = global_average_pool(jr)",
        "gq = quantise(g, s, z)",
        "gr = dequantise(gq, s, z)",
        "f = flatten(gr)",
        *END,
    ]
    text = program(lines, HEAD.replace("w: int8[8, 4, 3, 3], ", "")).format(last="f")
    given = values(-9, 0.0217)
    found = same(network(text, **{key: given[key] for key in ("s", "z", "o", "u")}), 0.0217)
    assert set(called(found)) <= {
        *("quantise", "max_pool", "conv2d", "pad", "cast", "requantise", "concat", "reduce_sum"),
        *("flatten", "dequantise"),
    }


def test_products_of_matrices() -> None:
    lines = [
        *START,
        "vr = dequantise(v, sv, zv, axis=1)",
        "c = gemm(xr, vr)",
        *END,
    ]
    params = (
        "x: float32[5, 8], s: float32[], z: int8[], o: float32[], u: int8[], "
        "v: int8[8, 6], sv: float32[6], zv: int8[6]"
    )
    given = {key: each for key, each in values(7).items() if key in ("s", "z", "o", "u")}
    given |= {"sv": np.linspace(0.01, 0.05, 6), "zv": np.zeros(6)}
    given["v"] = np.random.default_rng(0).integers(-127, 128, (8, 6))
    found = same(network(program(lines, params).format(last="c"), **given), 0.11)
    assert called(found) == ["quantise", "dense", "requantise", "dequantise"]


def test_integers_in_and_out() -> None:
    """Parameters and results that are integers already; of unsigned ones 128 is taken off."""
    params = "x: uint8[2, 4, 6, 6], w: int8[8, 4, 3, 3], s: float32[], z: uint8[], o: float32[]"
    lines = [
        "xr = dequantise(x, s, z)",
        "wr = dequantise(w, s, zw)",
        "c = conv2d(xr, wr)",
        "y = quantise(c, o, z, to=uint8)",
    ]
    given = {key: each for key, each in values(7).items() if key in ("w", "s", "o")}
    given |= {"z": np.array(130), "zw": np.array(0)}
    function = network(program(lines, f"{params}, zw: int8[]"), **given)
    found = quantise_network(function, [], RUN, targets=EXACT_ON).function
    x = np.random.default_rng(3).integers(0, 256, (2, 4, 6, 6)).astype("uint8")
    wanted, native = (evaluate(each, [x], RUN) for each in (function, found))
    assert isinstance(wanted, np.ndarray)
    assert isinstance(native, np.ndarray)
    assert native.dtype == np.uint8
    assert np.abs(native.astype(int) - wanted).max() <= 1
    assert "dequantise" not in called(found)
    np.testing.assert_array_equal(native, reference(found, [x])["y"])


def test_what_has_no_integers_stays() -> None:
    """Scales for each channel of an activation, a type that is too wide, an operator in between."""
    lines = [
        "xq = quantise(x, sx, zx, axis=1)",
        "xr = dequantise(xq, sx, zx, axis=1)",
        "h = quantise(xr, s, zh, to=int16)",
        "hr = dequantise(h, s, zh)",
        "g = sigmoid(hr)",
        *END,
    ]
    params = (
        "x: float32[2, 4, 6, 6], sx: float32[4], zx: int8[4], s: float32[], zh: int16[], "
        "o: float32[], u: int8[]"
    )
    given = {"sx": np.array([0.1, 0.2, 0.3, 0.4]), "zx": np.arange(4), "s": np.array(0.001)}
    given |= {"zh": np.array(5), "o": np.array(0.01), "u": np.array(3)}
    found = same(network(program(lines, params).format(last="g"), **given), 0.01)
    assert called(found) == [
        *("quantise", "dequantise", "quantise", "dequantise", "sigmoid", "quantise", "dequantise")
    ]


NUMBERS = ("s", "z", "o", "u")


@pytest.mark.parametrize(
    ("lines", "integers"),
    [
        # What moves the sums of a layer waits for the scale behind it.
        (["t = transpose(c, perm=[0, 2, 3, 1])"], ["requantise", "transpose"]),
        (
            ["a = reshape(c, shape=[2, 8, 16])", "b = relu(a)", "t = unsqueeze(b, axes=[0])"],
            ["requantise", "reshape", "unsqueeze"],
        ),
        (
            ["k = conv2d(xr, vr)", "j = concat(c, k, axis=1)", "t = depth_to_space(j, block=2)"],
            ["conv2d", "requantise", "requantise", "concat", "depth_to_space"],
        ),
    ],
)
def test_sums_that_move(lines: list[str], integers: list[str]) -> None:
    weights = ["vr = dequantise(v, sw, zw, axis=0)"] if "vr" in " ".join(lines) else []
    text = program(
        [*START, *weights, CONV[0], "c = conv2d(xr, wr)", *lines, *END],
        f"{HEAD}, sw: float32[8], zw: int8[8]{', v: int8[8, 4, 3, 3]' if weights else ''}",
    )
    names = (*NUMBERS, "w", "sw", "zw", *(["v"] if weights else []))
    given = {name: each for name, each in values(11).items() if name in names}
    found = same(network(text.format(last="t"), **given), 0.11)
    assert called(found) == ["quantise", "conv2d", *integers, "dequantise"]


def test_padding_and_joining_what_is_int8() -> None:
    """Zeros are the zero point; parts of one scale have it together."""
    lines = [
        *START,
        "p = pad(xr, pads=[0, 0, 1, 0, 0, 0, 0, 2], value=0.0)",
        "j = concat(p, p, axis=1)",
        "t = max_pool(j, kernel=[2, 2])",
        *END,
    ]
    text = program(lines, HEAD.replace("w: int8[8, 4, 3, 3], ", "")).format(last="t")
    given = {name: each for name, each in values(-37).items() if name in NUMBERS}
    found = same(network(text, **given), 0.11)
    assert called(found)[:4] == ["quantise", "pad", "concat", "max_pool"]
    lines[2] = lines[2].replace("value=0.0", "value=1.0")
    text = program(lines, HEAD.replace("w: int8[8, 4, 3, 3], ", "")).format(last="t")
    # Ones have no integer.
    found = quantise_network(network(text, **given), [], RUN, targets=EXACT_ON).function
    assert called(found)[:3] == ["quantise", "dequantise", "pad"]
