"""What is read in real numbers, in integers, and in both: operators of quantised networks, and why
values stay real, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tandem.compiler.graph import Call, Function
from tandem.compiler.graph.nodes import Body
from tandem.compiler.graph.operators.elementwise import Clip
from tandem.compiler.graph.visit import all_lets
from tandem.compiler.quantise.forms import Scale
from tandem.compiler.quantise.network import apply_scales
from tandem.compiler.quantise.options import QuantiseOptions
from tests.support.compiler.quantise.networks import called, network

IMAGE = "x: float32[1, 2, 3, 3], w: float32[2, 2, 1, 1], v: float32[2, 2, 1, 1]"
ROWS = "x: float32[2, 3], w: float32[2, 3]"
NO_RULE = "quantisation has no integer form of it"
INT8_OF_CONV = ["quantise", "conv2d", "requantise", "dequantise"]


def float_kept(function: Function, *names: str) -> Function:
    lets = tuple(
        replace(let, keep_float=True) if let.name in names else let for let in function.body.lets
    )
    return replace(function, body=Body(lets, function.body.result))


def built(lines: str, params: str = IMAGE, kept: tuple[str, ...] = (), **scales: Any) -> Function:
    """The quantised network of the lines, whose result is the last value: all that is quantised
    has the scale 0.5 unless something else is said."""
    text = "".join(f"  {line}\n" for line in lines.split("; "))
    last = lines.split("; ")[-1].split(" = ")[0]
    function = float_kept(network(f"func @f({params}):\n{text}  return {last}\n"), *kept)
    chosen = dict.fromkeys((let.name for let in all_lets(function.body)), Scale(0.5))
    chosen |= {"x": Scale(0.5), **scales}
    given = {name: scale for name, scale in chosen.items() if scale is not None}
    return apply_scales(function, given, QuantiseOptions()).function


def reasons(function: Function) -> dict[str, list[str]]:
    return {
        let.name: [each.text for each in let.reasons]
        for let in all_lets(function.body)
        if let.reasons
    }


@pytest.mark.parametrize(
    ("line", "operators", "limits"),
    [
        ("relu(d)", ["relu"], None),
        ("clip(d, min=0.0)", ["relu"], None),
        ("clip(d, min=0.0, max=6.0)", ["clip"], Clip(0.0, 6.0)),
        ("clip(d, min=-1.0)", ["clip"], Clip(-1.0, None)),
        ("clip(d, max=6.0)", ["clip"], Clip(None, 6.0)),
    ],
)
def test_sums_that_are_read_in_real_numbers_are_not_rounded(
    line: str, operators: list[str], limits: Clip | None
) -> None:
    found = built(f"d = dense(x, w); y = {line}; z = exp(y)", ROWS, d=None, y=None, z=None)
    assert called(found) == ["quantise", "dense", "dequantise", *operators, "exp"]
    if limits is not None:
        calls = [let.value for let in found.body.lets if isinstance(let.value, Call)]
        assert calls[-2].attributes == limits


def test_sums_that_move_are_int8_first() -> None:
    lines = "c = conv2d(x, w); t = transpose(c, perm=[0, 1, 3, 2]); y = exp(t)"
    assert called(built(lines)) == [*INT8_OF_CONV[:3], "transpose", "dequantise", "exp"]
    real = "d = dense(x, w); t = transpose(d, perm=[1, 0]); y = exp(t)"
    for found in (built(real, ROWS, t=None), built(real, ROWS, d=None, t=None)):
        assert called(found) == ["quantise", "dense", "dequantise", "transpose", "exp"]
    wanted = "c = conv2d(x, w); t = transpose(c, perm=[0, 1, 3, 2]); y = conv2d(t, v)"
    names = called(built(wanted))
    assert names[:4] == ["quantise", "conv2d", "requantise", "transpose"]


def test_layers_of_an_accelerator_give_int8() -> None:
    assert called(built("c = conv2d(x, w); y = exp(c)")) == [*INT8_OF_CONV, "exp"]
    # Unless there is no scale for them.
    found = built("c = conv2d(x, w); y = exp(c)", c=None)
    assert called(found) == ["quantise", "conv2d", "dequantise", "exp"]


def test_one_tensor_for_all_readers() -> None:
    found = built("c = conv2d(x, w); e = exp(c); d = conv2d(c, v); y = add(e, d)", y=None)
    names = called(found)
    assert names.count("requantise") == 2
    assert names.count("quantise") == 1
    # The real value is made of the int8 one.
    assert names.index("dequantise") < names.index("exp")


def test_why_values_are_real() -> None:
    assert reasons(built("c = conv2d(x, w); y = exp(c)")) == {"y": [NO_RULE]}
    found = built("e = exp(x); r = relu(e); y = conv2d(r, w)", r=None)
    assert reasons(found)["r"] == ["its data stays in real numbers"]
    # What only moves could be of integers, and integers need no reason.
    assert reasons(built("y = tile(x, repeats=[1, 1, 2, 2])")) == {}
    params = f"{IMAGE}, xi: int32[2]"
    assert reasons(built("y = negative(xi)", params)) == {}


def test_what_is_asked_to_stay_real() -> None:
    found = built("c = conv2d(x, w); y = conv2d(c, v)", kept=("y",))
    assert called(found) == [*INT8_OF_CONV, "conv2d"]
    assert reasons(found) == {"y": ["it stays in float32, as asked for"]}
    both = built("c = conv2d(x, w); y = conv2d(c, v)", kept=("c", "y"))
    assert called(both) == ["conv2d", "conv2d"]


def test_real_residuals_stay_real() -> None:
    lines = "c = conv2d(x, w); e = exp(x); s = add(c, e); y = exp(s)"
    found = built(lines)
    assert "requantise_add" not in called(found)
    assert reasons(found)["s"] == ["its operand is computed in real numbers, as its result is read"]
    # As int8 they join the sums.
    joined = built("c = conv2d(x, w); e = exp(x); s = add(c, e); y = conv2d(s, v)")
    assert "requantise_add" in called(joined)


def test_concatenations_have_one_scale() -> None:
    lines = "c = conv2d(x, w); d = conv2d(x, v); j = concat(c, d, axis=1); y = conv2d(j, u)"
    params = f"{IMAGE}, u: float32[2, 4, 1, 1]"
    found = built(lines, params, c=Scale(0.5), d=Scale(0.5), j=Scale(0.5))
    assert called(found).count("requantise") == 3
    assert called(found).count("concat") == 1
    (joined,) = [
        let for let in found.body.lets if isinstance(let.value, Call) and let.name == "j_int8"
    ]
    assert isinstance(joined.value, Call)
    makers = {let.name: let.value for let in found.body.lets}
    sources = [makers[each.name] for each in joined.value.args]  # type: ignore[union-attr]
    assert [each.callee.name for each in sources if isinstance(each, Call)] == ["requantise"] * 2


def test_repeated_pixels_are_of_the_smaller_image() -> None:
    found = built("c = conv2d(x, w); r = upsample(c, factors=[2, 2]); y = conv2d(r, v)")
    assert called(found) == [
        *("quantise", "conv2d", "requantise", "upsample", "conv2d", "requantise", "dequantise"),
    ]


def test_branches_read_what_is_around_in_any_form() -> None:
    text = f"""
