"""The charts of a tuning run's page, with their titles and explanations."""

from __future__ import annotations

from tandem.workbench.pages.charts import Figure
from tandem.workbench.pages.tuning.gains import gain_bars
from tandem.workbench.pages.tuning.gaps import gap_bars
from tandem.workbench.pages.tuning.page import TuningPage
from tandem.workbench.pages.tuning.predicted import predicted_points
from tandem.workbench.pages.tuning.progress import progress_lines


def figures(page: TuningPage) -> tuple[Figure, ...]:
    """The charts for which the run has data, in the order of the page."""
    found = []
    if any(task.gap is not None for task in page.tasks):
        found.append(
            Figure(
                "gaps",
                "Gaps to the lower bounds",
                "The cost of the best choice beyond the lower bound of all choices: the array, the "
                "ALU and the bus cannot be faster. The tick is the default choice. How much of a "
                "gap can be gained is not known; without a gap, nothing can.",
                gap_bars(page.tasks),
                leads=True,
            )
        )
    if any(task.points for task in page.tasks):
        found.append(
            Figure(
                "predicted",
                "Predicted and measured",
                "A point is a measured choice, of this run or of the records: across, the cycles "
                "that the compiler estimates; up, those that it takes. Estimates of points on the "
                "line are exact. What matters for a choice is the order within its layer.",
                predicted_points(page.tasks),
            )
        )
    if page.gains:
        found.append(
            Figure(
                "features",
                "What the features say",
                "A model of boosted trees learns from all measured choices of the page how far "
                "their cycles exceed their lower bounds. A bar is a feature's part of what all "
                "splits of its trees gain. It says what the model looks at, and no cause: of two "
                "features that say the same, one may get all.",
                gain_bars(page.gains),
            )
        )
    for number, task in enumerate(page.tasks, 1):
        if lines := progress_lines(task):
            found.append(
                Figure(
                    f"task-{number}",
                    task.name,
                    f"{task.workload}: the best cost so far, for each explorer that has trials in "
                    "the records, from the default choice on. Points are the trials' own costs, "
                    "up to one and a half times the best; the dashed line is the lower bound.",
                    lines,
                )
            )
    return tuple(found)
