"""Formulas of floats, in the bits of NumPy's, of 32 and 64 bits."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from llvmlite import ir
from numpy.typing import NDArray

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import FLOAT32, FLOAT64, DType
from tandem.compiler.machines.cpu.codegen.float_builder import FloatBuilder
from tandem.compiler.machines.cpu.codegen.frame import Frame
from tandem.compiler.machines.cpu.codegen.llvm import constant, register_type, vector_type
from tests.support.compiler.machines.cpu.emitted import SSE, frame_of, opcodes, run_emitted
from tests.support.compiler.machines.cpu.native import same

DTYPES = pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
COUNT = 24
X = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, -1.25, 3.75, 1e30, -1e30, 8388609.0]
X += [4503599627370497.0, np.nan, np.inf, -np.inf, 0.49999997, -7.3, 1e-40, 127.0, -3.0, 99.5]
Y = [1.0, 0.0, 1.0, -2.0, 2.5, -1.0, 1e10, 0.1, 3.0, np.nan, -5.0, 2.0, 2.0, 0.3]
Y += [1.0, 1.0, 1.0, np.inf, 4.0, -7.3, 1e-3, -0.0, 1 / 3, 7.0]


def opened(dtype: DType, lanes: int | None, **options: bool) -> tuple[Frame, FloatBuilder, Any]:
    """A frame, its builder, and the types of a value."""
    frame = frame_of(SSE, *(Buffer(name, (COUNT,), dtype) for name in "ABC"))
    kind = vector_type(register_type(dtype), lanes)
    like = ir.Constant(kind, ir.Undefined)
    settings = {"contract": False, "scales": False} | options
    return frame, FloatBuilder(frame.builder, dtype, like, **settings), kind


def computed(
    formula: Callable[[FloatBuilder, Any, Any], Any],
    dtype: DType,
    result: Any = None,
    lanes: int | None = COUNT,
    **options: bool,
) -> NDArray[Any]:
    """What a formula makes of X and Y; `result` is NumPy's type of it, if it is none of floats."""
    frame, builder, kind = opened(dtype, lanes, **options)
    pointers = [frame.places[name].pointer for name in "ABC"]
    operands = [frame.builder.load(each, typ=kind, align=1) for each in pointers[:2]]
    value = formula(builder, *operands)
    if result is bool:
        byte = ir.IntType(8)
        value = frame.builder.zext(value, vector_type(byte, lanes))
    frame.builder.store(value, pointers[2], align=1)
    found = np.zeros(lanes or 1, result or dtype.numpy)
    run_emitted(frame, np.array(X, dtype.numpy), np.array(Y, dtype.numpy), found)
    return found


