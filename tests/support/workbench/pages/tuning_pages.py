"""Pages of tuning runs with chosen figures."""

from __future__ import annotations

from math import inf
from typing import Any

from tandem.hw.config import HardwareConfig
from tandem.workbench.pages.tuning.page import Point, Search, TaskReport, TuningPage


def task_report(name: str, **changes: Any) -> TaskReport:
    """A task that two explorers searched."""
    content: dict[str, Any] = {
        "count": 2,
        "workload": "conv2d 1x2x3x4 * 5x6x7x8 /2",
        "trials": 5,
        "default": 1_234.0,
        "best": 1_000.0,
        "bound": 800.0,
        "certified": False,
        "size": 4_321,
        "measured": 5,
        "pruned": 17,
        "choice": "x=1 y=2",
        "searches": (
            Search("xgboost", (1_234.0, inf, 1_300.0, 1_000.0, 1_100.0)),
            Search("random", (1_234.0, 1_200.0)),
        ),
        "points": (Point(990.0, 1_000.0, "x=1 y=2"), Point(1_500.0, 1_300.0, "x=2 y=2")),
    }
    return TaskReport(name=name, **(content | changes))


def tuning_page(**changes: Any) -> TuningPage:
    """A page of two tasks, the second certified."""
    content: dict[str, Any] = {
        "title": "little_net",
        "config": HardwareConfig(),
        "memory": "fast",
        "explorer": "xgboost",
        "tasks": (
            task_report("stem"),
            task_report("head", best=801.0, default=801.0, certified=True, points=()),
        ),
        "default": 3_269,
        "best": 2_801,
        "seconds": 12.6,
        "command": "tandem tune little_net.onnx --report page.html",
        "versions": (("tandem-workbench", "0.1.0"), ("xgboost", "3.2")),
    }
    return TuningPage(**(content | changes))


def unmeasured(name: str) -> TaskReport:
    """A task all of whose trials failed."""
    return task_report(
        name,
        default=inf,
        best=inf,
        bound=inf,
        choice="",
        searches=(Search("grid", (inf, inf)),),
        points=(),
    )
