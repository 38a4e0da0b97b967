"""Math functions of floats: intrinsics, formulas for scalars and vectors, or the C library.

Formulas give the same bits in scalar and vector code. Their polynomials are minimax approximations
(Remez), computed for these ranges with 60 digits. Errors are below 2 units in
the last place, 4 of tanh and erf (the tests measure them).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from tandem.compiler.ir.dtypes import DType
from tandem.compiler.ir.operations import BinaryOp, UnaryOp
from tandem.compiler.machines.cpu.codegen.cpu_target import CpuTarget
from tandem.compiler.machines.cpu.codegen.float_builder import FloatBuilder
from tandem.compiler.machines.cpu.codegen.llvm import (
    I64,
    call_intrinsic,
    constant,
    lanes_of,
    suffix,
)

_INSTRUCTIONS = {
    UnaryOp.SQRT: "sqrt",
    UnaryOp.FLOOR: "floor",
    UnaryOp.CEIL: "ceil",
    UnaryOp.ROUND: "roundeven",
}
"""LLVM intrinsics of functions that processors compute exactly in one instruction."""

_LOG2_E = 1.4426950408889634
_LN2_PARTS = {
    32: (0.693145751953125, 1.4286068203094173e-06),
    64: (0.6931471803691238, 1.9082149292705877e-10),
}
"""Two numbers whose sum is ln(2); the product of the first and a small integer is exact."""


_EXP_LIMITS = {32: (-105.0, 90.0), 64: (-746.0, 711.0)}
"""exp(x) is 0 below the first limit, infinite above the second; by bits of the float."""
_EXP = {
    32: (0.5, 0.16666573, 0.041666362, 0.008363777, 0.0013942163),
    64: (
        0.5,
        0.1666666666666667,
        0.041666666666666685,
        0.008333333333325544,
        0.0013888888888873205,
        0.00019841269876866034,
        2.48015873501301e-05,
        2.7557252831785152e-06,
        2.7557250246494946e-07,
        2.5106275354294418e-08,
        2.0922480753781956e-09,
    ),
}
"""Polynomial in r for (exp(r) - 1 - r) / r**2, |r| up to ln(2) / 2."""


def _exp(of: FloatBuilder, x: Any) -> Any:
    """exp(x) as 2**n * exp(r), where x = n * ln(2) + r."""
    low, high = _EXP_LIMITS[of.dtype.bits]
    # Where the result is 0 it is not computed: results below the normal ones take long, and where
    # attention is masked, most are.
    kept = of.not_less(x, low)
    x = of.choose(kept, of.at_most(x, high), 0.0)
    whole, n = of.nearest_multiple(x, _LOG2_E)
    r = x
    for part in _LN2_PARTS[of.dtype.bits]:
        r = of.mul_add(whole, -part, r)
    power = of.polynomial(r, (1.0, 1.0, *_EXP[of.dtype.bits]))
    return of.choose(kept, of.scaled(power, whole, n), 0.0)


_LOG = {
    32: (0.66666687, 0.3998825, 0.29603),
    64: (
        0.6666666666666671,
        0.39999999999885405,
        0.2857142863224001,
        0.22222210130983533,
        0.18182961033359302,
        0.15329368640146102,
        0.14645107195097182,
    ),
}
"""Polynomial in s**2 for (2 * atanh(s) / s - 2) / s**2, |s| up to (sqrt(2) - 1) / (sqrt(2) + 1)."""
_ROOT_HALF = 0.7071067811865476


def _log(of: FloatBuilder, x: Any) -> Any:
    """The natural logarithm: x = 2**n * (1 + f), and log(1 + f) = 2 * atanh(f / (2 + f))."""
    builder = of.builder
    tiny = of.less(x, 2.0 ** (1 - of.bias))
    normal = of.choose(tiny, of.mul(x, 2.0**of.mantissa), x)
    bits = of.bits(normal)
    n = builder.ashr(builder.sub(bits, of.bits(_ROOT_HALF)), of.integer(of.mantissa))
    f = of.sub(of.from_bits(builder.sub(bits, builder.shl(n, of.integer(of.mantissa)))), 1.0)
    whole = of.whole(n)
    whole = of.choose(tiny, of.sub(whole, float(of.mantissa)), whole)

    s = of.div(f, of.add(f, 2.0))
    square = of.mul(s, s)
    rest = of.mul(square, of.polynomial(square, _LOG[of.dtype.bits]))
    # 2 * s is f - half + s * half: f is exact, and the other terms are small.
    half = of.mul(of.mul(f, 0.5), f)
    high, low = _LN2_PARTS[of.dtype.bits]
    correction = of.mul_add(s, of.add(half, rest), of.mul(whole, low))
    result = of.mul_add(whole, high, of.sub(f, of.sub(half, correction)))

    special = of.choose(
        of.equals(x, 0.0), float("-inf"), of.choose(of.less(x, 0.0), float("nan"), x)
    )
    ordinary = builder.and_(of.less(0.0, x), of.less(x, float("inf")))
    return of.choose(ordinary, result, special)


_TANH_SMALL = 0.625
_TANH = {
    32: (-0.33333328, 0.13332754, -0.053847913, 0.02098075, -0.006070484),
    64: (
        -0.3333333333333333,
        0.1333333333333332,
        -0.053968253968233015,
        0.02186948853498347,
        -0.008863235495817683,
        0.003592127445481263,
        -0.0014558277894602598,
        0.0005899778875591552,
        -0.00023887265426980156,
        9.599386079853955e-05,
        -3.699710708899605e-05,
        1.2124434153306335e-05,
        -2.4008527217531297e-06,
    ),
}
"""Polynomial in x**2 for (tanh(x) / x - 1) / x**2, |x| up to 0.625."""


def _tanh(of: FloatBuilder, x: Any) -> Any:
    """The hyperbolic tangent: x + x**3 * p(x**2) for small |x|, else 1 - 2 / (exp(2 x) + 1)."""
    size = of.magnitude(x)
    square = of.mul(x, x)
    small = of.mul_add(of.mul(x, square), of.polynomial(square, _TANH[of.dtype.bits]), x)
    power = _exp(of, of.add(size, size))
    large = of.sub(1.0, of.div(2.0, of.add(power, 1.0)))
    return of.with_sign(of.choose(of.less(size, _TANH_SMALL), small, large), x)


_ERF_SMALL = 0.9375
_ERF = {
    32: (
        1.1283792,
        -0.37612632,
        0.11283676,
        -0.026858296,
        0.0051982566,
        -0.0008110972,
        8.235712e-05,
    ),
    64: (
        1.1283791670955126,
        -0.37612638903183754,
        0.1128379167095505,
        -0.026866170645112503,
        0.005223977625201878,
        -0.0008548327005111634,
        0.00012055332082689291,
        -1.4925620781767877e-05,
        1.6461446946483882e-06,
        -1.6355465217305745e-07,
        1.4697439307831817e-08,
        -1.153084857936215e-09,
        6.246913902802382e-11,
    ),
}
"""Polynomial in x**2 for erf(x) / x, |x| up to 0.9375."""
_ERFC_MIDDLE = 2.0
_ERFC_END = {32: 4.0, 64: 6.0}
"""erf(x) rounds to 1 from here on; by bits of the float."""
_ERFC = {
    32: (
        1.2769784,
        -0.092763826,
        -0.16603051,
        0.16404931,
        -0.054225415,
        -0.00797725,
        0.009171392,
        0.002518689,
    ),
    64: (
        1.2769783815525286,
        -0.09276382658574635,
        -0.16603039761528998,
        0.16405128003359232,
        -0.05422000099076841,
        -0.008034015093229907,
        0.008722653726339385,
        0.0012713389002211742,
        -0.0014568090606213542,
        -0.000454325113532215,
        0.00020632335282882763,
        0.0001507618429047939,
        -1.6114278535438988e-06,
        -3.492789644676064e-05,
        -1.140526872591784e-05,
        1.5238655655682107e-06,
    ),
}
"""Polynomial in (x - 2) / (x + 2) for exp(x**2) * erfc(x) * (1 + 2 x), 0.9375 to `_ERFC_END`."""


def _erf(of: FloatBuilder, x: Any) -> Any:
    """The error function: x * p(x**2) for small |x|, else 1 - erfc(|x|) with the sign of x."""
    bits = of.dtype.bits
    small = of.mul(x, of.polynomial(of.mul(x, x), _ERF[bits]))
    size = of.at_most(of.magnitude(x), _ERFC_END[bits])
    ratio = of.div(of.sub(size, _ERFC_MIDDLE), of.add(size, _ERFC_MIDDLE))
    scaled = of.div(of.polynomial(ratio, _ERFC[bits]), of.mul_add(size, 2.0, 1.0))
    rest = of.mul(_exp(of, of.mul(size, of.sub(-0.0, size))), scaled)
    large = of.with_sign(of.sub(1.0, rest), x)
    return of.choose(of.less(size, _ERF_SMALL), small, large)


_FORMULAS: dict[UnaryOp, Callable[[FloatBuilder, Any], Any]] = {
    UnaryOp.EXP: _exp,
    UnaryOp.LOG: _log,
    UnaryOp.TANH: _tanh,
    UnaryOp.ERF: _erf,
}
"""Functions that are computed by formulas."""


_ROUNDINGS: dict[UnaryOp, Callable[[FloatBuilder, Any], Any]] = {
    UnaryOp.FLOOR: FloatBuilder.floor,
    UnaryOp.CEIL: FloatBuilder.ceiling,
    UnaryOp.ROUND: FloatBuilder.round,
}
"""Formulas of functions in `_INSTRUCTIONS`, for processors that lack the instruction."""


def call_function(builder: Any, op: UnaryOp, dtype: DType, value: Any, target: CpuTarget) -> Any:
    """`op` of a float, or of each lane of a vector, on a processor.

    A function with neither intrinsic nor formula calls the C library's of the same name.
    """
    scales = "avx512f" in target.features
    of = FloatBuilder(builder, dtype, value, target.has_fma(dtype.bits), scales)
    if op in _ROUNDINGS and not target.has_rounding:
        return _ROUNDINGS[op](of, value)
    if op in _INSTRUCTIONS:
        name = f"llvm.{_INSTRUCTIONS[op]}.{suffix(value.type)}"
        return call_intrinsic(builder, name, value.type, [value])
    if op in _FORMULAS:
        return _FORMULAS[op](of, value)
    return _library(builder, op.value, dtype, value)


def is_of_library(op: UnaryOp | BinaryOp) -> bool:
    """Whether an operation of floats calls a function of the C library."""
    if isinstance(op, BinaryOp):
        return op is BinaryOp.POW
    simple = op in (UnaryOp.NEG, UnaryOp.NOT, UnaryOp.ABS)
    return not simple and op not in _INSTRUCTIONS and op not in _FORMULAS


def power(builder: Any, dtype: DType, a: Any, b: Any) -> Any:
    """`pow(a, b)` of floats, or of each lane of vectors, from the C library."""
    return _library(builder, "pow", dtype, a, b)


def _library(builder: Any, name: str, dtype: DType, *values: Any) -> Any:
    """A call of a C library function; one call for each lane of vectors."""
    name = name if dtype.bits == 64 else f"{name}f"
    lanes = lanes_of(values[0])
    if lanes is None:
        return call_intrinsic(builder, name, values[0].type, values)
    result = ir.Constant(values[0].type, ir.Undefined)
    for lane in range(lanes):
        number = constant(I64, lane)
        arguments = [builder.extract_element(value, number) for value in values]
        found = call_intrinsic(builder, name, arguments[0].type, arguments)
        result = builder.insert_element(result, found, number)
    return result
