"""Broadcasting, and element-wise operators: functions of elements, applied to tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from compiler.errors import IRError, TensorError
from compiler.ir.dtypes import Kind
from compiler.ir.expr import Expr
from compiler.operators.checks import check_kind, refuse, show
from compiler.te import Tensor, compute

E = TypeVar("E")

FLOATS = (Kind.FLOAT,)
INTEGERS = (Kind.INT, Kind.UINT)
SIGNED = (Kind.INT, Kind.FLOAT)
NUMBERS = (Kind.INT, Kind.UINT, Kind.FLOAT)
ANY = (Kind.INT, Kind.UINT, Kind.FLOAT, Kind.BOOL)


def broadcast_extents(
    shapes: Sequence[Sequence[E]], refusal: Callable[[int, Sequence[E]], NoReturn]
) -> tuple[E | int, ...]:
    """The shape to which shapes broadcast, by NumPy's rule: from the last axis on, equal or 1.

    Where there is none, `refusal` gets the axis, counted from the end, and the extents.
    """
    result: list[E | int] = []
    for axis in range(-max(map(len, shapes)), 0):
        extents = [shape[axis] for shape in shapes if len(shape) >= -axis]
        others = list(dict.fromkeys(each for each in extents if each != 1))
        if len(others) > 1:
            refusal(axis, others)
        result.append(others[0] if others else 1)
    return tuple(result)


def broadcast_shape(operator: str, name: str, tensors: Sequence[Tensor]) -> tuple[int, ...]:
    """The shape to which tensors broadcast."""
    shown = ", ".join(map(show, tensors))
    return broadcast_extents(
        [each.shape for each in tensors],
        lambda axis, found: refuse(
            operator, name, f"{shown} do not broadcast: axis {axis} has {sorted(found)}"
        ),
    )


def at(tensor: Tensor, indices: Sequence[Expr]) -> Expr:
    """The element of a tensor at these indices of the broadcast shape."""
    return tensor[broadcast_indices(tensor.shape, indices)]


def broadcast_indices(shape: Sequence[int], indices: Sequence[Expr]) -> tuple[Expr | int, ...]:
    """Indices into a tensor of this shape, from indices into the broadcast shape."""
    own = indices[len(indices) - len(shape) :]
    return tuple(0 if n == 1 else i for n, i in zip(shape, own, strict=True))


@dataclass(frozen=True)
class Elementwise:
    """An element-wise operator on tensors that broadcast.

    Attributes
    ----------
    name
        The operator's name, and the default name of the result.
    scalar
        The function of elements: of expressions, then of attributes by keyword. Attributes have
        the names and the defaults of ONNX.
    kinds
        Kinds of types of the operands, which all have one type unless `scalar` allows more.
    keeps_shape
        Whether the result has the shape of the first tensor, to which the others broadcast.
    """

    name: str
    scalar: Callable[..., Expr]
    kinds: tuple[Kind, ...]
    keeps_shape: bool = False

    def __call__(self, *tensors: Tensor, name: str | None = None, **attributes: Any) -> Tensor:
        """The operator on tensors; the result is called `name`.

        Raises
        ------
        TensorError
            Shapes that do not broadcast, types, a wrong number of tensors, unknown attributes.
        """
        called = name if name is not None else self.name
        if not tensors:
            refuse(self.name, called, "there is no tensor to work on")
        for tensor in tensors:
            check_kind(self.name, called, tensor, *self.kinds)
        try:
            inspect.signature(self.scalar).bind(*tensors, **attributes)
        except TypeError as error:
            refuse(self.name, called, f"{len(tensors)} tensors and {sorted(attributes)}: {error}")
        shape = broadcast_shape(self.name, called, tensors)
        if self.keeps_shape and shape != tensors[0].shape:
            others = ", ".join(map(show, tensors[1:]))
            refuse(self.name, called, f"{others} does not broadcast to {show(tensors[0])}")

        def element(*indices: Expr) -> Expr:
            return self.scalar(*(at(each, indices) for each in tensors), **attributes)

        try:
            return compute(shape, element, called)
        except IRError as error:
            operands = ", ".join(map(show, tensors))
            raise TensorError(f"{self.name} {called} of {operands}: {error}") from None


def elementwise(
    *kinds: Kind, keeps_shape: bool = False
) -> Callable[[Callable[..., Expr]], Elementwise]:
    """Decorate a function of elements as an operator on tensors."""

    def decorate(scalar: Callable[..., Expr]) -> Elementwise:
        return Elementwise(scalar.__name__.strip("_"), scalar, kinds, keeps_shape)

    return decorate
