"""Element-wise operators: a function of elements, made one of tensors by broadcasting."""

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

__all__ = [
    "ANY",
    "FLOATS",
    "INTEGERS",
    "NUMBERS",
    "SIGNED",
    "Elementwise",
    "at",
    "broadcast_extents",
    "broadcast_indices",
    "broadcast_shape",
    "elementwise",
]

E = TypeVar("E")

FLOATS = (Kind.FLOAT,)
INTEGERS = (Kind.INT, Kind.UINT)
SIGNED = (Kind.INT, Kind.FLOAT)
NUMBERS = (Kind.INT, Kind.UINT, Kind.FLOAT)
ANY = (Kind.INT, Kind.UINT, Kind.FLOAT, Kind.BOOL)


def broadcast_extents(
    shapes: Sequence[Sequence[E]], refusal: Callable[[int, Sequence[E]], NoReturn]
) -> tuple[E | int, ...]:
    """The shape that these have together, by NumPy's rule: from the last axis on, equal or 1.

    Where they have none, `refusal` is told the axis, counted from the end, and its extents.
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
    """The shape that tensors have together."""
    shown = ", ".join(map(show, tensors))
    return broadcast_extents(
        [each.shape for each in tensors],
        lambda axis, found: refuse(
            operator, name, f"{shown} do not broadcast: axis {axis} has {sorted(found)}"
        ),
    )


def at(tensor: Tensor, indices: Sequence[Expr]) -> Expr:
    """The element that broadcasting `tensor` puts at `indices`."""
    return tensor[broadcast_indices(tensor.shape, indices)]


def broadcast_indices(shape: Sequence[int], indices: Sequence[Expr]) -> tuple[Expr | int, ...]:
    """Those of the element that broadcasting a shape puts at `indices`."""
    own = indices[len(indices) - len(shape) :]
    return tuple(0 if n == 1 else i for n, i in zip(shape, own, strict=True))


@dataclass(frozen=True)
class Elementwise:
    """An operator on tensors of any shapes that broadcast.

    Attributes
    ----------
    name
        In messages, and of the result where no other is given.
    scalar
        What it does with elements: of expressions, then of attributes by keyword. Attributes have
        the names and the defaults of ONNX.
    kinds
        Types it takes. Of several tensors all have one type, where `scalar` does not say otherwise.
    keeps_shape
        The result has the first tensor's shape: the others broadcast to it, not it to them.
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
        for each in tensors:
            check_kind(self.name, called, each, *self.kinds)
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
    """Make a function of elements an operator on tensors."""

    def decorate(scalar: Callable[..., Expr]) -> Elementwise:
        return Elementwise(scalar.__name__.strip("_"), scalar, kinds, keeps_shape)

    return decorate
