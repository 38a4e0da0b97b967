"""What operators check alike, and how they say no."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from compiler.errors import TensorError
from compiler.ir.dtypes import BOOL, DType, Kind
from compiler.te import Tensor

__all__ = [
    "accumulator_type",
    "axes_of",
    "axis_of",
    "check_count",
    "check_inner_extents",
    "check_kind",
    "check_minimum",
    "check_rank",
    "refuse",
    "show",
]


def show(tensor: Tensor) -> str:
    """A tensor as messages name it: `X float32[1, 3, 8, 8]`."""
    return f"{tensor.name} {tensor.dtype}{list(tensor.shape)}"


def refuse(operator: str, name: str, reason: str) -> NoReturn:
    """Raise the error of an operator whose result would be called `name`."""
    raise TensorError(f"{operator} {name}: {reason}")


def check_rank(operator: str, name: str, tensor: Tensor, rank: int, meaning: str = "") -> None:
    """The tensor has `rank` dimensions, which mean `meaning` where that is said."""
    if len(tensor.shape) != rank:
        said = f"{rank} dimensions, {meaning}".removesuffix(", ")
        refuse(operator, name, f"{show(tensor)} has to have {said}")


def check_kind(operator: str, name: str, tensor: Tensor, *kinds: Kind) -> None:
    """The tensor's type is of one of these kinds."""
    if tensor.dtype.kind not in kinds:
        allowed = ", ".join(each.value for each in kinds)
        refuse(operator, name, f"{show(tensor)} is not of the kind {allowed}")


def check_count(operator: str, name: str, what: str, values: Sequence[int], count: int) -> None:
    """There are as many of these numbers as there have to be."""
    if len(values) != count:
        refuse(operator, name, f"{what} {list(values)} has to be {count} numbers")


def check_minimum(
    operator: str, name: str, what: str, values: Sequence[int], count: int, least: int
) -> None:
    """There are `count` of these numbers, none under `least`."""
    check_count(operator, name, what, values, count)
    if any(each < least for each in values):
        refuse(operator, name, f"{what} {list(values)} has a number under {least}")


def axis_of(operator: str, name: str, tensor: Tensor, axis: int, extra: int = 0) -> int:
    """An axis counted from 0; a negative one counts from the end. `extra` more are allowed."""
    rank = len(tensor.shape) + extra
    if not -rank <= axis < rank:
        refuse(operator, name, f"{show(tensor)} has no axis {axis}: {-rank}..{rank - 1}")
    return axis % rank


def axes_of(
    operator: str, name: str, tensor: Tensor, axes: Sequence[int] | None
) -> tuple[int, ...]:
    """Axes counted from 0, in ascending order, none twice; all of them for None."""
    if axes is None:
        return tuple(range(len(tensor.shape)))
    found = sorted(axis_of(operator, name, tensor, each) for each in axes)
    if len(set(found)) != len(found):
        refuse(operator, name, f"axes {list(axes)} of {show(tensor)} name one axis twice")
    return tuple(found)


def check_inner_extents(
    operator: str, name: str, tensors: tuple[Tensor, Tensor], extents: tuple[int, int]
) -> None:
    """Two tensors have the same extent, and not 0, along the axes that their product sums over."""
    both = " and ".join(map(show, tensors))
    if extents[0] != extents[1]:
        refuse(operator, name, f"{both} meet with {extents[0]} and {extents[1]} elements")
    if extents[0] == 0:
        refuse(operator, name, f"{both} meet with none: nothing to sum")


def accumulator_type(
    operator: str, name: str, left: Tensor, right: Tensor, out_dtype: DType | None
) -> DType:
    """The type in which products of two tensors are summed.

    Floats sum in their type. Integers may differ in type; they sum in int32, or in the wider of
    the two. `out_dtype` says otherwise, but never a type that an operand does not fit.
    """
    a, b = left.dtype, right.dtype
    both = f"{show(left)} and {show(right)}"
    if BOOL in (a, b):
        refuse(operator, name, f"products of bools are not defined: {both}")
    if a.is_float != b.is_float or (a.is_float and a != b):
        refuse(operator, name, f"{both} have types that do not multiply: cast one")
    if out_dtype is None:
        if a.is_float:
            return a
        wide = max((a, b), key=lambda each: (each.bits, each.kind is Kind.INT))
        return wide if wide.bits >= 32 else DType(Kind.INT, 32)
    if out_dtype.is_float != a.is_float or out_dtype.bits < max(a.bits, b.bits):
        refuse(operator, name, f"out_dtype {out_dtype} does not hold products of {both}")
    return out_dtype
