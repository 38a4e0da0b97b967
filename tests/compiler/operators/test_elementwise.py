"""Every element-wise operator equals ONNX's reference, whatever the shapes and types."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from tandem.compiler.errors import TensorError
from tandem.compiler.frontends.onnx.operators.elementwise import ELEMENTWISE as CONVERTED
from tandem.compiler.ir.dtypes import BOOL, FLOAT32, INT8, INT32, dtype_of
from tandem.compiler.operators.activations import GeluForm, gelu, prelu, shrink
from tandem.compiler.operators.arithmetic import (
    Direction,
    cast,
    clip,
    divide,
    maximum,
    modulo,
    power,
    where,
)
from tandem.compiler.operators.elementwise import ELEMENTWISE
from tandem.compiler.te import placeholder
from tests.support.compiler.operators.broadcasts import broadcasting_shapes
from tests.support.compiler.operators.operators import (
    Array,
    evaluate,
    given_as,
    numbers,
    onnx,
    same,
)

absolute, add = ELEMENTWISE["absolute"], ELEMENTWISE["add"]

BY_ONNX_NAME = {
    **{name: ELEMENTWISE[operator] for name, (operator, _) in CONVERTED.items()},
    **{name: ELEMENTWISE[name.lower()] for name in ("Cast", "Clip", "Identity")},
}

FLOAT = ("float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
NUMBER = (*FLOAT, *SIGNED, *UNSIGNED)
BOOLS = ("bool",)

# Operator, types, number of tensors, attributes.
CASES: list[tuple[str, Sequence[str], int, dict[str, Any]]] = [
    *((name, FLOAT, 1, {}) for name in ("Ceil", "Floor", "Round", "Exp", "Erf", "Reciprocal")),
    *((name, FLOAT, 1, {}) for name in ("Sin", "Cos", "Tan", "Sinh", "Cosh", "Tanh", "Atan")),
    *((name, FLOAT, 1, {}) for name in ("Asinh", "Sigmoid", "Softplus", "Softsign", "Mish")),
    *((name, FLOAT, 1, {}) for name in ("HardSwish", "IsNaN", "IsInf", "Elu", "Celu", "Selu")),
    *((name, FLOAT, 1, {}) for name in ("LeakyRelu", "HardSigmoid", "ThresholdedRelu", "Gelu")),
    *((name, FLOAT, 1, {}) for name in ("Swish", "Shrink")),
    ("Gelu", FLOAT, 1, {"approximate": GeluForm.TANH}),
    ("Elu", FLOAT, 1, {"alpha": 0.3}),
    ("Celu", ("float32",), 1, {"alpha": 0.5}),
    ("Selu", FLOAT, 1, {"alpha": 1.5, "gamma": 2.0}),
    ("LeakyRelu", FLOAT, 1, {"alpha": 0.3}),
    ("HardSigmoid", FLOAT, 1, {"alpha": 0.6, "beta": 0.1}),
    ("ThresholdedRelu", FLOAT, 1, {"alpha": 0.2}),
    ("Swish", FLOAT, 1, {"alpha": 2.0}),
    ("Shrink", FLOAT, 1, {"lambd": 0.25, "bias": 0.5}),
    ("IsInf", FLOAT, 1, {"detect_negative": 0}),
    ("IsInf", FLOAT, 1, {"detect_positive": 0}),
    *((name, NUMBER, 1, {}) for name in ("Abs", "Sign", "Relu", "Identity")),
    ("Identity", BOOLS, 1, {}),
    ("Neg", (*FLOAT, *SIGNED), 1, {}),
    ("Not", BOOLS, 1, {}),
    ("BitwiseNot", (*SIGNED, *UNSIGNED), 1, {}),
    *((name, NUMBER, 2, {}) for name in ("Add", "Sub", "Mul", "Less", "LessOrEqual", "Greater")),
    ("GreaterOrEqual", NUMBER, 2, {}),
    ("Equal", (*NUMBER, "bool"), 2, {}),
    *((name, BOOLS, 2, {}) for name in ("And", "Or", "Xor")),
    *((f"Bitwise{name}", (*SIGNED, *UNSIGNED), 2, {}) for name in ("And", "Or", "Xor")),
    *((name, NUMBER, count, {}) for name in ("Max", "Min") for count in (1, 2, 3)),
    *((name, FLOAT, count, {}) for name in ("Sum", "Mean") for count in (1, 2, 4)),
]
# Attributes are float32 in ONNX, and so is what its reference makes of these in float64.
ROUNDED = {"Elu", "Erf", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu"}
# These have tests of their own below: their domains, types or operands are special.
SPECIAL = {
    *("Acos", "Acosh", "Asin", "Atanh", "Log", "Sqrt", "BitShift", "Cast", "Clip", "Div", "Mod"),
    *("PRelu", "Pow", "Where"),
}


def test_every_operator_has_a_case() -> None:
    assert {name for name, *_ in CASES} | SPECIAL == set(BY_ONNX_NAME)
    named = {each.name for each in BY_ONNX_NAME.values()}
    # ONNX has it for types that have no numbers too: its converter is one of its own. It has no
    # gradients to stop, and does not train.
    own = {"bit_cast", "fake_encode", "fake_quantise", "stop_gradient"}
    assert named | own == set(ELEMENTWISE)


def run(operator: str, *arrays: Array, **attributes: Any) -> Array:
    tensors = {f"x{number}": array for number, array in enumerate(arrays)}
    operands = [given_as(name, array) for name, array in tensors.items()]
    return evaluate(BY_ONNX_NAME[operator](*operands, **attributes), tensors)


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("operator", "dtype", "count", "attributes"),
    [
        pytest.param(name, dtype, count, given, id=f"{name}-{count}-{dtype}-{given}")
        for name, dtypes, count, given in CASES
        for dtype in dtypes
    ],
)
def test_against_onnx(operator: str, dtype: str, count: int, attributes: dict[str, Any]) -> None:
    arrays = [numbers(seed, (3, 5), dtype) for seed in range(count)]
    if count == 2:
        # Equal elements too, for comparisons.
        arrays[1][0] = arrays[0][0]
    words = {
        key: value.value if isinstance(value, Enum) else value for key, value in attributes.items()
    }
    expected = onnx(operator, *arrays, **words)
    narrow = dtype == "float32" or operator in ROUNDED
    same(run(operator, *arrays, **attributes), expected, 1e-6 if narrow else 1e-12)


def test_float64_is_exact_where_the_reference_is_not() -> None:
    x = np.concatenate([numbers(0, (40,), "float64") * 3, [-0.0, 1e-9, -1e-9, 30.0, -30.0]])
    erf = np.array([math.erf(each) for each in x])
    normal = np.array([math.erf(each / math.sqrt(2)) for each in x])
    for name, expected, attributes in (
        ("Erf", erf, {}),
        ("Gelu", 0.5 * x * (1 + normal), {}),
        ("Elu", np.where(x < 0, 0.3 * (np.exp(x) - 1), x), {"alpha": 0.3}),
        ("LeakyRelu", np.where(x < 0, 0.01 * x, x), {}),
        ("HardSigmoid", np.clip(0.2 * x + 0.5, 0, 1), {}),
        ("HardSwish", x * np.clip(x / 6 + 0.5, 0, 1), {}),
    ):
        actual = run(name, x, **attributes)
        np.testing.assert_allclose(actual, expected, rtol=1e-13, atol=1e-15, err_msg=name)


@pytest.mark.parametrize("operator", ["Add", "Mul", "Max", "LessOrEqual", "Sum"])
@given(shapes=broadcasting_shapes(2))
@settings(max_examples=25)
def test_broadcasting(operator: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    arrays = [numbers(seed, shape) for seed, shape in enumerate(shapes)]
    same(run(operator, *arrays), onnx(operator, *arrays))


@given(shapes=broadcasting_shapes(3))
@settings(max_examples=50)
def test_where_broadcasts_three(shapes: tuple[tuple[int, ...], ...]) -> None:
    condition = numbers(0, shapes[0], "bool")
    a, b = numbers(1, shapes[1], "int16"), numbers(2, shapes[2], "int16")
    same(run("Where", condition, a, b), np.where(condition, a, b))


@pytest.mark.parametrize("dtype", FLOAT)
def test_infinities_and_nan(dtype: str) -> None:
    x = np.array([-np.inf, -800.0, -0.0, 0.0, 800.0, np.inf, np.nan], dtype)
    with np.errstate(all="ignore"):
        for operator in ("Abs", "Sign", "Relu", "Floor", "Tanh", "IsNaN", "IsInf", "Exp", "Atan"):
            same(run(operator, x), onnx(operator, x))
        same(run("Sigmoid", x), np.array([0, 0, 0.5, 0.5, 1, 1, np.nan], dtype))
    log2 = np.log(2)
    same(run("Softplus", x), np.array([0, 0, log2, log2, 800, np.inf, np.nan], dtype))
    same(run("Max", x, np.zeros_like(x)), np.array([0, 0, 0, 0, 800, np.inf, np.nan], dtype))
    same(run("Min", np.zeros_like(x), x), np.array([-np.inf, -800, 0, 0, 0, 0, np.nan], dtype))
    same(run("Asinh", x[[0, 2, 5, 6]]), x[[0, 2, 5, 6]])
    same(run("Acosh", x[[4, 5, 6]]), np.arccosh(x[[4, 5, 6]]))


@pytest.mark.parametrize("dtype", FLOAT)
@pytest.mark.parametrize(
    ("operator", "reference", "low", "high"),
    [
        ("Acos", np.arccos, -1.0, 1.0),
        ("Asin", np.arcsin, -1.0, 1.0),
        ("Atanh", np.arctanh, -0.999, 0.999),
        ("Acosh", np.arccosh, 1.0, 1e12),
        ("Asinh", np.arcsinh, -1e12, 1e12),
        ("Log", np.log, 1e-9, 1e12),
        ("Sqrt", np.sqrt, 0.0, 1e12),
    ],
)
def test_domains(operator: str, reference: Any, low: float, high: float, dtype: str) -> None:
    """Over the whole domain, with both ends, and close to 0 and 1 where precision is lost."""
    spread = np.concatenate(
        [
            np.linspace(low, high, 40),
            np.linspace(max(low, -1.0), min(high, 2.0), 40),
            *(sign * np.logspace(-8, -1, 20) for sign in (1, -1)),
            *(1.0 + sign * np.logspace(-6, -1, 20) for sign in (1, -1)),
        ]
    )
    x = np.clip(spread, low, high).astype(dtype)
    exact = reference(np.clip(x, low, high).astype(np.longdouble)).astype(dtype)
    actual = run(operator, np.clip(x, low, high).astype(dtype))
    tolerance = 8 * float(np.finfo(dtype).eps)
    assert actual.dtype == exact.dtype
    np.testing.assert_allclose(actual, exact, rtol=tolerance)


@pytest.mark.parametrize("dtype", [*SIGNED, *UNSIGNED])
def test_integer_division(dtype: str) -> None:
    """Towards zero, and by any divisor."""
    limits = np.iinfo(dtype)
    values = [limits.min, limits.min + 1, -8, -7, -3, -1, 1, 2, 7, 8, limits.max]
    ends = np.array([each for each in values if each and each >= limits.min], dtype)
    a, b = ends[:, None], ends[None, :]
    wide = [[int(x) for x in ends], [int(y) for y in ends]]
    quotient = [[_toward_zero(x, y) for y in wide[1]] for x in wide[0]]
    wrapped = np.array([[q % (1 << limits.bits) for q in row] for row in quotient], np.uint64)
    same(run("Div", a, b), wrapped.astype(f"uint{limits.bits}").view(dtype))
    rest = [
        [x - q * y for y, q in zip(wide[1], r, strict=True)]
        for x, r in zip(wide[0], quotient, strict=True)
    ]
    same(run("Mod", a, b, fmod=1), np.array(rest).astype(dtype))
    floored = [[x % y for y in wide[1]] for x in wide[0]]
    same(run("Mod", a, b), np.array(floored).astype(dtype))


def _toward_zero(x: int, y: int) -> int:
    size = abs(x) // abs(y)
    return size if (x < 0) == (y < 0) else -size


def test_division_by_zero() -> None:
    a, zero = np.array([-3, 0, 5], "int8"), np.zeros(3, "int8")
    same(run("Div", a, zero), zero)
    same(run("Mod", a, zero), zero)
    assert np.isnan(run("Mod", a.astype("float32"), zero.astype("float32"), fmod=1)).all()


def test_fmod_of_floats_is_exact() -> None:
    generator = np.random.default_rng(0)
    sign = generator.choice([-1.0, 1.0], (2, 500))
    a, b = (sign * np.exp2(generator.uniform([[-20.0], [-7.0]], 20.0, (2, 500)))).astype("float32")
    a[::10] = 3 * b[::10]
    a[5::10] = 0.0 * sign[0, 5::10]
    actual = run("Mod", a, b, fmod=1)
    np.testing.assert_array_equal(actual, np.fmod(a, b))
    np.testing.assert_array_equal(np.signbit(actual), np.signbit(a))


def test_mod_of_floats_has_the_sign_of_the_divisor() -> None:
    a, b = numbers(0, (999,)), numbers(1, (999,))
    same(run("Mod", a, b), np.mod(a, b))
    zeros = np.array([0.0, -0.0, 3.0, -3.0], "float32")
    found = run("Mod", zeros, np.array([-3.0, 3.0, -3.0, 3.0], "float32"))
    assert np.signbit(found).tolist() == [True, False, True, False]


def test_bits_as_another_type() -> None:
    x = numbers(0, (2, 9))
    bits = evaluate(ELEMENTWISE["bit_cast"](given_as("x", x), to=dtype_of("int32")), {"x": x})
    same(bits, x.view("int32"))


def test_fmod_by_infinity() -> None:
    a, b = np.array([1.5, -2.5, np.inf], "float32"), np.full(3, np.inf, "float32")
    same(run("Mod", a, b, fmod=1), np.array([1.5, -2.5, np.nan], "float32"))


@pytest.mark.parametrize(
    ("base", "exponent"),
    [("float32", "float32"), ("float64", "int32"), ("int32", "int32"), ("int64", "float32")],
)
def test_power(base: str, exponent: str) -> None:
    a = np.arange(0, 12).astype(base).reshape(3, 4)
    b = np.array([0, 1, 2, 5]).astype(exponent)
    same(run("Pow", a, b), np.power(a.astype("float64"), b.astype("float64")).astype(base))


@pytest.mark.parametrize("direction", list(Direction))
@pytest.mark.parametrize("dtype", UNSIGNED)
def test_bit_shift(dtype: str, direction: Direction) -> None:
    bits = np.iinfo(dtype).bits
    a = numbers(0, (4, 1), dtype)
    b = np.array([0, 1, 3, bits - 1, bits, bits + 9], dtype)
    expected = [
        [
            (int(x) << int(y)) % (1 << bits) if direction is Direction.LEFT else int(x) >> int(y)
            for y in b
        ]
        for x in a[:, 0]
    ]
    same(run("BitShift", a, b, direction=direction), np.array(expected, dtype))


@pytest.mark.parametrize("image", [(), (4,), (2, 5), (0, 2)])
def test_prelu(image: tuple[int, ...]) -> None:
    x = numbers(0, (2, 3, *image))
    for slope in (numbers(1, ()), numbers(1, (3, *(1 for _ in image))), numbers(1, x.shape)):
        same(run("PRelu", x, slope), onnx("PRelu", x, slope))


@pytest.mark.parametrize("bounds", [(None, None), (-1, None), (None, 1), (-1, 1), (3, 2)])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_clip(dtype: str, bounds: tuple[int | None, int | None]) -> None:
    x = numbers(0, (17,), dtype)
    low, high = (None if each is None else np.array(each, dtype) for each in bounds)
    same(run("Clip", x, min=bounds[0], max=bounds[1]), onnx("Clip", x, low, high))


@pytest.mark.parametrize("source", [*NUMBER, "bool"])
@pytest.mark.parametrize("target", [*NUMBER, "bool"])
def test_cast(source: str, target: str) -> None:
    x = numbers(0, (20,), source)
    if np.dtype(source).kind == "f" and np.dtype(target).kind == "u":
        x = np.abs(x)
    same(
        run("Cast", x * 3 if source != "bool" else x, to=dtype_of(target)),
        (x * 3 if source != "bool" else x).astype(target),
    )


def test_cast_of_floats_saturates() -> None:
    x = np.array([-np.inf, -300.7, -1.9, 1.9, 300.7, np.inf, np.nan], "float32")
    same(run("Cast", x, to=INT8), np.array([-128, -128, -1, 1, 127, 127, 0], "int8"))


class TestRefusals:
    x = placeholder((2, 3), FLOAT32, "X")
    n = placeholder((2, 3), INT32, "N")

    def test_shapes(self) -> None:
        other = placeholder((4,), FLOAT32, "Y")
        with pytest.raises(
            TensorError,
            match=r"add sum: X float32\[2, 3\], Y float32\[4\] do not "
            r"broadcast: axis -1 has \[3, 4\]",
        ):
            add(self.x, other, name="sum")

    def test_zero_does_not_broadcast(self) -> None:
        with pytest.raises(TensorError, match=r"do not broadcast: axis -2 has \[0, 2\]"):
            add(self.x, placeholder((0, 1), FLOAT32, "Y"))

    def test_types(self) -> None:
        with pytest.raises(TensorError, match="float32 is expected here, not int32"):
            add(self.x, self.n)
        with pytest.raises(
            TensorError, match=r"gelu gelu: N int32\[2, 3\] is not of the kind float"
        ):
            gelu(self.n)

    def test_operands_and_attributes(self) -> None:
        with pytest.raises(TensorError, match=r"absolute absolute: 2 tensors and \[\]: too many"):
            absolute(self.x, self.x)
        with pytest.raises(TensorError, match="there is no tensor"):
            maximum()
        with pytest.raises(TensorError, match="unexpected keyword argument 'slope'"):
            absolute(self.x, slope=1)
        with pytest.raises(TensorError, match="missing a required argument: 'to'"):
            cast(self.x)

    def test_attribute_values(self) -> None:
        with pytest.raises(TensorError, match="1000 is no int8"):
            clip(placeholder((1,), INT8, "A"), max=1000)
        with pytest.raises(TensorError, match=r"0.5 is no int32"):
            shrink(self.n)

    def test_prelu_does_not_grow(self) -> None:
        slope = placeholder((4, 2, 3), FLOAT32, "S")
        with pytest.raises(TensorError, match=r"S float32\[4, 2, 3\] does not broadcast to X"):
            prelu(self.x, slope)

    def test_condition(self) -> None:
        with pytest.raises(TensorError, match="the condition is int32, not bool"):
            where(self.n, self.x, self.x)

    def test_mod_of_floats(self) -> None:
        wide = placeholder((1,), dtype_of("float64"), "W")
        with pytest.raises(TensorError, match="of floats only float32"):
            modulo(wide, wide, fmod=1)
        with pytest.raises(TensorError, match="fmod is 0 or 1, not 2"):
            modulo(self.n, self.n, fmod=2)

    def test_arithmetic_of_bools(self) -> None:
        flags = placeholder((2,), BOOL, "F")
        for operator in (divide, power, add):
            with pytest.raises(TensorError, match=r"F bool\[2\] is not of the kind"):
                operator(flags, flags)
