"""The interface of what measures choices, or anything else in other processes."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from tandem.compiler.errors import WorkerError

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


def packed(job: Job[Any], layer: Any) -> bytes:
    """A job and its layer, to be sent to other processes, which import classes by their modules.

    Raises
    ------
    WorkerError
        A class or function of it lies in no module that can be imported.
    """
    try:
        return pickle.dumps((job, layer))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise WorkerError(
            f"this cannot be sent to another process: {error}: a template of your own has to lie "
            f"in a module that can be imported, or be measured with one job, in this process"
        ) from None


def measure_packed(packed_job: bytes, choice: Any, limit: float) -> Any:
    """The outcome of a `packed` job.

    Raises
    ------
    WorkerError
        A module of it cannot be imported here.
    """
    try:
        job, layer = pickle.loads(packed_job)
    except (ImportError, AttributeError) as error:
        raise WorkerError(
            f"a process that measures cannot import what it measures: {error}: a template of your "
            f"own has to lie in a module that can be imported there, too"
        ) from None
    return job(layer, choice, limit)
