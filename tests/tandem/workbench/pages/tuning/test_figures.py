"""The charts of a tuning run: which there are, in which order."""

from __future__ import annotations

from tandem.workbench.pages.tuning.figures import figures
from tandem.workbench.pages.tuning.page import FeatureGain
from tests.support.workbench.pages.tuning_pages import task_report, tuning_page, unmeasured


def test_which_charts_there_are() -> None:
    found = figures(tuning_page(gains=(FeatureGain("tiles", 0.5),)))
    assert [(each.key, each.leads) for each in found] == [
        ("gaps", True),
        ("predicted", False),
        ("features", False),
        ("task-1", False),
        ("task-2", False),
    ]
    assert [each.title for each in found[3:]] == ["stem", "head"]
    assert found[3].text.startswith("conv2d 1x2x3x4 * 5x6x7x8 /2: the best cost so far")


def test_charts_without_data_are_left_out() -> None:
    assert figures(tuning_page(tasks=())) == ()
    assert figures(tuning_page(tasks=(unmeasured("a"),))) == ()
    # Numbers are those of tasks, not of charts; one task with data is enough.
    tasks = (unmeasured("a"), task_report("b"))
    assert [each.key for each in figures(tuning_page(tasks=tasks))] == [
        "gaps",
        "predicted",
        "task-2",
    ]
