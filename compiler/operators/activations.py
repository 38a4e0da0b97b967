"""Activation functions, element by element. Formulas and defaults are ONNX's."""

from __future__ import annotations

from enum import Enum
from math import pi, sqrt

from tandem.compiler import te
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.arithmetic import log1p
from tandem.compiler.operators.broadcast import FLOATS, NUMBERS, SIGNED, elementwise


class GeluForm(Enum):
    """The forms of GELU: exact, or approximated by tanh."""

    NONE = "none"
    TANH = "tanh"


@elementwise(*NUMBERS)
def relu(x: Expr) -> Expr:
    """max(x, 0)."""
    return te.maximum(x, 0)


@elementwise(*FLOATS)
def leaky_relu(x: Expr, *, alpha: float = 0.01) -> Expr:
    """x for x >= 0, else alpha * x."""
    return te.select(x < 0.0, x * alpha, x)


@elementwise(*SIGNED, keeps_shape=True)
def prelu(x: Expr, slope: Expr) -> Expr:
    """x for x >= 0, else slope * x."""
    return te.select(x < 0, x * slope, x)


@elementwise(*FLOATS)
def thresholded_relu(x: Expr, *, alpha: float = 1.0) -> Expr:
    """x for x > alpha, else 0."""
    return te.select(x > alpha, x, 0.0)


@elementwise(*FLOATS)
def elu(x: Expr, *, alpha: float = 1.0) -> Expr:
    """x for x >= 0, else alpha * (e**x - 1)."""
    return te.select(x < 0.0, alpha * (te.exp(x) - 1.0), x)


@elementwise(*FLOATS)
def selu(
    x: Expr, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875
) -> Expr:
    """gamma * x for x > 0, else gamma * alpha * (e**x - 1)."""
    return te.select(x <= 0.0, gamma * (alpha * te.exp(x) - alpha), gamma * x)


@elementwise(*FLOATS)
def celu(x: Expr, *, alpha: float = 1.0) -> Expr:
    """max(0, x) + min(0, alpha * (e**(x / alpha) - 1))."""
    return te.maximum(x, 0.0) + te.minimum(alpha * (te.exp(x / alpha) - 1.0), 0.0)


@elementwise(*FLOATS)
def gelu(x: Expr, *, approximate: GeluForm = GeluForm.NONE) -> Expr:
    """x times the cumulative standard normal distribution at x."""
    if approximate is GeluForm.NONE:
        return 0.5 * x * (1.0 + te.erf(x * sqrt(0.5)))
    return 0.5 * x * (1.0 + te.tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x)))


@elementwise(*FLOATS)
def sigmoid(x: Expr) -> Expr:
    """1 / (1 + e**-x)."""
    return 1.0 / (1.0 + te.exp(-x))


@elementwise(*FLOATS)
def hard_sigmoid(x: Expr, *, alpha: float = 0.2, beta: float = 0.5) -> Expr:
    """alpha * x + beta, clipped to 0..1."""
    return te.maximum(te.minimum(alpha * x + beta, 1.0), 0.0)


@elementwise(*FLOATS)
def hard_swish(x: Expr) -> Expr:
    """x * hard_sigmoid(x), with alpha = 1/6."""
    return x * hard_sigmoid.scalar(x, alpha=1 / 6)


@elementwise(*FLOATS)
def swish(x: Expr, *, alpha: float = 1.0) -> Expr:
    """x * sigmoid(alpha * x)."""
    return x * sigmoid.scalar(alpha * x)


@elementwise(*FLOATS)
def softplus(x: Expr) -> Expr:
    """log(1 + e**x), without overflow."""
    return te.maximum(x, 0.0) + log1p.scalar(te.exp(-te.abs(x)))


@elementwise(*FLOATS)
def softsign(x: Expr) -> Expr:
    """x / (1 + |x|)."""
    return x / (1.0 + te.abs(x))


@elementwise(*FLOATS)
def mish(x: Expr) -> Expr:
    """x * tanh(softplus(x))."""
    return x * te.tanh(softplus.scalar(x))


@elementwise(*SIGNED)
def shrink(x: Expr, *, lambd: float = 0.5, bias: float = 0.0) -> Expr:
    """x + bias for x < -lambd, x - bias for x > lambd, else 0."""
    return te.select(x < -lambd, x + bias, te.select(x > lambd, x - bias, 0))
