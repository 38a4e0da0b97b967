"""What a worker of a cluster does with a measurement."""

from __future__ import annotations

from threading import Lock
from typing import Any

from scripts.tune.pool import Job, R

_ONE_AT_A_TIME = Lock()
"""Dask runs as many measurements in a process as it has threads; engines are for one thread."""


def measure_alone(job: Job[R], layer: Any, choice: Any, limit: float) -> R:
    """The outcome of a job, while no other job runs in this process."""
    with _ONE_AT_A_TIME:
        return job(layer, choice, limit)
