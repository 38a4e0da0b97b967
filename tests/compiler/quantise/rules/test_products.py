"""Products as integers: their sums by hand, and the reason of each that stays in real numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tandem.compiler.graph import Call, Constant
from tandem.compiler.graph.operators.parts import Pad
from tandem.compiler.graph.operators.products import Conv2d
from tandem.compiler.ir import INT32
from tandem.compiler.quantise.forms import Scale
from tandem.compiler.quantise.network import apply_scales
from tandem.compiler.quantise.options import QuantiseOptions
from tandem.compiler.quantise.quantised import Quantised
from tests.support.compiler.quantise.networks import network
from tests.support.compiler.quantise.quantised_reference import reference

Array = NDArray[Any]
CONV = "x: float32[1, 2, 3, 3], w: float32[2, 2, 1, 1]"
ROWS = "x: float32[2, 3], w: float32[2, 3]"
LARGE = (
    "its bias exceeds 32 bits in units of its sums: a larger scale of its data or weights would "
    "help"
)
EYE = np.eye(2, 3, dtype=np.float32)


def built(
    line: str, params: str, scales: dict[str, Scale] | None = None, **given: Any
) -> Quantised:
    """The network of a line, whose data has the scale 0.5 unless something else is said."""
    function = network(f"func @f({params}):\n  y = {line}\n  return y\n", **given)
    return apply_scales(
        function, {"x": Scale(0.5)} if scales is None else scales, QuantiseOptions()
    )


def reasons(found: Quantised) -> list[str]:
    return [each.text for let in found.function.body.lets for each in let.reasons]


@pytest.mark.parametrize(
    ("line", "params", "given", "message"),
    [
        (
            "gemm(x, w, alpha=2.0, trans_b=True)",
            ROWS,
            {},
            "it has alpha 2, beta 1 and transA 0: 1, 1 and 0 would help",
        ),
        (
            "gemm(x, w, beta=0.5, trans_b=True)",
            ROWS,
            {},
            "it has alpha 1, beta 0.5 and transA 0: 1, 1 and 0 would help",
        ),
        (
            "gemm(x, w, trans_a=True)",
            ROWS,
            {},
            "it has alpha 1, beta 1 and transA 1: 1, 1 and 0 would help",
        ),
        (
            "matmul(x, w)",
            "x: float32[2, 2, 3], w: float32[3, 2]",
            {},
            "its operands have 3 and 2 axes, not 2",
        ),
        (
            "matmul(x, w)",
            "x: float32[2, 3], w: float32[3]",
            {},
            "its operands have 2 and 1 axes, not 2",
        ),
        (
            "dense(x, xw)",
            "x: float32[2, 3], xw: float32[2, 3]",
            {},
            "its weight is computed when the network runs: a constant would help",
        ),
        (
            "dense(x, w, xb)",
            f"{ROWS}, xb: float32[2]",
            {},
            "its bias is computed when the network runs: a constant would help",
        ),
        (
            "dense(x, w, b)",
            f"{ROWS}, b: float32[2]",
            {"b": np.array([0, np.inf])},
            "its bias is not finite, and no integer stands for that",
        ),
        (
            "dense(x, w)",
            ROWS,
            {"w": np.full((2, 3), np.nan)},
            "its weight is not finite, and no integer stands for that",
        ),
        (
            "gemm(x, w, b)",
            "x: float32[2, 3], w: float32[3, 2], b: float32[2, 1]",
            {},
            "its bias is not one number for each of 2 channels: an Add would help",
        ),
        (
            "dense(x, w)",
            "x: float32[1, 140000], w: float32[1, 140000]",
            {"w": np.ones((1, 140000))},
            "a channel's sums reach 2,275,840,000, beyond 32 bits: two layers of a part of the "
            "inputs each, and an Add, would help",
        ),
        (
            "matmul(x, xw)",
            "x: float32[1, 131072], xw: float32[131072, 1]",
            {},
            "131,072 products may exceed 32 bits: two layers of a part of the inputs each, and an "
            "Add, would help",
        ),
    ],
)
def test_products_that_stay_real(
    line: str, params: str, given: dict[str, Any], message: str
) -> None:
    assert reasons(built(line, params, **given)) == [message]


def test_products_whose_data_has_no_scale() -> None:
    message = "its result is read in real numbers only"
    assert reasons(built("dense(x, w)", ROWS, {})) == [
        "no sample of the calibration reached its data: --calibrate with inputs that do would help"
    ]
    both = "x: float32[2, 3], xw: float32[3, 2]"
    assert reasons(built("matmul(x, xw)", both)) == [
        "no sample of the calibration reached its operand: --calibrate with inputs that do would "
        "help"
    ]
    ints = "x: int32[2, 3], w: int32[2, 3]"
    assert message not in reasons(built("dense(x, w)", ints, {}))


def test_products_of_vectors_with_zero_points() -> None:
    both = "x: float32[3], xw: float32[3, 2]"
    scales = {"x": Scale(0.5, 3), "xw": Scale(0.5)}
    assert reasons(built("matmul(x, xw)", both, scales)) == [
        "an operand with a zero point is a vector: 0 would help"
    ]
    assert reasons(built("matmul(x, xw)", both, {"x": Scale(0.5), "xw": Scale(0.5)})) == []


def sums(found: Quantised, x: Array) -> Array:
    return reference(found.function, [x.astype(np.float32)])["y"]


X = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.5]])


@pytest.mark.parametrize("zero", [0, 5])
@pytest.mark.parametrize(
    ("line", "shape"),
    [
        ("dense(x, w)", (2, 3)),
        ("gemm(x, w, trans_b=True)", (2, 3)),
        ("gemm(x, w)", (3, 2)),
        ("matmul(x, w)", (3, 2)),
    ],
)
def test_sums_are_exact(line: str, shape: tuple[int, ...], zero: int) -> None:
    # Weights of 127 and halves of it: integers, in scales of a row each.
    rows = np.array([[127.0, 0, -64], [2, 254, -4]])
    weight = rows if shape == (2, 3) else rows.T
    found = built(
        line, f"x: float32[2, 3], w: float32{list(shape)}", {"x": Scale(0.5, zero)}, w=weight
    )
    np.testing.assert_allclose(sums(found, X), X @ rows.T, rtol=1e-6)


def test_biases() -> None:
    params = f"{ROWS}, b: float32[{{}}]"
    rows, scale = np.array([[127.0, 0, 0], [0, 127, 0]]), {"x": Scale(0.5)}
    for bias, shape in (([10.0, -20.0], "2"), ([5.0], "1")):
        line = "dense(x, w, b)" if len(bias) == 2 else "gemm(x, w, b, trans_b=True)"
        found = built(line, params.format(shape), scale, w=rows, b=np.array(bias))
        np.testing.assert_allclose(sums(found, X), X @ rows.T + bias, rtol=1e-6)


def test_convolutions_of_data_with_a_zero_point_are_padded_with_it() -> None:
    line = "conv2d(x, w, padding=[1, 2, 3, 4])"

    def calls(zero: int) -> list[Call]:
        found = built(line, CONV, {"x": Scale(0.5, zero), "y": Scale(0.5)})
        values = [let.value for let in found.function.body.lets]
        return [
            value
            for value in values
            if isinstance(value, Call) and value.callee.name in ("pad", "conv2d")
        ]

    (plain,) = calls(0)
    assert plain.attributes == Conv2d(padding=(1, 2, 3, 4), out_dtype=INT32)
    pad, conv = calls(7)
    assert pad.attributes == Pad((0, 0, 1, 2, 0, 0, 3, 4), value=7)
    assert conv.attributes == Conv2d(out_dtype=INT32)
    unpadded = built("conv2d(x, w)", CONV, {"x": Scale(0.5, 7), "y": Scale(0.5)})
    assert all(
        let.value.callee.name != "pad"
        for let in unpadded.function.body.lets
        if isinstance(let.value, Call)
    )


def test_products_of_two_values() -> None:
    x = np.array([[1.0, -2.0], [3.0, 0.5]])
    both = "x: float32[2, 2], xw: float32[2, 2]"
    for first, second in ((0, 0), (3, 0), (0, -4), (5, 6)):
        scales = {"x": Scale(0.5, first), "xw": Scale(0.25, second)}
        found = built("matmul(x, xw)", both, scales)
        values = reference(found.function, [x.astype(np.float32), x.T.astype(np.float32)])
        np.testing.assert_allclose(values["y"], x @ x.T, rtol=1e-6)


def test_stacks_of_constant_matrices() -> None:
    stack = np.array([[[127.0], [0], [5]], [[1], [2], [3]]])
    params = "x: float32[2, 3], w: float32[2, 3, 1]"
    found = built("matmul(x, w)", params, w=stack)
    np.testing.assert_allclose(sums(found, X), X @ stack, rtol=1e-6)
    names = [
        arg.array.dtype
        for let in found.function.body.lets
        if isinstance(let.value, Call)
        for arg in let.value.args
        if isinstance(arg, Constant) and arg.array.ndim == 3
    ]
    assert names == [np.int8]


@pytest.mark.parametrize(
    ("zero", "bias", "fits"),
    [(-128, 4e6, False), (-128, 1e6, True), (-128, -4e6, True), (127, 4e6, True), (0, 4e6, True)],
)
def test_biases_beyond_32_bits(zero: int, bias: float, fits: bool) -> None:
    """Weights of 127 whose sums alone nearly reach 32 bits: 132,000 times 127 times the zero
    point, 2,145,792,000 of 2,147,483,647, beside a bias in units of these sums."""
    given = {"w": np.ones((1, 132000)), "b": np.array([bias * 0.5 / 127])}
    params = "x: float32[1, 132000], w: float32[1, 132000], b: float32[1]"
    found = built("dense(x, w, b)", params, {"x": Scale(0.5, zero)}, **given)
    assert [each for each in reasons(found) if "its bias" in each] == ([] if fits else [LARGE])
