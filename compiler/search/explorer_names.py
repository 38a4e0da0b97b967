"""The explorers' names, which are known without Optuna."""

from __future__ import annotations

from enum import Enum


class Explorer(Enum):
    """Which of Optuna's samplers proposes machines."""

    NSGA2 = "nsga2"
    TPE = "tpe"
    RANDOM = "random"
