"""Types of the graph: tensors, tuples and functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar, assert_never

from compiler.errors import GraphError
from compiler.graph.extents import Extent, product, replaced, symbols_in
from compiler.ir.dtypes import DType


@dataclass(frozen=True, slots=True)
class TensorType:
    """The type of a dense array. Extents may be 0 or symbolic; shape () is a scalar."""

    shape: tuple[Extent, ...]
    dtype: DType

    def __post_init__(self) -> None:
        if any(isinstance(each, int) and each < 0 for each in self.shape):
            raise GraphError(f"{self} has a negative extent")

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> Extent:
        """The number of elements."""
        return product(self.shape)

    def static_shape(self, what: str) -> tuple[int, ...]:
        """The shape as integers.

        Raises
        ------
        GraphError
            An extent is symbolic; the message calls the tensor `what`.
        """
        found = tuple(each for each in self.shape if isinstance(each, int))
        if len(found) != len(self.shape):
            raise GraphError(f"{what} {self} has a symbolic extent: numbers are needed here")
        return found


@dataclass(frozen=True, slots=True)
class TupleType:
    """The type of a tuple of values."""

    items: tuple[Type, ...]

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.items))
        return f"({inner},)" if len(self.items) == 1 else f"({inner})"


Type: TypeAlias = TensorType | TupleType

T = TypeVar("T")
Nested: TypeAlias = T | tuple["Nested[T]", ...]
"""A leaf, or a tuple of leaves and tuples."""


@dataclass(frozen=True, slots=True)
class FunctionType:
    """Types of parameters and result. No value has this type: functions are not values."""

    params: tuple[Type, ...]
    result: Type

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.params))}) -> {self.result}"


def leaves(nested: Nested[T]) -> Iterator[T]:
    """The leaves of nested tuples, in order."""
    if isinstance(nested, tuple):
        for item in nested:
            yield from leaves(item)
    else:
        yield nested


def part_names(name: str, type_: Type) -> Nested[str]:
    """The names of a value's tensors: `name`, or `name.0`, `name.1`, ... for a tuple."""
    if isinstance(type_, TensorType):
        return name
    return tuple(part_names(f"{name}.{at}", each) for at, each in enumerate(type_.items))


def tensors_of(type_: Type) -> tuple[TensorType, ...]:
    """The tensors in a type, in order."""
    match type_:
        case TensorType():
            return (type_,)
        case TupleType(items=items):
            return tuple(tensor for each in items for tensor in tensors_of(each))
        case _:
            assert_never(type_)


def symbols_of(type_: Type) -> frozenset[str]:
    """The names of all symbols in a type."""
    return frozenset().union(
        *(symbols_in(extent) for tensor in tensors_of(type_) for extent in tensor.shape)
    )


def specialised(type_: Type, sizes: Mapping[str, Extent]) -> Type:
    """The type with symbols replaced by `sizes`; symbols without a size remain."""
    match type_:
        case TensorType(shape=shape, dtype=dtype):
            return TensorType(tuple(replaced(each, sizes) for each in shape), dtype)
        case TupleType(items=items):
            return TupleType(tuple(specialised(each, sizes) for each in items))
        case _:
            assert_never(type_)
