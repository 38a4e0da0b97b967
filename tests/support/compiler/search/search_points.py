"""Measured machines with chosen figures."""

from __future__ import annotations

from typing import Any

from tandem.compiler.search.estimates import Estimate
from tandem.compiler.search.objectives import Objective, costs_of
from tandem.compiler.search.points import Point, with_front
from tandem.compiler.search.results import Measured
from tandem.compiler.search.work import LayerWork, StreamWork
from tandem.hw.config import HardwareConfig
from tandem.hw.memory_model import DEFAULT_MEMORY
from tandem.workbench.pages.search.page import Marked, SearchPage

OBJECTIVES = (Objective.CYCLES, Objective.AREA)


def point(cycles: int, area: float, name: str = "mine", **changes: Any) -> Point:
    """A machine that runs two layers; with cycles 0 one that cannot."""
    config = HardwareConfig(name=name, **changes)
    estimate = Estimate(area, "model", 100.0, "given", {"lut": 1_000, "dsp": 29})
    if not cycles:
        return Point(config, Measured((), (), "too small"), estimate, None)
    layers = (
        LayerWork("a", 256_000, 1_200, 300, 4_000, 2_000),
        LayerWork("b", 25_600, 100, 50, 9_000, 100),
    )
    work = (StreamWork(f"{cycles}", layers),)
    measured = Measured((cycles,), work)
    costs = costs_of(config, (cycles,), work, (1.0,), area, 100.0)
    return Point(config, measured, estimate, costs)


def points() -> tuple[Point, ...]:
    """Five machines, two of them on the front, one that cannot run."""
    found = (
        point(9_000, 500.0, log_wgt_buffer=17),
        point(5_000, 900.0),
        point(9_500, 600.0, log_inp_buffer=14),
        point(0, 100.0, log_inp_buffer=13),
        point(6_000, 950.0, bus_bits=128, log_acc_buffer=16),
    )
    return with_front(found, OBJECTIVES)


def search_page(**changes: Any) -> SearchPage:
    """A page of these machines."""
    content: dict[str, Any] = {
        "models": ("little_net",),
        "space": "small",
        "explorer": "nsga2",
        "memory": "fast",
        "memory_model": DEFAULT_MEMORY,
        "objectives": OBJECTIVES,
        "points": points(),
        "marked": (Marked("pynq", point(7_000, 1_000.0, "pynq")),),
        "streams": 4,
        "seconds": 12.3,
        "command": "tandem search little_net.onnx --report page.html",
        "versions": (("tandem-workbench", "0.1.0"),),
    }
    return SearchPage(**(content | changes))
