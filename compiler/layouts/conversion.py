"""The conversion of a tensor from one layout to another, as a tensor expression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from tandem.compiler import te
from tandem.compiler.ir.dtypes import INT8, INT32, DType
from tandem.compiler.ir.expr import Expr
from tandem.compiler.layouts.layout import PLANES, Bytes, Inner, Layout, One, Outer, Whole
from tandem.compiler.operators.arithmetic import identity
from tandem.compiler.operators.checks import refuse, show
from tandem.compiler.operators.layout import reshape
from tandem.compiler.te import Tensor, compute

_Element = Callable[..., Expr]


def convert(
    data: Tensor,
    *,
    shape: Sequence[int],
    source: Layout | None = None,
    target: Layout | None = None,
    name: str = "convert",
) -> Tensor:
    """A tensor, stored in the layout `source`, as `target` stores it; None is row-major. Padding
    that is new is zero.

    Parameters
    ----------
    shape
        The tensor's shape, whatever its layout.

    Raises
    ------
    TensorError
        `data` has not the shape or the type of such a tensor.
    """
    stored = tuple(shape) if source is None else source.stored_shape(shape)
    in_bytes = source is not None and Bytes() in source.parts
    if data.shape != stored or (in_bytes and data.dtype != INT8):
        what = "row-major" if source is None else f"stored as {source}"
        refuse("convert", name, f"{show(data)} is not {list(shape)}, {what}")
    dtype = INT32 if in_bytes else data.dtype
    if target is None:
        return compute(shape, _reader(data, source), name)
    if Bytes() in target.parts and dtype != INT32:
        refuse("convert", name, f"{show(data)} has to be int32, for planes of bytes")
    return compute(
        target.stored_shape(shape), _stored(_reader(data, source), shape, target, dtype), name
    )


def view(
    data: Tensor, *, shape: Sequence[int], layout: Layout | None = None, name: str = "view"
) -> Tensor:
    """The stored elements of a tensor, one after the other, as those of another shape or layout.

    Raises
    ------
    TensorError
        There are more or fewer of them.
    """
    stored = tuple(shape) if layout is None else layout.stored_shape(shape)
    return (
        identity(data, name=name)
        if stored == data.shape
        else reshape(data, shape=stored, name=name)
    )


def _reader(data: Tensor, source: Layout | None) -> _Element:
    """The element of a stored tensor at the indices of the tensor."""
    if source is None:
        return lambda *at: data[at]

    def plane(number: int, at: Sequence[Expr]) -> Expr:
        return data[tuple(_stored_index(part, at, number) for part in source.parts)]

    if Bytes() not in source.parts:
        return lambda *at: plane(0, at)

    def joined(*at: Expr) -> Expr:
        value = te.cast(plane(PLANES - 1, at), INT32)
        for number in reversed(range(PLANES - 1)):
            value = (value << 8) | (te.cast(plane(number, at), INT32) & 0xFF)
        return value

    return joined


def _stored_index(
    part: Whole | Outer | Inner | One | Bytes, at: Sequence[Expr], plane: int
) -> Expr | int:
    match part:
        case Whole(axis=axis):
            return at[axis]
        case Outer(axis=axis, size=size):
            return at[axis] // size
        case Inner(axis=axis, size=size):
            return at[axis] % size
        case One():
            return 0
        case Bytes():
            return plane
        case _:
            assert_never(part)


def _stored(read: _Element, shape: Sequence[int], target: Layout, dtype: DType) -> _Element:
    """The element that is stored at an index: one of the tensor's, a byte of it, or zero."""
    outer = {part.axis: at for at, part in enumerate(target.parts) if isinstance(part, Outer)}

    def element(*stored: Expr) -> Expr:
        at: dict[int, Expr] = {}
        tests: list[Expr] = []
        plane: Expr | None = None
        for number, part in enumerate(target.parts):
            match part:
                case Whole(axis=axis):
                    at[axis] = stored[number]
                case Inner(axis=axis, size=size):
                    at[axis] = stored[outer[axis]] * size + stored[number]
                    if shape[axis] % size:
                        tests.append(at[axis] < shape[axis])
                case Bytes():
                    plane = stored[number]
                case Outer() | One():
                    pass
                case _:
                    assert_never(part)
        value = read(*(at[axis] for axis in range(len(shape))))
        if plane is not None:
            value = te.cast(value >> te.cast(plane * 8, INT32), INT8)
        kind = dtype if plane is None else INT8
        return te.select(te.all_of(*tests), value, te.const(0, kind)) if tests else value

    return element
