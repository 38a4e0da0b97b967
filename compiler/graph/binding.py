"""What the symbols of a function stand for when it is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from compiler.graph.extents import Dim, Extent, product, quotient, replaced
from compiler.graph.types import TensorType, TupleType, Type

__all__ = ["bind"]

_Pair: TypeAlias = tuple[Extent, Extent]
"""What is declared, and what is given."""


def bind(declared: Sequence[Type], given: Sequence[Type]) -> dict[str, Extent] | None:
    """What the symbols in `declared` stand for where values of types `given` are passed; None where
    these cannot be passed, or do not say what each symbol is."""
    pairs: list[_Pair] = []
    if len(declared) != len(given) or not all(map(_alike, declared, given, [pairs] * len(given))):
        return None
    sizes: dict[str, Extent] = {}
    while pairs:
        left = [each for each in pairs if not _solved(*each, sizes)]
        if len(left) == len(pairs):
            # Products of symbols that nothing else tells: they may stand for themselves.
            open_ = {name for wanted, _ in left for name in _unknown(wanted, sizes)}
            if not open_ or any(replaced(wanted, sizes) != found for wanted, found in left):
                return None
            sizes |= {name: Dim((name,)) for name in open_}
        pairs = left
    return sizes


def _alike(declared: Type, given: Type, pairs: list[_Pair]) -> bool:
    """Whether types are the same but for extents, which are added to `pairs`."""
    match declared, given:
        case TensorType(), TensorType():
            if declared.dtype != given.dtype or len(declared.shape) != len(given.shape):
                return False
            pairs += zip(declared.shape, given.shape, strict=True)
            return True
        case TupleType(), TupleType():
            return len(declared.items) == len(given.items) and all(
                _alike(wanted, found, pairs)
                for wanted, found in zip(declared.items, given.items, strict=True)
            )
        case _:
            return False


def _unknown(extent: Extent, sizes: dict[str, Extent]) -> list[str]:
    names = extent.symbols if isinstance(extent, Dim) else ()
    return [each for each in names if each not in sizes]


def _solved(wanted: Extent, found: Extent, sizes: dict[str, Extent]) -> bool:
    """Whether the two agree, after a single symbol has been given the value that makes them."""
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
