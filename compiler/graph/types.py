"""Types of the graph: tensors, tuples, functions and data types."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, TypeAlias, TypeVar, assert_never

from tandem.compiler.errors import GraphError
from tandem.compiler.graph.extents import Extent, product, replaced, symbols_in
from tandem.compiler.ir.dtypes import INT64, DType
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


@dataclass(frozen=True, slots=True)
class GenericType:
    """The type of a row-major array whose element type is a name: in functions of modules that are
    called with arrays of several element types."""

    shape: tuple[Extent, ...]
    element: str

    def __str__(self) -> str:
        return f"{self.element}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class DataType:
    """A declared type with its arguments, as `List[float32[3]]`.

    Attributes
    ----------
    declared
        What its name means; None in declarations, where a name without arguments may be that of a
        parameter.
    """

    name: str
    arguments: tuple[Type, ...] = ()
    declared: Declarations | None = None

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.arguments))
        return f"{self.name}[{inner}]" if self.arguments else self.name


@dataclass(frozen=True, slots=True)
class Constructor:
    """One of the forms that the values of a data type have: its name, and the types of what it
    holds."""

    name: str
    fields: tuple[Type, ...] = ()

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.fields))
        return f"{self.name}({inner})" if self.fields else self.name


@dataclass(frozen=True, slots=True)
class Declaration:
    """`type List[T] = Nil | Cons(T, List[T])`: a name, parameters and constructors. In the types of
    fields, names are of parameters or of data types that are declared beside it."""

    name: str
    params: tuple[str, ...]
    constructors: tuple[Constructor, ...]

    def __str__(self) -> str:
        params = f"[{', '.join(self.params)}]" if self.params else ""
        return f"type {self.name}{params} = {' | '.join(map(str, self.constructors))}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Declarations:
    """All data types of a text, which may refer to one another; `data_types.declare` makes and
    checks them. Equal if their texts are."""

    types: tuple[Declaration, ...] = ()
    digest: str = field(init=False)
    _by_constructor: Mapping[str, Declaration] = field(init=False)

    def __post_init__(self) -> None:
        content = "\n".join(map(str, self.types))
        digest = hashlib.blake2b(content.encode(), digest_size=16).hexdigest()
        object.__setattr__(self, "digest", digest)
        by_constructor = {it.name: each for each in self.types for it in each.constructors}
        object.__setattr__(self, "_by_constructor", by_constructor)

    def of_constructor(self, name: str) -> Declaration | None:
        """The declaration that has a constructor; None if none has."""
        return self._by_constructor.get(name)

    def of_type(self, name: str) -> Declaration | None:
        """The declaration of a type; None if it is not declared."""
        return next((each for each in self.types if each.name == name), None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Declarations) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Declarations({self.digest})"


NO_DECLARATIONS: Final = Declarations()
"""No data types."""

Type: TypeAlias = TensorType | TupleType | FunctionType | GenericType | DataType

Part: TypeAlias = TensorType | DataType
"""The types of what is neither a function nor a tuple."""

REFERENCE: Final = TensorType((), INT64)
"""The tensor that stands for a value of a data type when a program runs."""

NO_ELEMENTS: Final[Mapping[str, DType]] = MappingProxyType({})
"""No open element types."""

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
    has none, nor a value whose element type is open."""
    match type_:
        case TensorType() | DataType():
            return name
        case TupleType(items=items):
            return tuple(part_names(f"{name}.{at}", each) for at, each in enumerate(items))
        case FunctionType() | GenericType():
            return ()
        case _:
            assert_never(type_)


def tensors_of(type_: Type) -> tuple[TensorType, ...]:
    """The tensors in a type, in order; a value of a data type is a reference; functions and open
    element types have none."""
    match type_:
        case TensorType():
            return (type_,)
        case DataType():
            return (REFERENCE,)
        case TupleType(items=items):
            return tuple(tensor for each in items for tensor in tensors_of(each))
        case FunctionType() | GenericType():
            return ()
        case _:
            assert_never(type_)


def parts_of(type_: Type) -> tuple[Part, ...]:
    """The tensors and the values of data types in a type, in order, of a type without functions."""
    match type_:
        case TensorType() | DataType():
            return (type_,)
        case TupleType(items=items):
            return tuple(part for each in items for part in parts_of(each))
        case FunctionType() | GenericType():
            raise AssertionError("without functions, of known element types")
        case _:
            assert_never(type_)


def has_functions(type_: Type) -> bool:
    """Whether a value of the type is a function, or a tuple with functions in it; what the fields
    of data types are is not asked."""
    match type_:
        case TensorType() | GenericType() | DataType():
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
        case TensorType(shape=shape) | GenericType(shape=shape):
            return frozenset().union(*map(symbols_in, shape))
        case TupleType(items=items):
            return frozenset().union(*map(symbols_of, items))
        case FunctionType(params=params, result=result):
            return symbols_of(result).union(*map(symbols_of, params))
        case DataType(arguments=arguments):
            return frozenset().union(*map(symbols_of, arguments))
        case _:
            assert_never(type_)


def elements_of(type_: Type) -> frozenset[str]:
    """The names of all open element types in a type."""
    match type_:
        case TensorType():
            return frozenset()
        case GenericType(element=element):
            return frozenset({element})
        case TupleType(items=items):
            return frozenset().union(*map(elements_of, items))
        case FunctionType(params=params, result=result):
            return elements_of(result).union(*map(elements_of, params))
        case DataType(arguments=arguments):
            return frozenset().union(*map(elements_of, arguments))
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
        case GenericType() | DataType():
            return type_
        case _:
            assert_never(type_)


def specialised(
    type_: Type, sizes: Mapping[str, Extent], elements: Mapping[str, DType] = NO_ELEMENTS
) -> Type:
    """The type with symbols replaced by `sizes`, and open element types by `elements`; those
    without a value remain."""
    match type_:
        case TensorType(shape=shape):
            return replace(type_, shape=tuple(replaced(each, sizes) for each in shape))
        case GenericType(shape=shape, element=element):
            own = tuple(replaced(each, sizes) for each in shape)
            dtype = elements.get(element)
            return GenericType(own, element) if dtype is None else TensorType(own, dtype)
        case TupleType(items=items):
            return TupleType(tuple(specialised(each, sizes, elements) for each in items))
        case FunctionType(params=params, result=result):
            given = tuple(specialised(each, sizes, elements) for each in params)
            return FunctionType(given, specialised(result, sizes, elements))
        case DataType(arguments=arguments):
            own_arguments = tuple(specialised(each, sizes, elements) for each in arguments)
            return replace(type_, arguments=own_arguments)
        case _:
            assert_never(type_)
