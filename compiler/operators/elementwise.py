"""The table of element-wise operators."""

from __future__ import annotations

import operator
from types import MappingProxyType

from tandem.compiler import te
from tandem.compiler.ir.dtypes import Kind
from tandem.compiler.operators import activations, arithmetic, fake_quantised
from tandem.compiler.operators.broadcast import (
    COMPARED,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SIGNED,
    Elementwise,
)

ELEMENTWISE = MappingProxyType(
    {
        elementwise.name: elementwise
        for elementwise in (
            Elementwise("absolute", te.abs, NUMBERS),
            Elementwise("acos", te.acos, FLOATS),
            arithmetic.acosh,
            Elementwise("add", operator.add, NUMBERS),
            Elementwise("asin", te.asin, FLOATS),
            arithmetic.asinh,
            Elementwise("atan", te.atan, FLOATS),
            arithmetic.atanh,
            arithmetic.bit_cast,
            arithmetic.bit_shift,
            Elementwise("bitwise_and", operator.and_, INTEGERS),
            Elementwise("bitwise_not", operator.invert, INTEGERS),
            Elementwise("bitwise_or", operator.or_, INTEGERS),
            Elementwise("bitwise_xor", operator.xor, INTEGERS),
            arithmetic.cast,
            Elementwise("ceil", te.ceil, FLOATS),
            activations.celu,
            arithmetic.clip,
            Elementwise("cos", te.cos, FLOATS),
            Elementwise("cosh", te.cosh, FLOATS),
            arithmetic.divide,
            activations.elu,
            Elementwise("equal", te.equal, COMPARED),
            Elementwise("erf", te.erf, FLOATS),
            Elementwise("exp", te.exp, FLOATS),
            fake_quantised.fake_encode,
            fake_quantised.fake_quantise,
            Elementwise("floor", te.floor, FLOATS),
            activations.gelu,
            Elementwise("greater", operator.gt, NUMBERS),
            Elementwise("greater_or_equal", operator.ge, NUMBERS),
            activations.hard_sigmoid,
            activations.hard_swish,
            arithmetic.identity,
            arithmetic.is_inf,
            arithmetic.is_nan,
            activations.leaky_relu,
            Elementwise("less", operator.lt, NUMBERS),
            Elementwise("less_or_equal", operator.le, NUMBERS),
            Elementwise("log", te.log, FLOATS),
            Elementwise("logical_and", operator.and_, (Kind.BOOL,)),
            Elementwise("logical_not", operator.invert, (Kind.BOOL,)),
            Elementwise("logical_or", operator.or_, (Kind.BOOL,)),
            Elementwise("logical_xor", operator.xor, (Kind.BOOL,)),
            arithmetic.maximum,
            arithmetic.mean,
            arithmetic.minimum,
            activations.mish,
            arithmetic.modulo,
            Elementwise("multiply", operator.mul, NUMBERS),
            Elementwise("negative", operator.neg, SIGNED),
            arithmetic.power,
            activations.prelu,
            arithmetic.reciprocal,
            activations.relu,
            Elementwise("round_even", te.round, FLOATS),
            activations.selu,
            activations.shrink,
            activations.sigmoid,
            arithmetic.sign,
            Elementwise("sin", te.sin, FLOATS),
            Elementwise("sinh", te.sinh, FLOATS),
            activations.softplus,
            activations.softsign,
            Elementwise("sqrt", te.sqrt, FLOATS),
            arithmetic.stop_gradient,
            Elementwise("subtract", operator.sub, NUMBERS),
            activations.swish,
            Elementwise("tan", te.tan, FLOATS),
            Elementwise("tanh", te.tanh, FLOATS),
            activations.thresholded_relu,
            arithmetic.total,
            arithmetic.where,
        )
    }
)
"""Every element-wise operator by name.

An operator made from a function of `compiler.te` or Python has the semantics of that function:
`absolute` of the least integer is the least integer, `round_even` rounds halves to even.
"""
