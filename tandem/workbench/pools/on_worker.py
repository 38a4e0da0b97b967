"""What a worker of a cluster does with a measurement."""

from __future__ import annotations

from threading import Lock
from typing import Any

from tandem.compiler.tune.pool import measure_packed

_ONE_AT_A_TIME = Lock()
"""Dask runs as many measurements in a process as it has threads; engines are for one thread."""


def measure_alone(packed_job: bytes, choice: Any, limit: float) -> Any:
    """The outcome of a packed job, while no other job runs in this process.

    Raises `WorkerError` as `measure_packed`.
    """
    with _ONE_AT_A_TIME:
        return measure_packed(packed_job, choice, limit)
