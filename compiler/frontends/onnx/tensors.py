"""Arrays from ONNX's tensors."""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import TensorProto, numpy_helper

from compiler.errors import FrontendError, UnsupportedError
from compiler.frontends.onnx.checking import in_one_line
from compiler.frontends.onnx.values import DTYPES, Array, type_refusal

__all__ = ["array_of"]


def array_of(tensor: TensorProto, what: str) -> Array:
    """The elements of `what`.

    Raises
    ------
    UnsupportedError
        A type that the compiler does not have.
    FrontendError
        Elements elsewhere, or not as many as the shape says.
    """
    if tensor.data_type not in DTYPES:
        raise UnsupportedError(f"{what} is {type_refusal(tensor.data_type)}")
    if tensor.data_location == TensorProto.EXTERNAL:
        raise FrontendError(f"{what} lies in another file, of a model that was read from none")
    shape = tuple(tensor.dims)
    if any(each < 0 for each in shape):
        raise FrontendError(f"{what} is of the shape {list(shape)}")
    wide = DTYPES[tensor.data_type].numpy.itemsize
    if tensor.HasField("raw_data") and len(tensor.raw_data) != prod(shape) * wide:
        raise FrontendError(
            f"{what} is of the shape {list(shape)}, and has {len(tensor.raw_data)} bytes"
        )
    try:
        array = numpy_helper.to_array(tensor)
    except (ValueError, TypeError, OverflowError) as error:
        raise FrontendError(
            f"{what} is of the shape {list(shape)}: {in_one_line(error)}"
        ) from error
    if array.shape != shape:
        raise FrontendError(f"{what} is of the shape {list(shape)}, not {list(array.shape)}")
    return np.asarray(array)
