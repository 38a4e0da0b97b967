"""Of each workload on each machine with each memory, the best measured record is kept."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from tandem.compiler.tune.best_known import BestKnown
from tandem.compiler.tune.best_records import best_records
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.trial import Status
from tests.support.hw.rtl.rtl import seeds


def record(workload: int, machine: str, memory: str, status: Status, cost: int, x: int) -> Record:
    return Record(
        tandem="1",
        target="accelerator",
        machine={"name": machine},
        memory=memory,
        template="conv2d",
        workload=[workload],
        choice={"x": x},
        status=status,
        cost=cost if status is Status.MEASURED else None,
        explorer="random",
        seed=0,
    )


@pytest.mark.parametrize("seed", seeds(3))
def test_the_best_of_each(seed: int) -> None:
    random = Random(seed)
    places = list(product((1, 2, 3), ("a", "b"), ("fast", "ddr")))
    records = [
        record(*random.choice(places), random.choice(list(Status)), random.randrange(5), x)
        for x in range(100)
    ]
    kept = best_records(records)
    found = {(one.workload[0], one.machine["name"], one.memory): one for one in kept}
    assert len(found) == len(kept)
    for place in places:
        costs = {
            one.outcome.cost
            for one in records
            if (one.workload[0], one.machine["name"], one.memory) == place
            and one.status is Status.MEASURED
        }
        assert ({found[place].outcome.cost} if place in found else set()) == set(sorted(costs)[:1])
    assert best_records(kept) == kept
    assert best_records(random.sample(kept, len(kept))) == kept


def test_the_compiler_takes_the_same_of_both() -> None:
    records = [record(1, "a", "fast", Status.MEASURED, cost, cost) for cost in (3, 1, 2, 1)]
    kept = best_records(records)
    assert [one.choice["x"] for one in kept] == [1]
    assert BestKnown(kept)._choices == BestKnown(records)._choices


def test_nothing_measured_keeps_nothing() -> None:
    assert best_records([record(1, "a", "fast", Status.FAILED, 1, 1)]) == []
