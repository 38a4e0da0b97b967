"""Extents of tensors: numbers, or products of symbols that stand for numbers.

A symbolic batch is `N`; a batch of 7 x 7 images, flattened, is `49*N`. There are no other forms:
extents have a sum only if their symbols are equal. Functions return None for a result without such
a form, and their callers raise the error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tandem.compiler.errors import GraphError


@dataclass(frozen=True, slots=True)
class Dim:
    """A symbolic extent: `factor` times symbols, each of which is a number of 1 or more.

    Attributes
    ----------
    symbols
        Sorted; a symbol that occurs twice is squared.
    """

    symbols: tuple[str, ...]
    factor: int = 1

    def __post_init__(self) -> None:
        if not self.symbols or tuple(sorted(self.symbols)) != self.symbols or self.factor < 1:
            raise GraphError(
                f"{self.factor} times symbols {self.symbols}: one symbol or more, in order, and a "
                "factor of 1 or more are expected"
            )
        if not all(each.isascii() and each.isidentifier() for each in self.symbols):
            raise GraphError(f"a symbol is letters, digits and _: {self.symbols}")

    def __str__(self) -> str:
        factor = [] if self.factor == 1 else [str(self.factor)]
        return "*".join([*factor, *self.symbols])


Extent: TypeAlias = int | Dim


def _parts(extent: Extent) -> tuple[int, tuple[str, ...]]:
    return (extent.factor, extent.symbols) if isinstance(extent, Dim) else (extent, ())


def _extent(factor: int, symbols: Iterable[str]) -> Extent:
    names = tuple(sorted(symbols))
    return Dim(names, factor) if names and factor else factor


def product(extents: Iterable[Extent]) -> Extent:
    """The product of all extents; 1 if there are none."""
    factor, names = 1, list[str]()
    for extent in extents:
        own, symbols = _parts(extent)
        factor *= own
        names += symbols
    return _extent(factor, names)


def quotient(left: Extent, right: Extent) -> Extent | None:
    """`left / right` if it is an integer for all values of the symbols, else None."""
    (a, x), (b, y) = _parts(left), _parts(right)
    if a == 0:
        return 0 if b else None
    rest = list(x)
    for symbol in y:
        if symbol not in rest:
            return None
        rest.remove(symbol)
    return _extent(a // b, rest) if b and a % b == 0 else None


def sum_of(extents: Iterable[Extent]) -> Extent | None:
    """The sum of all extents; None if they have different symbols."""
    total: Extent = 0
    for extent in extents:
        (a, x), (b, y) = _parts(total), _parts(extent)
        if a and b and x != y:
            return None
        total = _extent(a + b, x or y)
    return total


def difference(left: Extent, right: Extent) -> Extent | None:
    """`left - right` if the difference is an extent, else None."""
    (a, x), (b, y) = _parts(left), _parts(right)
    if b == 0:
        return left
    return _extent(a - b, x) if x == y and a >= b else None


def symbols_in(extent: Extent) -> frozenset[str]:
    """The names of the symbols in an extent."""
    return frozenset(_parts(extent)[1])


def replaced(extent: Extent, sizes: Mapping[str, Extent]) -> Extent:
    """The extent with symbols replaced by `sizes`; symbols without a size remain."""
    factor, names = _parts(extent)
    return product([factor, *(sizes.get(each, Dim((each,))) for each in names)])
