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
