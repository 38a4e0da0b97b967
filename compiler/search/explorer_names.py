"""The explorers' names, which are known without Optuna."""

from __future__ import annotations

from enum import Enum


class Explorer(Enum):
    """The values of `--explorer`."""

    NSGA2 = "nsga2"
    TPE = "tpe"
    RANDOM = "random"
