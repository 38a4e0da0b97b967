"""What records know of workloads: the best choices, and how many there are."""

from __future__ import annotations

from dataclasses import replace

from tandem.compiler.tune.trial import Outcome
from tandem.workbench.recorded_workloads import recorded_workloads
from tests.support.workbench.tuning_records import IDENTITY, record


def test_the_best_is_the_first_of_the_lowest_cost() -> None:
    (row,) = recorded_workloads(
        [
            record(1, Outcome.failed("too large")),
            record(2, Outcome.measured(30)),
            record(3, Outcome.measured(20), "random"),
            record(4, Outcome.measured(20)),
            record(5, Outcome.abandoned()),
            record(2, Outcome.measured(30), "random"),
        ]
    )
    assert row.trials == 5
    assert row.best is not None
    assert (row.best.cost, row.best.explorer, row.best.choice) == (20, "random", {"x": 3})
    assert row.name == "conv2d 1x2"


def test_a_row_for_each_machine_memory_template_and_workload() -> None:
    others = [
        replace(IDENTITY, machine={"name": "pynq"}),
        # Two machines of one name.
        replace(IDENTITY, machine={"name": "pynq", "log_acc_buffer": 7}),
        replace(IDENTITY, memory="latency=64"),
        replace(IDENTITY, template="dense"),
        replace(IDENTITY, workload={"data": [1, 3]}),
    ]
    found = [record(1, Outcome.measured(9), identity=one) for one in (IDENTITY, *others)]
    rows = recorded_workloads([*found, *found])
    assert [row.trials for row in rows] == [1] * 6
    # Rows of one machine with one memory stand together.
    assert [(row.machine, row.memory) for row in rows] == [
        *[("tiny", "latency=16")] * 3,
        *[("pynq", "latency=16")] * 2,
        ("tiny", "latency=64"),
    ]
