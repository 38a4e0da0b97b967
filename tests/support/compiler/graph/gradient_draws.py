"""What random calls of operators are drawn from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class OperatorCall:
    """An operator's operands, floats of which are differentiated, and its attributes."""

    operands: tuple[Array, ...]
    attributes: Mapping[str, Any]


def call_of(*operands: Array, **attributes: Any) -> OperatorCall:
    return OperatorCall(operands, attributes)


Drawing: TypeAlias = Callable[[np.random.Generator], OperatorCall]


def extents(rng: np.random.Generator, least: int = 0, most: int = 3) -> tuple[int, ...]:
    """A small shape of some rank."""
    return tuple(int(n) for n in rng.integers(1, 4, rng.integers(least, most + 1)))


def broadcastable(rng: np.random.Generator, count: int) -> list[tuple[int, ...]]:
    """Shapes that broadcast."""
    whole = extents(rng)
    found = []
    for _ in range(count):
        own = whole[rng.integers(0, len(whole) + 1) :]
        found.append(tuple(1 if rng.random() < 0.3 else n for n in own))
    return found


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.asarray(rng.standard_normal(shape))


def chosen(rng: np.random.Generator, choices: Mapping[str, tuple[Any, ...]]) -> dict[str, Any]:
    return {name: values[int(rng.integers(len(values)))] for name, values in choices.items()}
