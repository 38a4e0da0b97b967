"""Array slices without reference counting, for compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from numba.core import types

from hw.jit import intrinsic, overload

Scalar = TypeVar("Scalar", bound=np.generic)


def view(array: npt.NDArray[Scalar], start: int, count: int) -> npt.NDArray[Scalar]:
    """`array[start : start + count]`; the range must lie inside the array, and is not checked.

    Slicing in compiled code counts references, which costs as much as several micro-ops; a view
    does not, so it must not outlive `array`. LLVM vectorises a loop over the length of a view, but
    not a loop over `array[start + k]`, because Numba handles negative indices there.
    """
    return array[start : start + count]


@overload(view)
def _compiled_view(array: Any, start: Any, count: Any) -> Callable[..., Any]:
    # Numba requires the parameters of `_compiled_view`, annotations included.
    def pointer(array: Any, start: Any, count: Any) -> Any:
        return _view(array, start, count)

    return pointer


@intrinsic
def _view(context: Any, array: Any, start: Any, count: Any) -> Any:
    return array(array, types.int64, types.int64), _emit


def _emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array, start, count = arguments
    kind = signature.return_type
    source = context.make_array(kind)(context, builder, array)
    result = context.make_array(kind)(context, builder)
    result.data = builder.gep(source.data, [start])
    result.shape = builder.insert_value(result.shape, count, 0)
    result.strides = source.strides
    result.itemsize = source.itemsize
    result.nitems = count
    # No `meminfo` and no `parent`: no reference counting.
    result.meminfo = result.meminfo.type(None)
    result.parent = result.parent.type(None)
    return result._getvalue()


Kept = TypeVar("Kept", bound=np.ndarray[Any, Any])


def borrowed(array: Kept) -> Kept:
    """`array` itself, without reference counting in compiled code, even of what is sliced from it;
    it must not outlive `array`."""
    return array


@overload(borrowed)
def _compiled_borrowed(array: Any) -> Callable[..., Any]:
    def pointer(array: Any) -> Any:
        return _borrowed(array)

    return pointer


@intrinsic
def _borrowed(context: Any, array: Any) -> Any:
    return array(array), _emit_borrowed


def _emit_borrowed(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind = signature.return_type
    source = context.make_array(kind)(context, builder, arguments[0])
    result = context.make_array(kind)(context, builder)
    for part in ("data", "shape", "strides", "itemsize", "nitems"):
        setattr(result, part, getattr(source, part))
    result.meminfo = result.meminfo.type(None)
    result.parent = result.parent.type(None)
    return result._getvalue()
