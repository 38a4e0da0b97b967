"""What a worker of a cluster does with a measurement."""

from __future__ import annotations

from threading import Lock
from typing import Any

from compiler.te.knobs import Choice
from compiler.tune.trial import Outcome
from scripts.tune.pool import Job

_ONE_AT_A_TIME = Lock()
"""Dask runs as many measurements in a process as it has threads; engines are for one thread."""


def measure_alone(job: Job, layer: Any, choice: Choice, limit: float) -> Outcome:
    """The outcome of a job, while no other job runs in this process."""
    with _ONE_AT_A_TIME:
        return job(layer, choice, limit)
