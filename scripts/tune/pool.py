"""The interface of what measures choices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

from compiler.te.knobs import Choice
from compiler.tune.trial import Outcome

Job: TypeAlias = Callable[[Any, Choice, float], Outcome]
"""Measures a choice of a layer with a limit; the function and the layer can be pickled."""


class Pool(Protocol):
    """Measures choices. Outcomes depend on the job alone, never on the pool or its size; but a
    choice that ends every process that measures it has failed."""

    def measure(
        self, layer: Any, choices: Sequence[Choice], limit: float
    ) -> Iterator[tuple[int, Outcome]]:
        """Measure choices; pairs of a position and an outcome, as the measurements end."""
