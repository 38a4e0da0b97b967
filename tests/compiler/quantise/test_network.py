"""Quantised networks: what becomes of each operator, and that it means what it meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.errors import QuantisationError
from tandem.compiler.graph import Constant, Function, Var
from tandem.compiler.graph.evaluate import evaluate
from tandem.compiler.graph.operators.quantised import Requantise
from tandem.compiler.graph.passes import EliminateCommon, Fuse, InferTypes, transform
from tandem.compiler.graph.printer import text
from tandem.compiler.graph.visit import names_of
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.runner import NativeRunner
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.machines.defaults import compile_options
from tandem.compiler.plan.target import Target
from tandem.compiler.quantise.builder import Builder
from tandem.compiler.quantise.forms import Scale
from tandem.compiler.quantise.network import apply_scales, quantise_network
from tandem.compiler.quantise.options import Method, Mode, QuantiseOptions
from tandem.compiler.quantise.samples import synthetic
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.quantise.networks import called, calls, network, residual, sqnr
from tests.support.compiler.quantise.quantised_reference import REFERENCE, reference

IMAGE = "x: float32[2, 4, 6, 6], w: float32[8, 4, 3, 3], b: float32[8]"
RUN = NativeRunner()
EXACT_ON = compile_options().exact_on


def quantised(
    function: Function,
    options: QuantiseOptions | None = None,
    samples: int = 4,
    least: float = 25,
) -> Function:
    """Calibrated by noise; the same result as NumPy's integers, and nearly that of real numbers."""
    given = list(synthetic(function, samples))
    found = quantise_network(function, given, RUN, options, EXACT_ON).function
    assert found.params == function.params
    (fresh,) = synthetic(function, 1, seed=7)
    real, native = (evaluate(transform(each, (Fuse(),)), fresh, RUN) for each in (function, found))
    assert isinstance(real, np.ndarray)
    assert isinstance(native, np.ndarray)
    assert sqnr(real, native) > least
    if "quantise" in called(found) and set(called(found)) <= set(REFERENCE):
        result = found.body.result
        assert isinstance(result, Var)
        np.testing.assert_array_equal(native, reference(found, fresh)[result.name])
    return found


def test_a_residual_network(golden: Callable[[str, str], None]) -> None:
    golden("quantise/residual.txt", text(quantised(residual())))


def test_values_say_which_of_the_network_they_compute() -> None:
    before = residual()
    found = quantised(before)
    origins = {let.name: let.origin for let in found.body.lets if let.origin is not None}
    names = {each.name for each in before.params} | {let.name for let in before.body.lets}
    assert set(origins.values()) <= names
    assert {let.name for let in found.body.lets} - names <= set(origins)
    for name, origin in origins.items():
        assert name.startswith(origin)
    fused = transform(found, (EliminateCommon(), Fuse(), InferTypes()))
    carried = {let.name: let.origin for let in fused.body.lets}
    assert carried == {name: origins.get(name) for name in carried}
    assert any(carried.values())


@pytest.mark.parametrize(
    ("mode", "method", "per_channel"),
    [
        (Mode.MULTIPLIER, Method.PERCENTILE, False),
        (Mode.POW2, Method.MAX, False),
        (Mode.POW2, Method.MSE, True),
    ],
)
def test_options(mode: Mode, method: Method, per_channel: bool) -> None:
    least = 25 if mode is Mode.MULTIPLIER else 20
    options = QuantiseOptions(mode, method, 99.9, per_channel)
    function = quantised(residual(6), options, least=least)
    scales = [
        call.args[1].array
        for call in calls(function, "requantise")
        if isinstance(call.args[1], Constant)
    ]
    if mode is Mode.POW2:
        assert all((each & (each - 1) == 0).all() for each in scales)
    assert max(each.size for each in scales) == (16 if per_channel else 1)


