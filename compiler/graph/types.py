"""Types of the graph: tensors, tuples and functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar, assert_never

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.extents import Extent, product, replaced, symbols_in
from tandem.compiler.ir.dtypes import DType
from tandem.compiler.layouts.layout import Layout
from tandem.runtime.artifact import PaddedAxis
from tandem.runtime.native.objects import MOST_AXES


@dataclass(frozen=True, slots=True)
class TensorType:
    """The type of a dense array. Extents may be 0 or symbolic; shape () is a scalar.

    Attributes
    ----------
    layout
        How the elements are stored; None if in the order of the shape (row-major).
    """

    shape: tuple[Extent, ...]
    dtype: DType
    layout: Layout | None = None

    def __post_init__(self) -> None:
        if any(isinstance(each, int) and each < 0 for each in self.shape):
            raise GraphError(f"{self} has a negative extent")
        if len(self.shape) > MOST_AXES:
            raise GraphError(
                f"a tensor of {self.dtype} has {len(self.shape)} axes; at most {MOST_AXES} are "
                f"supported"
            )
        if self.layout is not None:
            self._check_layout(self.layout)

    def _check_layout(self, layout: Layout) -> None:
        if layout.rank != self.rank:
            raise GraphError(f"{self} has a layout of {layout.rank} axes")
        if any(not isinstance(self.shape[axis], int) for axis in layout.blocked):
            raise GraphError(f"{self} has a symbolic extent in blocks")
        if layout.stored_dtype(self.dtype) is None:
            raise GraphError(f"{self}: only integers of 32 bits have planes of bytes")
        if len(layout.parts) > MOST_AXES:
            raise GraphError(f"{self} has more than {MOST_AXES} axes as stored")

    def __str__(self) -> str:
        layout = "" if self.layout is None else self.layout
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]{layout}"

    @property
    def stored(self) -> TensorType:
        """The tensor as it is stored: its type if this is row-major."""
        if self.layout is None:
            return self
        dtype = self.layout.stored_dtype(self.dtype)
        assert dtype is not None, "checked"
        return TensorType(self.layout.stored_shape(self.shape), dtype)

    @property
    def undefined(self) -> tuple[PaddedAxis, ...]:
        """The axes with padding that is undefined, of a tensor as it is stored."""
        if self.layout is None:
            return ()
        axes = self.layout.padded_axes(self.static_shape("a tensor in blocks"))
        return tuple(axis for axis, zero in axes if not zero)

    @property
    def plain(self) -> TensorType:
        """The same tensor, row-major."""
        return replace(self, layout=None)

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


@dataclass(frozen=True, slots=True)
class FunctionType:
    """The type of a function: types of parameters and result."""

    params: tuple[Type, ...]
    result: Type

    def __str__(self) -> str:
        return f"fn({', '.join(map(str, self.params))}) -> {self.result}"


Type: TypeAlias = TensorType | TupleType | FunctionType

T = TypeVar("T")
Nested: TypeAlias = T | tuple["Nested[T]", ...]
"""A leaf, or a tuple of leaves and tuples."""


def leaves(nested: Nested[T]) -> Iterator[T]:
    """The leaves of nested tuples, in order."""
    if isinstance(nested, tuple):
        for item in nested:
            yield from leaves(item)
    else:
        yield nested


def part_names(name: str, type_: Type) -> Nested[str]:
    """The names of a value's tensors: `name`, or `name.0`, `name.1`, ... for a tuple; a function
    has none."""
    match type_:
        case TensorType():
            return name
        case TupleType(items=items):
            return tuple(part_names(f"{name}.{at}", each) for at, each in enumerate(items))
        case FunctionType():
            return ()
        case _:
            assert_never(type_)


def tensors_of(type_: Type) -> tuple[TensorType, ...]:
    """The tensors in a type, in order; a function's type has none."""
    match type_:
        case TensorType():
            return (type_,)
        case TupleType(items=items):
            return tuple(tensor for each in items for tensor in tensors_of(each))
        case FunctionType():
            return ()
        case _:
            assert_never(type_)


def has_functions(type_: Type) -> bool:
    """Whether a value of the type is a function, or a tuple with functions in it."""
    match type_:
        case TensorType():
            return False
        case TupleType(items=items):
            return any(map(has_functions, items))
        case FunctionType():
            return True
        case _:
            assert_never(type_)


def symbols_of(type_: Type) -> frozenset[str]:
    """The names of all symbols in a type."""
    match type_:
        case TensorType(shape=shape):
            return frozenset().union(*map(symbols_in, shape))
        case TupleType(items=items):
            return frozenset().union(*map(symbols_of, items))
        case FunctionType(params=params, result=result):
            return symbols_of(result).union(*map(symbols_of, params))
        case _:
            assert_never(type_)


def stored(type_: Type) -> Type:
    """The type of a value's arrays: every tensor as it is stored."""
    match type_:
        case TensorType():
            return type_.stored
        case TupleType(items=items):
            return TupleType(tuple(map(stored, items)))
        case FunctionType(params=params, result=result):
            return FunctionType(tuple(map(stored, params)), stored(result))
        case _:
            assert_never(type_)


def specialised(type_: Type, sizes: Mapping[str, Extent]) -> Type:
    """The type with symbols replaced by `sizes`; symbols without a size remain."""
    match type_:
        case TensorType(shape=shape):
            return replace(type_, shape=tuple(replaced(each, sizes) for each in shape))
        case TupleType(items=items):
            return TupleType(tuple(specialised(each, sizes) for each in items))
        case FunctionType(params=params, result=result):
            given = tuple(specialised(each, sizes) for each in params)
            return FunctionType(given, specialised(result, sizes))
        case _:
            assert_never(type_)
