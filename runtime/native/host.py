"""The processor of this computer, and its cores."""

from __future__ import annotations

import os

from tandem.base.processor import Host, initialise

__all__ = ["Host", "available_threads", "initialise"]


def available_threads() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0))
