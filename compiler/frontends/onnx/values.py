"""Tensors of ONNX models during import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper

from tandem.compiler.errors import FrontendError, UnsupportedError
from tandem.compiler.frontends.onnx.reading import in_one_line
from tandem.compiler.graph.constant import Constant
from tandem.compiler.graph.extents import Extent
from tandem.compiler.graph.nodes import Atom
from tandem.compiler.graph.types import TensorType
from tandem.compiler.graph.visit import renamed
from tandem.compiler.ir import dtypes
from tandem.compiler.ir.dtypes import DType

Array: TypeAlias = NDArray[Any]

DTYPES: Final[Mapping[int, DType]] = MappingProxyType(
    {
        int(TensorProto.BFLOAT16): dtypes.BFLOAT16,
        int(TensorProto.BOOL): dtypes.BOOL,
        int(TensorProto.DOUBLE): dtypes.FLOAT64,
        int(TensorProto.FLOAT): dtypes.FLOAT32,
        int(TensorProto.FLOAT4E2M1): dtypes.FLOAT4,
        int(TensorProto.FLOAT16): dtypes.FLOAT16,
        int(TensorProto.INT2): dtypes.INT2,
        int(TensorProto.INT4): dtypes.INT4,
        int(TensorProto.INT8): dtypes.INT8,
        int(TensorProto.INT16): dtypes.INT16,
        int(TensorProto.INT32): dtypes.INT32,
        int(TensorProto.INT64): dtypes.INT64,
        int(TensorProto.UINT2): dtypes.UINT2,
        int(TensorProto.UINT4): dtypes.UINT4,
        int(TensorProto.UINT8): dtypes.UINT8,
        int(TensorProto.UINT16): dtypes.UINT16,
        int(TensorProto.UINT32): dtypes.UINT32,
        int(TensorProto.UINT64): dtypes.UINT64,
    }
)
"""The supported element types, by their number in ONNX."""


def type_name(number: int) -> str:
    """The name of an element type in error messages: `float16`."""
    if number in DTYPES:
        return str(DTYPES[number])
    known: dict[int, str] = {int(code): name for name, code in TensorProto.DataType.items()}
    return known.get(number, f"type {number}").lower()


def type_refusal(number: int) -> str:
    """The error message for an unsupported element type, with advice."""
    name = type_name(number)
    known = ", ".join(str(each) for each in DTYPES.values())
    advice = f"; convert the model to {dtypes.FLOAT32}" if "float" in name else ""
    return f"of the type {name}: the types that are supported are {known}{advice}"


@dataclass(frozen=True, slots=True, eq=False)
class Count:
    """An extent that is known only when the network runs.

    Attributes
    ----------
    size
        The extent, a scalar of int64 in the graph.
    source
        The name in the model of the operand that determines it.
    """

    size: Value
    source: str

    def is_same(self, other: Count) -> bool:
        """Whether two extents are equal whenever the network runs."""
        return self.size.atom == other.size.atom


Counts: TypeAlias = Mapping[int, Count]
"""Extents that are known only when the network runs, by axis."""
NO_COUNTS: Final[Counts] = MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A tensor of a model.

    Attributes
    ----------
    type
        The tensor's type; along the axes in `counts` it has the greatest possible extent.
    atom
        The tensor's name or constant in the graph; None for a tensor that contains symbols.
    symbols
        The elements of a tensor computed from symbolic shapes, as an object array of `Extent`.
    counts
        The extents of the bounded axes. Behind them lies padding, of any values.
    """

    type: TensorType
    atom: Atom | None
    symbols: Array | None = None
    counts: Counts = field(default_factory=lambda: NO_COUNTS)

    def renamed(self, names: Mapping[str, Atom]) -> Value:
        """The value with the names of the graph's values replaced."""
        if self.atom is None:
            return self
        counts = {
            axis: replace(count, size=count.size.renamed(names))
            for axis, count in self.counts.items()
        }
        return replace(self, atom=renamed(self.atom, names), counts=counts)

    @property
    def known(self) -> Array | None:
        """The elements, numbers or extents, if known at import, else None."""
        return self.atom.array if isinstance(self.atom, Constant) else self.symbols

    @property
    def shape(self) -> tuple[Extent, ...]:
        """The shape, which may be symbolic."""
        return self.type.shape

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.type.dtype

    @property
    def rank(self) -> int:
        """The number of axes."""
        return self.type.rank


def array_of(tensor: TensorProto, what: str) -> Array:
    """The elements of a tensor, which error messages call `what`.

    Raises
    ------
    UnsupportedError
        The element type is not supported.
    FrontendError
        The elements are not in the model, or not as many as the shape has.
    """
    if tensor.data_type not in DTYPES:
        raise UnsupportedError(f"{what} is {type_refusal(tensor.data_type)}")
    if tensor.data_location == TensorProto.EXTERNAL:
        raise FrontendError(f"{what} lies in another file, and the model was not read from a file")
    shape = tuple(tensor.dims)
    if any(each < 0 for each in shape):
        raise FrontendError(f"{what} is of the shape {list(shape)}")
    dtype = DTYPES[tensor.data_type]
    bits = dtype.bits if dtype.is_narrow else 8 * dtype.numpy.itemsize
    if tensor.HasField("raw_data") and len(tensor.raw_data) != -(-prod(shape) * bits // 8):
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
