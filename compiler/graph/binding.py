"""Values of a function's symbolic extents, from the types of its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tandem.compiler.graph.extents import Dim, Extent, product, quotient, replaced
from tandem.compiler.graph.types import (
    DataType,
    FunctionType,
    GenericType,
    TensorType,
    TupleType,
    Type,
    elements_of,
    symbols_of,
)
from tandem.compiler.ir.dtypes import DType

_Pair: TypeAlias = tuple[Extent, Extent]
"""The extent of a parameter, and the extent of its argument."""


@dataclass(frozen=True, slots=True)
class Binding:
    """The values of symbols, and of open element types."""

    sizes: Mapping[str, Extent]
    elements: Mapping[str, DType]

    def open_in(self, type_: Type) -> frozenset[str]:
        """The names in a type that have no value."""
        return (symbols_of(type_) - self.sizes.keys()) | (elements_of(type_) - self.elements.keys())


def bind(params: Sequence[Type], args: Sequence[Type]) -> dict[str, Extent] | None:
    """The value of each symbol in the types of parameters, from the types of arguments.

    None if the types do not match, or do not determine every symbol.
    """
    found = bind_all(params, args)
    return None if found is None else dict(found.sizes)


def bind_all(params: Sequence[Type], args: Sequence[Type]) -> Binding | None:
    """The value of each symbol and of each open element type in the types of parameters.

    None if the types do not match, or do not determine every symbol.
    """
    matches = _Matches()
    if len(params) != len(args) or not all(map(matches.match, params, args)):
        return None
    sizes = _solved(matches.pairs)
    return None if sizes is None else Binding(sizes, matches.elements)


def _solved(pairs: list[_Pair]) -> dict[str, Extent] | None:
    sizes: dict[str, Extent] = {}
    while pairs:
        unsolved = [each for each in pairs if not _solve(*each, sizes)]
        if len(unsolved) == len(pairs):
            # Products of several unknown symbols: solved only if each symbol is bound to itself.
            unknown = {name for wanted, _ in unsolved for name in _unknown(wanted, sizes)}
            if not unknown or any(replaced(wanted, sizes) != found for wanted, found in unsolved):
                return None
            sizes |= {name: Dim((name,)) for name in unknown}
        pairs = unsolved
    return sizes


@dataclass
class _Matches:
    """The extents of types that are compared, and the element types of those that are open."""

    pairs: list[_Pair] = field(default_factory=list)
    elements: dict[str, DType] = field(default_factory=dict)

    def match(self, wanted: Type, found: Type) -> bool:
        """Whether two types are equal except for extents and open element types."""
        match wanted, found:
            case TensorType(), TensorType():
                self.pairs += zip(wanted.shape, found.shape, strict=False)
                same = wanted.dtype == found.dtype and wanted.layout == found.layout
                return same and wanted.rank == found.rank
            case GenericType(shape=shape, element=element), TensorType(layout=None):
                self.pairs += zip(shape, found.shape, strict=False)
                same = self.elements.setdefault(element, found.dtype) == found.dtype
                return same and len(shape) == found.rank
            case TupleType(), TupleType():
                return len(wanted.items) == len(found.items) and all(
                    map(self.match, wanted.items, found.items)
                )
            case FunctionType(), FunctionType():
                return self.match(TupleType(wanted.params), TupleType(found.params)) and self.match(
                    wanted.result, found.result
                )
            case DataType(), DataType():
                same = wanted.name == found.name and wanted.declared == found.declared
                return same and all(map(self.match, wanted.arguments, found.arguments))
            case _:
                return False


def _unknown(extent: Extent, sizes: dict[str, Extent]) -> list[str]:
    """The symbols of an extent that have no value yet."""
    names = extent.symbols if isinstance(extent, Dim) else ()
    return [each for each in names if each not in sizes]


def _solve(wanted: Extent, found: Extent, sizes: dict[str, Extent]) -> bool:
    """Whether two extents are equal; binds a single unknown symbol to make the extents equal."""
    match _unknown(wanted, sizes):
        case []:
            return replaced(wanted, sizes) == found
        case [name]:
            assert isinstance(wanted, Dim)
            others = [Dim((each,)) for each in wanted.symbols if each != name]
            value = quotient(found, replaced(product([wanted.factor, *others]), sizes))
            if value is None or value == 0:
                return False
            sizes[name] = value
            return True
        case _:
            return False