CASES = {
    "clip": (
        f"{IMAGE}, v: float32[4, 8, 3, 3]",
        ["c = conv2d(x, w, b)", "r = clip(c, min=0.0, max=0.5)", "y = conv2d(r, v)"],
        ["quantise", "conv2d", "requantise", "conv2d", "requantise", "dequantise"],
    ),
    "clip of what is int8": (
        f"{IMAGE}, v: float32[4, 4, 3, 3]",
        ["p = max_pool(x, kernel=[2, 2])", "r = relu(p)", "y = conv2d(r, v)"],
        ["quantise", "max_pool", "clip", "conv2d", "requantise", "dequantise"],
    ),
    "relu at the end": (
        IMAGE,
        ["c = conv2d(x, w, b)", "y = relu(c)"],
        ["quantise", "conv2d", "requantise", "dequantise"],
    ),
    "bias added": (
        f"{IMAGE}, a: float32[8, 1, 1], v: float32[4, 8, 3, 3]",
        ["c = conv2d(x, w)", "s = add(a, c)", "r = relu(s)", "y = conv2d(r, v)"],
        ["quantise", "conv2d", "requantise", "conv2d", "requantise", "dequantise"],
    ),
    "matrices": (
        "x: float32[5, 16], w: float32[16, 8], v: float32[8, 6], u: float32[6]",
        ["m = matmul(x, w)", "r = relu(m)", "y = gemm(r, v, u)"],
        ["quantise", "dense", "requantise", "dense", "dequantise"],
    ),
    "matrices that are both computed": (
        "xa: float32[2, 5, 8], xb: float32[2, 8, 6]",
        ["y = matmul(xa, xb)"],
        ["quantise", "quantise", "matmul", "requantise", "dequantise"],
    ),
    "a constant stack of matrices": (
        "x: float32[2, 5, 8], w: float32[2, 8, 6], v: float32[1, 6, 4]",
        ["m = matmul(x, w)", "r = relu(m)", "y = matmul(r, v)"],
        ["quantise", "matmul", "requantise", "matmul", "requantise", "dequantise"],
    ),
    "matrix with scaled bias": (
        "x: float32[5, 16], w: float32[16, 8], b: float32[8]",
        ["y = gemm(x, w, b, beta=0.5)"],
        ["gemm"],
    ),
    "sum of two that are int8": (
        f"{IMAGE}, v: float32[4, 4, 3, 3]",
        [
            "p = max_pool(x, kernel=[3, 3], padding=[1, 1, 1, 1])",
            "s = add(p, x)",
            "y = conv2d(s, v)",
        ],
        ["quantise", "max_pool", "cast", "requantise_add", "conv2d", "requantise", "dequantise"],
    ),
    "a sum that is also used before": (
        f"{IMAGE}, v: float32[4, 8, 1, 1]",
        ["c = conv2d(x, w, b)", "r = relu(c)", "s = add(c, r)", "y = conv2d(s, v)"],
        [
            *("quantise", "conv2d", "requantise", "cast", "requantise", "requantise_add"),
            *("conv2d", "requantise", "dequantise"),
        ],
    ),
    "average pool": (
        f"{IMAGE}, v: float32[4, 4, 2, 2]",
        ["p = average_pool(x, kernel=[2, 3], strides=[2, 1])", "y = conv2d(p, v)"],
        ["quantise", "conv2d", "requantise", "conv2d", "requantise", "dequantise"],
    ),
    "average pool at the border": (
        f"{IMAGE}, v: float32[4, 4, 2, 2]",
        ["p = average_pool(x, kernel=[3, 3], padding=[1, 1, 1, 1])", "y = conv2d(p, v)"],
        ["average_pool", "quantise", "conv2d", "requantise", "dequantise"],
    ),
    "normalisation in three steps, after a layer": (
        f"{IMAGE}, s: float32[8], variance: float32[8], m: float32[8, 1, 1], "
        "v: float32[4, 8, 1, 1]",
        [
            *("c = conv2d(x, w)", "n = batch_norm(c, b, s, s, variance)", "k = multiply(m, n)"),
            *("a = add(k, m)", "r = relu(a)", "y = conv2d(r, v)"),
        ],
        ["quantise", "conv2d", "requantise", "conv2d", "requantise", "dequantise"],
    ),
    "normalisation before a layer": (
        "x: float32[2, 4, 6, 6], s: float32[4], variance: float32[4], m: float32[4, 1, 1], "
        "v: float32[4, 4, 1, 1]",
        [
            *("p = max_pool(x, kernel=[2, 2])", "n = batch_norm(p, s, s, s, variance)"),
            *("k = multiply(n, m)", "r = relu(k)", "y = conv2d(r, v)"),
        ],
        [
            "quantise",
            "max_pool",
            "cast",
            "multiply",
            "requantise",
            "conv2d",
            "requantise",
            "dequantise",
        ],
    ),
    "total of two": (
        f"{IMAGE}, v: float32[4, 4, 1, 1]",
        ["c = conv2d(x, v)", "t = total(c, x)", "y = conv2d(t, v)"],
        ["quantise", "conv2d", "requantise_add", "conv2d", "requantise", "dequantise"],
    ),
    "total of three": (
        f"{IMAGE}, v: float32[4, 4, 1, 1]",
        ["t = total(x, x, x)", "y = conv2d(t, v)"],
        ["total", "quantise", "conv2d", "requantise", "dequantise"],
    ),
    "mean": (
        "x: float32[2, 4, 6, 6], v: float32[4, 4]",
        ["m = reduce_mean(x, axes=[2, 3], keepdims=False)", "y = dense(m, v)"],
        ["quantise", "cast", "reduce_sum", "requantise", "dense", "dequantise"],
    ),
    "concat": (
        f"{IMAGE}, v: float32[4, 12, 1, 1]",
        [
            "c = conv2d(x, w, b, padding=[1, 1, 1, 1])",
            "r = relu(c)",
            "j = concat(r, x, axis=1)",
            "y = conv2d(j, v)",
        ],
        [
            "quantise",
            "conv2d",
            "requantise",
            "cast",
            "requantise",
            "concat",
            "conv2d",
            "requantise",
            "dequantise",
        ],
    ),
    "places": (
        "x: float32[2, 3, 4], w: float32[5, 12]",
        ["t = transpose(x, perm=[0, 2, 1])", "f = reshape(t, shape=[2, -1])", "y = dense(f, w)"],
        ["quantise", "transpose", "reshape", "dense", "dequantise"],
    ),
    "places after the last sum": (
        "x: float32[2, 12], w: float32[5, 12]",
        ["d = dense(x, w)", "y = reshape(d, shape=[5, 2])"],
        ["quantise", "dense", "dequantise", "reshape"],
    ),
    "real numbers between": (
        f"{IMAGE}, v: float32[4, 8, 3, 3]",
        ["c = conv2d(x, w, b)", "s = sigmoid(c)", "y = conv2d(s, v)"],
        [
            *("quantise", "conv2d", "requantise", "dequantise", "sigmoid"),
            *("quantise", "conv2d", "requantise", "dequantise"),
        ],
    ),
    "groups": (
        "x: float32[2, 4, 6, 6], v: float32[4, 1, 3, 3]",
        ["c = conv2d(x, v, groups=4)", "y = sigmoid(c)"],
        ["quantise", "conv2d", "requantise", "dequantise", "sigmoid"],
    ),
    "decisions": (
        f"{IMAGE}, t: bool[]",
        ["c = conv2d(x, w, b)", "y = if t:\n    yield c\n  else:\n    yield c"],
        ["quantise", "conv2d", "requantise", "dequantise"],
    ),
    "no constant weights": (
        "x: float32[1, 3, 4, 4], x2: float32[5, 3, 3, 3]",
        ["y = conv2d(x, x2)"],
        ["conv2d"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_operators(case: str) -> None:
    params, lines, wanted = CASES[case]
    program = "\n".join([f"func @main({params}):", *(f"  {each}" for each in lines), "  return y"])
    # So small tensors show their range in many samples only.
    found = quantised(network(program), samples=32)
    assert called(found) == wanted


def test_sums_of_a_layer_become_int8_once() -> None:
    """Two readers, one of which is in a concatenation of another scale: the second value is made
    from the first, so that an accelerator stores the sums as int8."""
    params = f"{IMAGE}, u: float32[4, 8, 1, 1], v: float32[4, 12, 1, 1]"
    lines = [
        *("c = conv2d(x, w, b, padding=[1, 1, 1, 1])", "r = relu(c)", "p = conv2d(r, u)"),
        *("j = concat(r, x, axis=1)", "q = conv2d(j, v)", "s = add(p, q)"),
    ]
    for order in (lines, [*lines[:2], *lines[3:5], lines[2], lines[5]]):
        body = "".join(f"  {line}\n" for line in order)
        found = quantised(network(f"func @f({params}):\n{body}  return s"))
        sums = {let.name for let in found.body.lets if let.name.endswith("_acc")}
        assert len(sums) == 3
        read = [name for let in found.body.lets for name in names_of(let.value) if name in sums]
        assert sorted(read) == sorted(sums)


def test_products_of_two_with_zero_points() -> None:
    """Digits of sums, and their places, are joined to the operands; the rest is as without."""
    function = graph(
        "func @main(xa: float32[2, 5, 8], xb: float32[2, 8, 6]):\n"
        "  y = matmul(xa, xb)\n"
        "  return y\n"
    )
    for zeros in ((0, 0), (3, 0), (0, -128)):
        chosen = {name: Scale(0.1, zero) for name, zero in zip(("xa", "xb"), zeros, strict=True)}
        found = apply_scales(function, chosen, QuantiseOptions()).function
        whole = ["quantise", "quantise", "matmul", "dequantise"]
        assert ("reduce_sum" in called(found)) == any(zeros)
        assert [each for each in called(found) if each in whole] == whole


@pytest.mark.parametrize(
    ("zero", "weight", "message"),
    [
        (3, np.ones((2, 8, 6)), "its data has the zero point 3, beside a stack of constant"),
        (0, np.full((2, 8, 6), np.inf), "its weight is not finite"),
        (0, np.ones((1, 140_000, 1)), "a column's sums reach 2,275,840,000, beyond 32 bits"),
    ],
    ids=["zero point", "infinite", "long sums"],
)
def test_stacks_that_stay_real(zero: int, weight: NDArray[Any], message: str) -> None:
    shape = list(weight.shape)
    function = network(
        f"func @main(x: float32[2, 5, {shape[1]}], w: float32{shape}):\n"
        "  y = matmul(x, w)\n"
        "  return y\n",
        w=weight,
    )
    found = apply_scales(function, {"x": Scale(0.1, zero)}, QuantiseOptions()).function
    assert "matmul" in called(found)
    reasons = [str(reason) for let in found.body.lets for reason in let.reasons]
    assert any(message in reason for reason in reasons)


def test_a_channel_of_zeros_and_one_that_is_all_bias() -> None:
    generator = np.random.default_rng(0)
    w, b = generator.standard_normal((8, 4, 3, 3)) / 6, generator.standard_normal(8)
    w[2], w[5], b[6] = 0, 1e-12, 0
    lines = f"func @main({IMAGE}, v: float32[4, 8, 1, 1]):\n  c = conv2d(x, w, b)\n"
    quantised(network(f"{lines}  y = conv2d(c, v)\n  return y", w=w, b=b))


def test_normalisation_of_dead_channels() -> None:
    """Factors of 0 and nearly 0, with addends and without: what is left is the addend."""
    program = """
func @main(x: float32[2, 8, 6, 6], f: float32[8], a: float32[8], variance: float32[8], {v}):
  p = max_pool(x, kernel=[2, 2])
  n = batch_norm(p, f, a, a, variance)
  y = conv2d(n, v)
  return y
"""
    generator = np.random.default_rng(0)
    f, a = generator.uniform(0.5, 1.5, 8), generator.standard_normal(8)
    f[1], a[1] = 0, 0.7
    f[3], a[3] = 1e-12, -1.3
    f[4], a[4] = -1e-40, 0.4
    f[6], a[6] = 0, 0
    program = program.replace("{v}", "v: float32[4, 8, 1, 1]")
    found = quantised(network(program, f=f, a=a), samples=32)
    assert "batch_norm" not in called(found)


@pytest.mark.parametrize("added", ["", "  s = add(c, x)\n"])
@pytest.mark.parametrize("first", ["", "  g = sigmoid(r)\n"])
def test_a_scale_that_no_multiplier_reaches(added: str, first: str) -> None:
    """The results of sums are 2^-50 of what is kept of them: real numbers are in between."""
    program = f"""
func @main(x: float32[2, 4, 6, 6], w: float32[4, 4, 3, 3], v: float32[4, 4, 1, 1]):
  c = conv2d(x, w, padding=[1, 1, 1, 1])
{added}  r = clip({"s" if added else "c"}, min=0.0, max=1e-15)
{first}  y = conv2d(r, v)
  return {"g" if first else "y"}
"""
    program = program.replace("return g", "z = multiply(g, y)\n  return z")
    # There is little but the two ends of what is kept.
    found = quantised(network(program), samples=32, least=20)
    assert "clip" in called(found)


def test_requantisations_are_exact_on_the_targets() -> None:
    """A shift of 23 leaves no bits of 32 for the sum of two tensors."""
    program = """
func @main(x: float32[2, 4, 6, 6], w: float32[4, 4, 1, 1], v: float32[4, 4, 1, 1]):
  c = conv2d(x, w)
  s = add(c, x)
  y = conv2d(s, v)
  return y
"""
    function = network(program)
    samples = list(synthetic(function))

    def shift_for(*targets: Target[Any]) -> int:
        found = quantise_network(function, samples, RUN, targets=targets).function
        (call,) = calls(found, "requantise_add")
        assert isinstance(call.attributes, Requantise)
        return call.attributes.shift

    host = cpu(CpuTarget.host(1))
    assert shift_for(host, *EXACT_ON) == shift_for(*EXACT_ON) < shift_for(host) == shift_for() == 23


def test_a_value_in_a_second_scale_is_a_layer_of_its_own() -> None:
    """Reports tell layers apart by their names."""
    builder = Builder(["v"])
    first, second = (builder.call("v", "_int8", "relu", [Var("v")]) for _ in range(2))
    builder.call(first.name, "_wide", "relu", [first])
    builder.call(second.name, "_wide", "relu", [second])
    sources = {let.name: let.source for let in builder.lets}
    assert sources == {
        "v_int8": "v",
        "v_int8_1": "v_int8_1",
        "v_int8_wide": "v",
        "v_int8_1_wide": "v_int8_1",
    }


@pytest.mark.parametrize("shape", ["0, 4, 6, 6", "1, 0, 6, 6"])
def test_tensors_without_elements_are_refused(shape: str) -> None:
    function = network(
        f"func @f(x: float32[{shape}]):\n  r = max_pool(x, kernel=[2, 2])\n  return r\n"
    )
    with pytest.raises(QuantisationError, match=r"x is .*: a tensor without elements cannot be"):
        quantise_network(function, [], RUN)


@pytest.mark.parametrize("size", [1e-45, 1e-42, 1e-38, 1e-37])
@pytest.mark.parametrize("mode", Mode)
def test_values_about_the_least_float32(mode: Mode, size: float) -> None:
    """Scales are no zeros, which something would be divided by; warnings are errors."""
    function = residual()
    samples = [[np.full_like(each, size) for each in given] for given in synthetic(function, 1)]
    found = quantise_network(function, samples, RUN, QuantiseOptions(mode=mode), EXACT_ON)
    assert found.scales
    for _, scale in found.scales.values():
        assert scale.step >= np.finfo(np.float32).smallest_normal


@pytest.mark.parametrize("operators", [["relu", "negative"], ["sigmoid", "tanh"]], ids=" ".join)
def test_depth(operators: list[str]) -> None:
    """Values are made of others on demand: of more in a row than Python's stack has frames."""
    length = 1100
    lines = "".join(
        f"  v{number + 1} = {operators[number % 2]}(v{number})\n" for number in range(length)
    )
    function = graph(f"func @deep(v0: float32[1, 2, 1, 2]):\n{lines}  return v{length}")
    names = {let.name: Scale(0.05) for let in function.body.lets} | {"v0": Scale(0.05)}
    found = apply_scales(function, names, QuantiseOptions(), EXACT_ON).function
    assert len(found.body.lets) >= length
    assert found.params == function.params
