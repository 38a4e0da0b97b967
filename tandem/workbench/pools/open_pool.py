"""The choice between processes of this machine and the workers of a Dask cluster."""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import Any

from tandem.compiler.tune.pool import Failed, Job, Pool, R
from tandem.compiler.tune.trial import Outcome
from tandem.workbench.errors import SchedulerError
from tandem.workbench.pools.local_pool import LocalPool, default_jobs


def open_pool(
    job: Job[R], jobs: int | None, scheduler: str | None, failed: Failed[Any] = Outcome.failed
) -> AbstractContextManager[Pool[R]]:
    """A context with processes of this machine, or with the workers of a Dask cluster.

    Parameters
    ----------
    jobs
        The number of processes; one a core if None.
    scheduler
        The address of the cluster's scheduler; None for processes of this machine.
    failed
        Makes the outcome of a choice that cannot be measured.

    Raises
    ------
    SchedulerError
        Dask is not installed; from the context, too, if the cluster cannot be used.
    """
    if scheduler is None:
        return LocalPool(job, jobs or default_jobs(), failed)
    if not find_spec("distributed"):
        raise SchedulerError(
            "--scheduler needs Dask, which is not installed: "
            "pip install 'tandem-workbench[distributed]'"
        )
    # Imported here, because Dask is large and optional.
    from tandem.workbench.pools.dask_pool import DaskPool

    return DaskPool(job, scheduler, failed=failed)
