"""Broadcasting, and element-wise operators: scalar functions applied to tensors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from tandem.compiler.errors import IRError, TensorError
from tandem.compiler.ir.dtypes import Kind
from tandem.compiler.ir.expr import Expr
from tandem.compiler.operators.checks import check_kind, refuse, show
from tandem.compiler.te import Tensor, compute

E = TypeVar("E")

FLOATS = (Kind.FLOAT,)
INTEGERS = (Kind.INT, Kind.UINT)
SIGNED = (Kind.INT, Kind.FLOAT)
NUMBERS = (Kind.INT, Kind.UINT, Kind.FLOAT)
COMPARED = (*NUMBERS, Kind.BOOL)
ANY = tuple(Kind)


def broadcast_extents(
    shapes: Sequence[Sequence[E]], refusal: Callable[[int, Sequence[E]], NoReturn]
) -> tuple[E | int, ...]:
    """The shape that `shapes` broadcast to by NumPy's rule: aligned extents are equal or 1.

    If there is no such shape, `refusal` is called with the axis, negative, and its extents.
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
    """The shape that tensors broadcast to; raises a `TensorError` if there is none."""
    shown = ", ".join(map(show, tensors))
    return broadcast_extents(
        [each.shape for each in tensors],
        lambda axis, found: refuse(
            operator, name, f"{shown} do not broadcast: axis {axis} has {sorted(found)}"
        ),
    )


def at(tensor: Tensor, indices: Sequence[Expr]) -> Expr:
    """The element of a tensor at `indices` into the broadcast shape."""
    return tensor[broadcast_indices(tensor.shape, indices)]


def broadcast_indices(shape: Sequence[int], indices: Sequence[Expr]) -> tuple[Expr | int, ...]:
    """Indices into a tensor of shape `shape`, from `indices` into the broadcast shape."""
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
        The function of one element of each operand, as expressions, and of attributes by keyword,
        with ONNX's names and defaults.
    kinds
        The kinds of element types allowed; operands have equal types unless `scalar` allows others.
    keeps_shape
        Whether all operands must broadcast to the shape of the first.
    """

    name: str
    scalar: Callable[..., Expr]
    kinds: tuple[Kind, ...]
    keeps_shape: bool = False

    def __call__(self, *tensors: Tensor, name: str | None = None, **attributes: Any) -> Tensor:
        """Applies the operator to tensors; the result is named `name`.

        Raises
        ------
        TensorError
            Shapes, types, the number of tensors or the attributes do not fit.
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
    """A decorator that makes a scalar function an operator on tensors."""

    def decorate(scalar: Callable[..., Expr]) -> Elementwise:
        return Elementwise(scalar.__name__.strip("_"), scalar, kinds, keeps_shape)

    return decorate
