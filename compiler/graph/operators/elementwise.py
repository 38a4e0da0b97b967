"""Operators on elements, of tensors that broadcast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any

from compiler.graph.attributes import Attributes
from compiler.graph.operators.symbolic import broadcast, dtype_of_elements
from compiler.graph.opspec import AnyOp, Ask, Operands, OpSpec, Pattern, keywords
from compiler.graph.types import TensorType
from compiler.ir.dtypes import DType
from compiler.operators.broadcast import Elementwise
from compiler.operators.elementwise import ELEMENTWISE
from compiler.te import Tensor

__all__ = [
    "SPECS",
    "Alpha",
    "BitShift",
    "Cast",
    "Clip",
    "Direction",
    "Gelu",
    "GeluForm",
    "HardSigmoid",
    "IsInf",
    "LeakyRelu",
    "Modulo",
    "Selu",
    "Shrink",
]


@dataclass(frozen=True, slots=True)
class Alpha(Attributes):
    """A factor; of `thresholded_relu`, a limit."""

    alpha: float = 1.0


@dataclass(frozen=True, slots=True)
class LeakyRelu(Attributes):
    """alpha * x under 0."""

    alpha: float = 0.01


@dataclass(frozen=True, slots=True)
class Selu(Attributes):
    """As Elu, times gamma."""

    alpha: float = 1.67326319217681884765625
    gamma: float = 1.05070102214813232421875


class GeluForm(Enum):
    """The exact one, or by tanh."""

    NONE = "none"
    TANH = "tanh"


@dataclass(frozen=True, slots=True)
class Gelu(Attributes):
    """By which formula."""

    approximate: GeluForm = GeluForm.NONE


@dataclass(frozen=True, slots=True)
class HardSigmoid(Attributes):
    """alpha * x + beta."""

    alpha: float = 0.2
    beta: float = 0.5


@dataclass(frozen=True, slots=True)
class Shrink(Attributes):
    """What is within lambd becomes 0, the rest moves by bias."""

    lambd: float = 0.5
    bias: float = 0.0


@dataclass(frozen=True, slots=True)
class Modulo(Attributes):
    """fmod 1: with the sign of the dividend."""

    fmod: int = 0


@dataclass(frozen=True, slots=True)
class Clip(Attributes):
    """Limits; none where there is none. Of integers only whole ones, of their type."""

    min: float | int | None = None
    max: float | int | None = None


@dataclass(frozen=True, slots=True)
class Cast(Attributes):
    """The type of the result."""

    to: DType


class Direction(Enum):
    """Of a shift."""

    LEFT = "LEFT"
    RIGHT = "RIGHT"


@dataclass(frozen=True, slots=True)
class BitShift(Attributes):
    """Which way."""

    direction: Direction


@dataclass(frozen=True, slots=True)
class IsInf(Attributes):
    """Which signs are looked for."""

    detect_negative: int = 1
    detect_positive: int = 1


_ATTRIBUTES: Mapping[str, type[Attributes]] = MappingProxyType(
    {
        "BitShift": BitShift,
        "Cast": Cast,
        "Celu": Alpha,
        "Clip": Clip,
        "Elu": Alpha,
        "Gelu": Gelu,
        "HardSigmoid": HardSigmoid,
        "IsInf": IsInf,
        "LeakyRelu": LeakyRelu,
        "Mod": Modulo,
        "Selu": Selu,
        "Shrink": Shrink,
        "Swish": Alpha,
        "ThresholdedRelu": Alpha,
    }
)
"""By ONNX's name; the others have none."""

_TWO = (
    *("Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal"),
    *("Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Mod", "Mul", "Or", "Pow", "Sub", "Xor"),
)
_OPERANDS: Mapping[str, Operands] = MappingProxyType(
    {
        **{name: Operands(("a", "b")) for name in _TWO},
        **{name: Operands(("x",), variadic=True) for name in ("Max", "Mean", "Min", "Sum")},
        "PRelu": Operands(("x", "slope")),
        "Where": Operands(("condition", "a", "b")),
    }
)
"""By ONNX's name; the others take one."""


def _spec(onnx: str, operator: Elementwise) -> AnyOp:
    operands = _OPERANDS.get(onnx, Operands(("x",)))
    single = operands == Operands(("x",))

    def compute(name: str, tensors: Sequence[Tensor], attributes: Attributes) -> tuple[Tensor, ...]:
        plain = {key: _plain(value) for key, value in keywords(attributes).items()}
        return (operator(*tensors, name=name, **plain),)

    def symbolic(ask: Ask, attributes: Attributes) -> tuple[TensorType, ...]:
        shape = broadcast(ask, [each.shape for each in ask.types])
        if operator.keeps_shape and shape != ask.types[0].shape:
            ask.fail(f"{ask.show_all()} do not broadcast to {ask.show(0)}")
        return (TensorType(shape, dtype_of_elements(ask).dtype),)

    return OpSpec(
        operator.name,
        Pattern.ELEMENTWISE if single else Pattern.BROADCAST,
        operands,
        _ATTRIBUTES.get(onnx, Attributes),
        compute,
        symbolic,
    )


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


SPECS: tuple[AnyOp, ...] = tuple(_spec(onnx, each) for onnx, each in ELEMENTWISE.items())
"""All of `compiler.operators.elementwise`, by the names of their functions."""