def arrays(dtype: DType) -> tuple[NDArray[Any], NDArray[Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array(X, dtype.numpy), np.array(Y, dtype.numpy)


FORMULAS: dict[str, tuple[Any, Any]] = {
    "add": (lambda f, x, y: f.add(x, y), lambda x, y: x + y),
    "add a number": (lambda f, x, y: f.add(0.1, y), lambda x, y: y.dtype.type(0.1) + y),
    "sub": (lambda f, x, y: f.sub(x, y), lambda x, y: x - y),
    "mul": (lambda f, x, y: f.mul(x, y), lambda x, y: x * y),
    "div": (lambda f, x, y: f.div(x, y), lambda x, y: x / y),
    "mul_add": (lambda f, x, y: f.mul_add(x, y, 0.1), lambda x, y: x * y + x.dtype.type(0.1)),
    "polynomial": (
        lambda f, x, y: f.polynomial(x, [2.0, 0.5, -3.0, 0.25]),
        lambda x, y: ((x.dtype.type(0.25) * x - 3) * x + x.dtype.type(0.5)) * x + 2,
    ),
    "choose": (lambda f, x, y: f.choose(f.less(x, y), x, 2), lambda x, y: np.where(x < y, x, 2)),
    "at_most": (lambda f, x, y: f.at_most(x, 1.5), lambda x, y: np.minimum(x, 1.5)),
    "magnitude": (lambda f, x, y: f.magnitude(x), lambda x, y: np.abs(x)),
    "with_sign": (lambda f, x, y: f.with_sign(x, y), np.copysign),
    "round": (lambda f, x, y: f.round(x), lambda x, y: np.rint(x)),
    "floor": (lambda f, x, y: f.floor(x), lambda x, y: np.floor(x)),
    "ceiling": (lambda f, x, y: f.ceiling(x), lambda x, y: np.ceil(x)),
}


@DTYPES
@pytest.mark.parametrize("name", FORMULAS)
def test_formulas(name: str, dtype: DType) -> None:
    emit, wanted = FORMULAS[name]
    x, y = arrays(dtype)
    with np.errstate(all="ignore"):
        expected = wanted(x, y).astype(dtype.numpy)
    same(computed(emit, dtype), expected)


@DTYPES
def test_one_lane(dtype: DType) -> None:
    found = computed(lambda f, x, y: f.sub(f.floor(x), f.mul(y, 3)), dtype, lanes=None)
    assert found.tolist() == [-3.0]


@DTYPES
def test_comparisons(dtype: DType) -> None:
    """Those of what is no number are false, but for `not_less`."""
    x, y = arrays(dtype)
    for emit, wanted in (
        (lambda f, a, b: f.less(a, b), x < y),
        (lambda f, a, b: f.not_less(a, b), ~(x < y)),
        (lambda f, a, b: f.equals(a, b), x == y),
        (lambda f, a, b: f.less(a, 0.5), x < 0.5),
    ):
        assert computed(emit, dtype, bool).tolist() == wanted.tolist()


@DTYPES
def test_bits(dtype: DType) -> None:
    integers = f"i{dtype.bits // 8}"
    x, _ = arrays(dtype)
    found = computed(lambda f, x, y: f.bits(x), dtype, integers)
    assert found.tolist() == x.view(integers).tolist()
    same(computed(lambda f, x, y: f.from_bits(f.bits(x)), dtype), x)
    (one,) = computed(lambda f, x, y: f.bits(1.0), dtype, integers)[:1].tolist()
    builder = opened(dtype, None)[1]
    # 1.0 is its exponent's bias, above the bits of its fraction.
    assert one == builder.bias << builder.mantissa
    assert builder.mantissa == np.finfo(dtype.numpy).nmant
    assert builder.bias == np.finfo(dtype.numpy).maxexp - 1


@DTYPES
def test_a_fused_sum_is_rounded_once(dtype: DType) -> None:
    frame, builder, kind = opened(dtype, 2, contract=True)
    x = ir.Constant(kind, [1.5, 2.0])
    assert builder.mul_add(x, 2.0, 0.1).callee.name == f"llvm.fma.v2f{dtype.bits}"
    assert opcodes(frame) == [f"llvm.fma.v2f{dtype.bits}"]
    tiny = float(np.finfo(dtype.numpy).eps)

    def square(f: FloatBuilder, *_: Any) -> Any:

        return f.mul_add(f.number(1 + tiny), 1 + tiny, -1 - 2 * tiny)

    assert computed(square, dtype, contract=True)[0] == tiny * tiny
    assert computed(square, dtype)[0] == 0


def integers(f: FloatBuilder, values: Sequence[int]) -> Any:
    """A constant with an integer in each lane."""
    return constant(f.integer(0).type, values)


@DTYPES
def test_powers_of_two(dtype: DType) -> None:
    bias = opened(dtype, None)[1].bias
    exponents = [1 - bias, -3, 0, 5, bias]
    found = computed(lambda f, *_: f.power_of_two(integers(f, exponents)), dtype, lanes=5)
    assert found.tolist() == [2.0**each for each in exponents]
    assert computed(lambda f, *_: f.power_of_two(f.integer(4)), dtype, lanes=None).tolist() == [16]


@DTYPES
@pytest.mark.parametrize("scales", [False, True])
def test_scaled(dtype: DType, scales: bool) -> None:
    """Also where 2**exponent is out of range, and rounded once where the result is denormal."""
    bias = opened(dtype, None)[1].bias
    exponents = [-2 * bias, -bias - 5, -bias - 6, -7, 0, 9, bias, bias + 1, 2 * bias]

    def emit(f: FloatBuilder, *_: Any) -> Any:
        whole = constant(f.like.type, [float(each) for each in exponents])
        return f.scaled(f.number(1.1), whole, integers(f, exponents))

    with np.errstate(all="ignore"):
        wanted = np.ldexp(dtype.numpy.type(1.1), exponents)
    assert computed(emit, dtype, lanes=9, scales=scales).tolist() == wanted.tolist()


def test_scaled_by_an_instruction() -> None:
    """Of a whole register of AVX-512; LLVM's operation else."""
    for dtype, lanes, name in (
        (FLOAT32, 16, "llvm.x86.avx512.mask.scalef.ps.512"),
        (FLOAT64, 8, "llvm.x86.avx512.mask.scalef.pd.512"),
        (FLOAT32, 8, "llvm.ldexp.v8f32.v8i32"),
        (FLOAT64, 16, "llvm.ldexp.v16f64.v16i64"),
        (FLOAT32, None, "llvm.ldexp.f32.i32"),
    ):
        frame, builder, kind = opened(dtype, lanes, scales=True)
        x, whole = ir.Constant(kind, ir.Undefined), builder.number(3)
        call = builder.scaled(x, whole, builder.integer(3))
        assert opcodes(frame) == [call.callee.name] == [name]
        assert call.type == kind
        if "scalef" in name:
            # Every lane, rounded as the processor rounds.
            assert [call.args[0], call.args[1], call.args[2]] == [x, whole, x]
            assert [str(each) for each in call.args[3:]] == [f"i{lanes} -1", "i32 4"]
    frame, builder, _ = opened(FLOAT32, 16)
    builder.scaled(builder.number(1), builder.number(3), builder.integer(3))
    assert not any(each.startswith("llvm.") for each in opcodes(frame))


@DTYPES
def test_whole_numbers(dtype: DType) -> None:
    numbers = [0, 1, -1, 7, -(1 << 31), (1 << 31) - 1]
    found = computed(lambda f, *_: f.whole(integers(f, numbers)), dtype, lanes=6)
    assert found.tolist() == np.array(numbers, dtype.numpy).tolist()
    frame, builder, _ = opened(dtype, 2)
    builder.whole(frame.builder.add(builder.integer(1), builder.integer(2)))
    # Of 64 bits the low 32 are converted.
    assert opcodes(frame) == ["add", *(["trunc"] if dtype.bits == 64 else []), "sitofp"]


@DTYPES
@pytest.mark.parametrize("factor", [2.0, 1.0, 0.7])
def test_the_nearest_multiple(factor: float, dtype: DType) -> None:
    numbers = [-100.2, -1.75, -0.25, 0.0, 0.25, 0.75, 1.0, 1234.4]
    wanted = np.rint(np.array(numbers, dtype.numpy) * dtype.numpy.type(factor)).tolist()
    for part, kind in ((0, None), (1, f"i{dtype.bits // 8}")):

        def emit(f: FloatBuilder, *_: Any, part: int = part) -> Any:
            x = constant(f.like.type, [float(dtype.numpy.type(each)) for each in numbers])
            return f.nearest_multiple(x, factor)[part]

        assert computed(emit, dtype, kind, lanes=8).tolist() == wanted


def test_numbers() -> None:
    _, builder, kind = opened(FLOAT32, 2)
    value = ir.Constant(kind, [1.0, 2.0])
    assert builder.number(value) is value
    # As float32 has it: LLVM refuses others.
    assert builder.number(0.1).constant[0].constant == float(np.float32(0.1))
    assert str(builder.integer(-1)) == "<2 x i32> <i32 -1, i32 -1>"
