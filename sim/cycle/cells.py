"""Arrays in compiled code without reference counting: a pointer and a shape.

Numba counts references to each array of a named tuple in every call that takes the tuple, inlined
or not; an event would cost more in counts than in arithmetic.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba.core import cgutils, types
from numba.extending import models, register_model

from hw.jit import intrinsic, overload

Kept = TypeVar("Kept", bound=np.ndarray[Any, Any])


def borrowed(array: Kept) -> Kept:
    """`array` itself; in compiled code `Cells`, which must not outlive `array`.

    `array` has one or two dimensions in C's order. Cells are indexed by one integer (a row, of two
    dimensions) or by two; no index is negative, and none is checked.
    """
    return array


class Cells(types.Type):
    """Numba's type of a borrowed array."""

    def __init__(self, dtype: Any, ndim: int) -> None:
        self.dtype = dtype
        self.ndim = ndim
        super().__init__(name=f"Cells({dtype}, {ndim})")


@register_model(Cells)
class _CellsModel(models.StructModel):
    def __init__(self, manager: Any, kind: Cells) -> None:
        pointer = types.CPointer(kind.dtype)
        fields = [("data", pointer), ("length", types.intp), ("columns", types.intp)]
        super().__init__(manager, kind, fields)


@overload(borrowed)
def _compiled_borrowed(array: Any) -> Callable[..., Any]:
    def cells(array: Any) -> Any:
        return _borrow(array)

    return cells


@intrinsic
def _borrow(context: Any, array: Any) -> Any:
    assert array.layout == "C"
    return Cells(array.dtype, array.ndim)(array), _emit_borrow


def _emit_borrow(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    source = context.make_array(signature.args[0])(context, builder, arguments[0])
    shape = cgutils.unpack_tuple(builder, source.shape)
    return _cells(context, builder, signature.return_type, source.data, shape[0], shape[-1])


def _cells(context: Any, builder: Any, kind: Cells, data: Any, length: Any, columns: Any) -> Any:
    result = cgutils.create_struct_proxy(kind)(context, builder)
    result.data, result.length, result.columns = data, length, columns
    return result._getvalue()


def _pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The address of an element, or of a row: the arguments are cells and one index or two."""
    kind = signature.args[0]
    cells = cgutils.create_struct_proxy(kind)(context, builder, arguments[0])
    indices = [
        context.cast(builder, argument, given, types.intp)
        for argument, given in zip(arguments[1:3], signature.args[1:3], strict=True)
    ]
    at = indices[0]
    if kind.ndim == 2:
        at = builder.add(builder.mul(at, cells.columns), indices[1])
    return builder.gep(cells.data, [at])


@intrinsic
def _load(context: Any, cells: Any, row: Any, column: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = _pointer(context, builder, signature, arguments)
        return context.unpack_value(builder, cells.dtype, at)

    return cells.dtype(cells, row, column), emit


@intrinsic
def _store(context: Any, cells: Any, row: Any, column: Any, value: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = _pointer(context, builder, signature, arguments)
        converted = context.cast(builder, arguments[3], signature.args[3], cells.dtype)
        context.pack_value(builder, cells.dtype, converted, at)
        return context.get_dummy_value()

    return types.void(cells, row, column, value), emit


@intrinsic
def _row(context: Any, cells: Any, row: Any, column: Any) -> Any:
    kind = Cells(cells.dtype, 1)

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = cgutils.create_struct_proxy(cells)(context, builder, arguments[0])
        at = _pointer(context, builder, signature, arguments)
        return _cells(context, builder, kind, at, source.columns, source.columns)

    return kind(cells, row, column), emit


@intrinsic
def _length(context: Any, cells: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return cgutils.create_struct_proxy(cells)(context, builder, arguments[0]).length

    return types.intp(cells), emit


# Numba requires the parameters of the function in what implements it, annotations included.


@overload(operator.getitem)
def _compiled_getitem(cells: Any, index: Any) -> Callable[..., Any] | None:
    def row_of(cells: Any, index: Any) -> Any:
        return _row(cells, index, 0)

    def element(cells: Any, index: Any) -> Any:
        return _load(cells, index, 0)

    def element_of_row(cells: Any, index: Any) -> Any:
        return _load(cells, index[0], index[1])

    if not isinstance(cells, Cells):
        return None
    if isinstance(index, types.BaseTuple):
        return element_of_row
    return element if cells.ndim == 1 else row_of


@overload(operator.setitem)
def _compiled_setitem(cells: Any, index: Any, value: Any) -> Callable[..., Any] | None:
    def element(cells: Any, index: Any, value: Any) -> Any:
        _store(cells, index, 0, value)

    def element_of_row(cells: Any, index: Any, value: Any) -> Any:
        _store(cells, index[0], index[1], value)

    if not isinstance(cells, Cells):
        return None
    return element_of_row if isinstance(index, types.BaseTuple) else element


@overload(len)
def _compiled_len(cells: Any) -> Callable[..., Any] | None:
    def length(cells: Any) -> Any:
        return _length(cells)

    return length if isinstance(cells, Cells) else None