func @f({IMAGE}, xb: bool[]):
  c = conv2d(x, w)
  y = if xb:
    d = conv2d(c, v)
    yield d
  else:
    e = exp(c)
    yield e
  return y
"""
    scales = {name: Scale(0.5) for name in ("x", "c", "d")}
    found = apply_scales(network(text), scales, QuantiseOptions()).function
    names = [let.value.callee.name for let in all_lets(found.body) if isinstance(let.value, Call)]
    # The sums around are rounded once, and the branch reads the int8 tensor.
    assert names.count("requantise") == 2
    assert names.count("quantise") == 1
    assert names.count("conv2d") == 2
    assert reasons(found) == {"e": [NO_RULE]}


def test_results_that_nothing_takes_as_int8() -> None:
    found = built("m = max_pool(x, kernel=[1, 1]); y = exp(m)", x=None, m=None)
    assert called(found) == ["max_pool", "exp"]
    assert reasons(found) == {"m": ["its data stays in real numbers"], "y": [NO_RULE]}


SQUARE = "x: float32[2, 3], w: float32[3, 3], v: float32[3, 3]"


def dequantised(function: Function) -> dict[str, str]:
    """Of what integers real numbers are made, by name."""
    return {
        let.name: let.value.args[0].name  # type: ignore[union-attr]
        for let in function.body.lets
        if isinstance(let.value, Call) and let.value.callee.name == "dequantise"
    }


@pytest.mark.parametrize(
    "lines",
    [
        "d = dense(x, w); e = exp(d); y = dense(d, v); z = add(y, e)",
        "d = dense(x, w); y = dense(d, v); e = exp(d); z = add(y, e)",
    ],
)
def test_sums_that_are_int8_for_others_are_real_of_that(lines: str) -> None:
    assert dequantised(built(lines, SQUARE)) == {"d": "d_int8", "y": "y_acc"}


@pytest.mark.parametrize("move", ["transpose(d, perm=[1, 0])", "reshape(d, shape=[1, 6])"])
def test_sums_of_matrices_that_move_are_int8_first(move: str) -> None:
    found = built(f"d = dense(x, w); t = {move}; y = exp(t)", SQUARE)
    assert called(found)[:3] == ["quantise", "dense", "requantise"]
    assert dequantised(found) == {"t": "t_int8"}
