"""The content of a training's HTML report, as values."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.workbench.table import Table
from tandem.workbench.training.step import StepMemory


@dataclass(frozen=True, slots=True)
class TrainingPage:
    """The content of the page of a training.

    Attributes
    ----------
    title
        The model's name.
    held_out
        The number of samples that were measured only.
    epochs
        A row for each: `tandem.Training.epochs`.
    memory
        Of a step.
    """

    title: str
    command: str
    held_out: int
    seconds: float
    epochs: Table
    memory: StepMemory
