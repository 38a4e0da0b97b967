"""Constant arrays of a graph, compared by type and bits."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.errors import GraphError, IRError
from tandem.compiler.graph.types import TensorType
from tandem.compiler.ir.dtypes import dtype_of


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Constant:
    """A constant array. Two constants of the same type and the same bits are equal.

    Attributes
    ----------
    array
        Read-only, row-major, in the host's byte order. Copied, unless the argument already has
        these properties and owns its memory.
    type
        The element type and static shape.
    digest
        A hash of type and bits, 32 hexadecimal digits.

    Raises
    ------
    GraphError
        The element type is not supported, such as complex64.
    """

    array: NDArray[Any]
    type: TensorType = field(init=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        array = self.array
        try:
            type_ = TensorType(array.shape, dtype_of(array.dtype.name))
        except IRError as error:
            raise GraphError(f"a constant of {array.dtype}: {error}") from None
        native = array.dtype.newbyteorder("=")
        immutable = array.base is None and not array.flags.writeable and array.flags.c_contiguous
        if not immutable or array.dtype != native:
            array = np.array(array, native, order="C", copy=True)
            array.flags.writeable = False
        hashed = hashlib.blake2b(str(type_).encode(), digest_size=16)
        hashed.update(array.reshape(-1).view(np.uint8).data)
        for name, value in (("array", array), ("type", type_), ("digest", hashed.hexdigest())):
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Constant({self.type}, {self.digest})"
