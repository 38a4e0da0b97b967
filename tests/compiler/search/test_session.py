"""Searches that are interrupted at any point, and resumed: no machine is lost or measured twice."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tandem.compiler.errors import SearchError
from tandem.compiler.machines.accelerator.timed_streams import TIME_FIELDS, code_of
from tandem.compiler.search.estimates import Estimator
from tandem.compiler.search.explorer_names import Explorer
from tandem.compiler.search.objectives import Objective
from tandem.compiler.search.points import Point, with_front
from tandem.compiler.search.proposals import Proposer
from tandem.compiler.search.results import Results, open_results
from tandem.compiler.search.session import Search
from tandem.compiler.search.space import Limits, load_space
from tandem.compiler.search.storage import Storage
from tandem.compiler.search.work import Group, LayerWork, StreamWork, Times
from tandem.hw.config import HardwareConfig

OBJECTIVES = (Objective.CYCLES, Objective.AREA)
POINTS = 110
"""More than a batch."""
FEW = 40


class Killed(Exception):
    """The process ended here."""


@dataclass
class CountingPool:
    """Measures by a formula, in an order of its own, and ends after some groups."""

    seed: int = 0
    groups_left: int = 10**9
    measured: list[HardwareConfig] = field(default_factory=list)

    def measure(
        self, layer: Any, choices: Sequence[Group], limit: float
    ) -> Iterator[tuple[int, Times]]:
        order = [*range(len(choices))]
        random.Random(self.seed).shuffle(order)
        for at in order:
            if not self.groups_left:
                raise Killed
            self.groups_left -= 1
            group = choices[at]
            self.measured += group.machines
            yield at, times(group)


def times(group: Group) -> Times:
    code = group.code
    if code.log_inp_buffer == 9:
        return Times.refused("too small")
    work = StreamWork(str(hash(code)), (LayerWork("a", 10, 10, 10, 10, 10),))
    cycles = tuple(
        (1_000_000 // machine.macs + machine.longest_burst + machine.load_buffer,)
        for machine in group.machines
    )
    return Times((work,), cycles, ("",) * len(cycles))


@pytest.fixture
def results(tmp_path: Path) -> Iterator[Results]:
    with open_results(tmp_path / "results", "task") as found:
        yield found


def search(pool: CountingPool, results: Results) -> Search:
    estimator = Estimator(Limits())
    proposer = Proposer(load_space("small"), Explorer.NSGA2, 5, 2, estimator.allowed, TIME_FIELDS)
    return Search(None, OBJECTIVES, (1.0,), proposer, estimator, pool, results, code_of)


def storage(folder: Path, name: str = "study") -> Storage:
    return Storage.open(f"sqlite:///{folder / name}.db", name, load_space("small"), OBJECTIVES)


def whole(folder: Path, results: Results, points: int = POINTS) -> tuple[Point, ...]:
    found = search(CountingPool(), results).run(
        storage(folder, "whole"), points, lambda: False, lambda done, programs: None
    )
    return with_front(found, OBJECTIVES)


def test_killed_and_resumed(tmp_path: Path, results: Results) -> None:
    pools = [CountingPool(seed=seed, groups_left=2 + 2 * seed) for seed in range(3)]
    pools.append(CountingPool())
    found: tuple[Point, ...] = ()
    for pool in pools:
        running = search(pool, results)
        try:
            found = running.run(
                storage(tmp_path), POINTS, lambda: False, lambda done, programs: None
            )
        except Killed:
            assert pool is not pools[-1]
    assert len(found) == POINTS
    measured = [machine for pool in pools for machine in pool.measured]
    assert len(set(measured)) == len(measured) == POINTS
    assert with_front(found, OBJECTIVES) == whole(tmp_path, results)
    assert len(storage(tmp_path).stored()) == POINTS


def test_what_other_searches_measured_is_known(tmp_path: Path, results: Results) -> None:
    before = whole(tmp_path, results, FEW)
    pool = CountingPool()
    found = search(pool, results).run(
        storage(tmp_path, "other"), FEW, lambda: False, lambda done, programs: None
    )
    assert pool.measured == []
    assert with_front(found, OBJECTIVES) == before


def test_machines_that_cannot_run_are_points_without_costs(
    tmp_path: Path, results: Results
) -> None:
    refused = [point for point in whole(tmp_path, results, FEW) if point.costs is None]
    assert refused
    for point in refused:
        assert not point.front
        assert point.as_json()["reason"] == "too small"
        assert point.as_json()["cycles"] is None


def test_more_machines_go_on_where_fewer_ended(tmp_path: Path, results: Results) -> None:
    few = whole(tmp_path, results, 10)
    more = whole(tmp_path, results, 20)
    assert [point.config for point in more[:10]] == [point.config for point in few]


def test_no_batch_begins_when_the_time_is_over(tmp_path: Path, results: Results) -> None:
    shown: list[int] = []
    found = search(CountingPool(), results).run(
        storage(tmp_path), None, lambda: len(shown) > 0, lambda done, programs: shown.append(done)
    )
    assert len(found) == len(shown) == 96


def test_a_storage_with_the_machines_of_another_search(tmp_path: Path, results: Results) -> None:
    whole(tmp_path, results, 10)
    estimator = Estimator(Limits())
    other = Proposer(load_space("small"), Explorer.NSGA2, 6, 2, estimator.allowed, TIME_FIELDS)
    running = Search(None, OBJECTIVES, (1.0,), other, estimator, CountingPool(), results, code_of)
    with pytest.raises(SearchError, match="the machines of another search"):
        running.run(storage(tmp_path, "whole"), 10, lambda: False, lambda done, programs: None)
