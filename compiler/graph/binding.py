"""Values of a function's symbolic extents, from the types of its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tandem.compiler.graph.extents import Dim, Extent, product, quotient, replaced
from tandem.compiler.graph.types import FunctionType, TensorType, TupleType, Type

_Pair: TypeAlias = tuple[Extent, Extent]
"""The extent of a parameter, and the extent of its argument."""


def bind(params: Sequence[Type], args: Sequence[Type]) -> dict[str, Extent] | None:
    """The value of each symbol in the types of parameters, from the types of arguments.

    None if the types do not match, or do not determine every symbol.
    """
    pairs: list[_Pair] = []
    if len(params) != len(args) or not all(map(_match, params, args, [pairs] * len(args))):
        return None
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


def _match(wanted: Type, found: Type, pairs: list[_Pair]) -> bool:
    """Whether two types are equal except for extents; their extents are added to `pairs`."""
    match wanted, found:
        case TensorType(), TensorType():
            pairs += zip(wanted.shape, found.shape, strict=False)
            same = wanted.dtype == found.dtype and wanted.layout == found.layout
            return same and wanted.rank == found.rank
        case TupleType(), TupleType():
            return len(wanted.items) == len(found.items) and all(
                map(_match, wanted.items, found.items, [pairs] * len(wanted.items))
            )
        case FunctionType(), FunctionType():
            return _match(TupleType(wanted.params), TupleType(found.params), pairs) and _match(
                wanted.result, found.result, pairs
            )
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
