"""The interface of what measures choices, or anything else in other processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

Job: TypeAlias = Callable[[Any, Any, float], R]
"""Measures a choice of a layer with a limit; the function, the layer and the choice can be pickled.
The outcome is no tuple."""
Failed: TypeAlias = Callable[[str], R]
"""The outcome of a choice that could not be measured, for a reason."""


class Pool(Protocol[R_co]):
    """Measures choices. Outcomes depend on the job alone, never on the pool or its size; but a
    choice that ends every process that measures it has failed."""

    def measure(
        self, layer: Any, choices: Sequence[Any], limit: float
    ) -> Iterator[tuple[int, R_co]]:
        """Measure choices; pairs of a position and an outcome, as the measurements end."""
