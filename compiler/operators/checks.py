"""Checks of operators' operands and attributes, which raise `TensorError`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from tandem.compiler.errors import TensorError
from tandem.compiler.ir.dtypes import BOOL, DType, Kind
from tandem.compiler.te import Tensor


def show(tensor: Tensor) -> str:
    """A tensor's name and type for error messages: `X float32[1, 3, 8, 8]`."""
    return f"{tensor.name} {tensor.dtype}{list(tensor.shape)}"


def refuse(operator: str, name: str, reason: str) -> NoReturn:
    """Raise a `TensorError` about an operator whose result is named `name`."""
    raise TensorError(f"{operator} {name}: {reason}")


def check_rank(operator: str, name: str, tensor: Tensor, rank: int, meaning: str = "") -> None:
    """Check that the tensor has `rank` dimensions; `meaning` names the dimensions in errors."""
    if len(tensor.shape) != rank:
        wanted = f"{rank} dimensions, {meaning}".removesuffix(", ")
        refuse(operator, name, f"{show(tensor)} has to have {wanted}")


def check_kind(operator: str, name: str, tensor: Tensor, *kinds: Kind) -> None:
    """Check that the kind of the tensor's element type is in `kinds`."""
    if tensor.dtype.kind not in kinds:
        allowed = ", ".join(each.value for each in kinds)
        refuse(operator, name, f"{show(tensor)} is not of the kind {allowed}")


def check_count(operator: str, name: str, what: str, values: Sequence[int], count: int) -> None:
    """Check that `values` has `count` numbers."""
    if len(values) != count:
        refuse(operator, name, f"{what} {list(values)} has to be {count} numbers")


def check_minimum(
    operator: str, name: str, what: str, values: Sequence[int], count: int, least: int
) -> None:
    """Check that `values` has `count` numbers, none below `least`."""
    check_count(operator, name, what, values, count)
    if any(each < least for each in values):
        refuse(operator, name, f"{what} {list(values)} has a number below {least}")


def axis_of(operator: str, name: str, tensor: Tensor, axis: int, extra: int = 0) -> int:
    """The axis counted from 0; a negative axis counts from the end of rank + `extra` axes."""
    rank = len(tensor.shape) + extra
    if not -rank <= axis < rank:
        refuse(operator, name, f"{show(tensor)} has no axis {axis}: {-rank}..{rank - 1}")
    return axis % rank


def axes_of(
    operator: str, name: str, tensor: Tensor, axes: Sequence[int] | None
) -> tuple[int, ...]:
    """Axes counted from 0, in ascending order, without duplicates; all axes for None."""
    if axes is None:
        return tuple(range(len(tensor.shape)))
    found = sorted(axis_of(operator, name, tensor, each) for each in axes)
    if len(set(found)) != len(found):
        refuse(operator, name, f"axes {list(axes)} of {show(tensor)} name one axis twice")
    return tuple(found)


def check_inner_extents(
    operator: str, name: str, tensors: tuple[Tensor, Tensor], extents: tuple[int, int]
) -> None:
    """Check that the inner extents of a matrix product are equal and not 0."""
    both = " and ".join(map(show, tensors))
    if extents[0] != extents[1]:
        refuse(operator, name, f"{both} meet with {extents[0]} and {extents[1]} elements")
    if extents[0] == 0:
        refuse(operator, name, f"{both} meet with none: nothing to sum")


def accumulator_type(
    operator: str, name: str, left: Tensor, right: Tensor, out_dtype: DType | None
) -> DType:
    """The type in which products of two tensors are summed.

    Floats are summed in their own type. Integers may differ in type; they are summed in int32, or
    in the wider type. `out_dtype` overrides this type, but must be as wide as the operands.
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
        wide = max((a, b), key=lambda dtype: (dtype.bits, dtype.kind is Kind.INT))
        return wide if wide.bits >= 32 else DType(Kind.INT, 32)
    if out_dtype.is_float != a.is_float or out_dtype.bits < max(a.bits, b.bits):
        refuse(operator, name, f"out_dtype {out_dtype} does not hold products of {both}")
    return out_dtype
