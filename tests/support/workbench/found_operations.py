"""What a search for operations came to, made up."""

from __future__ import annotations

from tandem.compiler.machines.accelerator.discovery.candidates import Dropped
from tandem.compiler.machines.accelerator.discovery.costs import SetCost, with_operations
from tandem.compiler.machines.accelerator.discovery.pass_counts import PassCounts
from tandem.compiler.machines.accelerator.discovery.sets import RatedSet
from tandem.hw.config_files import load_config
from tandem.hw.custom_operations import CustomOperation
from tandem.workbench.discovery.found import (
    Area,
    Found,
    FoundOperation,
    FrontSet,
    NetworkCycles,
    NetworkPasses,
)


def found_operations(model: str = "digits", after: int = 900) -> Found:
    """One operation, for a model and one that was held out."""
    baseline = load_config("small8")
    operation = CustomOperation.from_json(
        {
            "name": "ADD_SHR",
            "result": "int32(a + b) >> shift",
            "parameters": {"shift": "uint5"},
        }
    )
    cost = SetCost(120, 0, 0.0125)
    return Found(
        baseline=baseline,
        config=with_operations(baseline, (operation,)),
        operations=(
            FoundOperation(operation, "int32(int32(a + b) >> shift)", "proved", 3, 77, cost),
        ),
        networks=(
            NetworkCycles(model, 1000, after, 200, 100, held_out=False, extended=800),
            NetworkCycles("other", 500, 500, 0, 0, held_out=True),
        ),
        area=Area(cost, "synthesis"),
        candidates=12,
        dropped=(Dropped((), "parameters of 19 bits"), Dropped((), "parameters of 19 bits")),
        passes=(NetworkPasses(model, PassCounts(60, 20, 30, 90, 20, 10, results=5)),),
        front=(
            FrontSet(RatedSet((0,), (900,), 0.9, cost), ("int32(a + b) >> shift",)),
            FrontSet(RatedSet((), (1000,), 1.0, SetCost(0, 0, 0.0)), ()),
        ),
        greedy=0.9,
        judged=4,
        seconds=5.0,
    )
