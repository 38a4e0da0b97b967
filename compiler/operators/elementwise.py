"""Every element-wise operator by the name that ONNX gives it."""

from __future__ import annotations

import operator
from types import MappingProxyType

from compiler import te
from compiler.ir.dtypes import Kind
from compiler.operators import activations, arithmetic, logic
from compiler.operators.broadcast import ANY, FLOATS, INTEGERS, NUMBERS, SIGNED, Elementwise

__all__ = ["ELEMENTWISE"]

ELEMENTWISE = MappingProxyType(
    {
        "Abs": Elementwise("absolute", te.abs, NUMBERS),
        "Acos": Elementwise("acos", te.acos, FLOATS),
        "Acosh": arithmetic.acosh,
        "Add": Elementwise("add", operator.add, NUMBERS),
        "And": Elementwise("logical_and", operator.and_, (Kind.BOOL,)),
        "Asin": Elementwise("asin", te.asin, FLOATS),
        "Asinh": arithmetic.asinh,
        "Atan": Elementwise("atan", te.atan, FLOATS),
        "Atanh": arithmetic.atanh,
        "BitShift": logic.bit_shift,
        "BitwiseAnd": Elementwise("bitwise_and", operator.and_, INTEGERS),
        "BitwiseNot": Elementwise("bitwise_not", operator.invert, INTEGERS),
        "BitwiseOr": Elementwise("bitwise_or", operator.or_, INTEGERS),
        "BitwiseXor": Elementwise("bitwise_xor", operator.xor, INTEGERS),
        "Cast": arithmetic.cast,
        "Ceil": Elementwise("ceil", te.ceil, FLOATS),
        "Celu": activations.celu,
        "Clip": arithmetic.clip,
        "Cos": Elementwise("cos", te.cos, FLOATS),
        "Cosh": Elementwise("cosh", te.cosh, FLOATS),
        "Div": arithmetic.divide,
        "Elu": activations.elu,
        "Equal": Elementwise("equal", te.equal, ANY),
        "Erf": Elementwise("erf", te.erf, FLOATS),
        "Exp": Elementwise("exp", te.exp, FLOATS),
        "Floor": Elementwise("floor", te.floor, FLOATS),
        "Gelu": activations.gelu,
        "Greater": Elementwise("greater", operator.gt, NUMBERS),
        "GreaterOrEqual": Elementwise("greater_or_equal", operator.ge, NUMBERS),
        "HardSigmoid": activations.hard_sigmoid,
        "HardSwish": activations.hard_swish,
        "Identity": arithmetic.identity,
        "IsInf": logic.is_inf,
        "IsNaN": logic.is_nan,
        "LeakyRelu": activations.leaky_relu,
        "Less": Elementwise("less", operator.lt, NUMBERS),
        "LessOrEqual": Elementwise("less_or_equal", operator.le, NUMBERS),
        "Log": Elementwise("log", te.log, FLOATS),
        "Max": arithmetic.maximum,
        "Mean": arithmetic.mean,
        "Min": arithmetic.minimum,
        "Mish": activations.mish,
        "Mod": arithmetic.modulo,
        "Mul": Elementwise("multiply", operator.mul, NUMBERS),
        "Neg": Elementwise("negative", operator.neg, SIGNED),
        "Not": Elementwise("logical_not", operator.invert, (Kind.BOOL,)),
        "Or": Elementwise("logical_or", operator.or_, (Kind.BOOL,)),
        "PRelu": activations.prelu,
        "Pow": arithmetic.power,
        "Reciprocal": arithmetic.reciprocal,
        "Relu": activations.relu,
        "Round": Elementwise("round_even", te.round, FLOATS),
        "Selu": activations.selu,
        "Shrink": activations.shrink,
        "Sigmoid": activations.sigmoid,
        "Sign": arithmetic.sign,
        "Sin": Elementwise("sin", te.sin, FLOATS),
        "Sinh": Elementwise("sinh", te.sinh, FLOATS),
        "Softplus": activations.softplus,
        "Softsign": activations.softsign,
        "Sqrt": Elementwise("sqrt", te.sqrt, FLOATS),
        "Sub": Elementwise("subtract", operator.sub, NUMBERS),
        "Sum": arithmetic.total,
        "Swish": activations.swish,
        "Tan": Elementwise("tan", te.tan, FLOATS),
        "Tanh": Elementwise("tanh", te.tanh, FLOATS),
        "ThresholdedRelu": activations.thresholded_relu,
        "Where": logic.where,
        "Xor": Elementwise("logical_xor", operator.xor, (Kind.BOOL,)),
    }
)
"""Attributes are keywords of the same names. `Cast` takes a type, `Clip` numbers.

An operator that is a function of `compiler.te` or of Python means what that function says: `Abs` of
the least integer is that integer, `Round` takes halves to even.
"""
