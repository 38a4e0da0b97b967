"""What is kept at the end of tuning on a processor, with synthetic times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

import numpy as np
import pytest

from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.plan.schedule_template import Arguments
from tandem.compiler.plan.space import Space
from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.decision import MARGIN, Decisions, decide
from tandem.compiler.tune.recorded import Identity
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.session import TaskTuning
from tandem.compiler.tune.tasks import Task
from tandem.compiler.tune.trial import Outcome, Status
from tandem.compiler.tune.tuner import Tuning
from tandem.hw.config_files import load_config

ROUNDS = 15
TARGET = accelerator(load_config("tiny"))
PROCESSOR = {"name": "zen", "features": [], "threads": 1}


class Toy:
    """A template with one knob."""

    name = "toy"

    def space(self, workload: object, machine: object) -> Space:
        return Space({"x": tuple(range(9))})

    def wide_space(self, workload: object, machine: object) -> None:
        return None


def task(name: str, count: int = 1) -> Task:
    """A task whose default is x = 0."""
    layers = tuple(f"{name}{number}" for number in range(count))
    return Task(layers, TARGET, cast(Any, Toy()), name, Arguments(), {"x": 0})


def identity(of: Task) -> Identity:
    return Identity("1", "cpu", PROCESSOR, "", of.template.name, of.workload)


def trial(of: Task, x: int, cost: float | None) -> Record:
    record = Record(
        **{name: getattr(identity(of), name) for name in Identity.__dataclass_fields__},
        choice={"x": x},
        status=Status.FAILED if cost is None else Status.MEASURED,
        cost=cost,
        explorer="random" if x else "default",
        seed=0,
        limit=7.0,
    )
    assert record.limit is not None
    return record


def tuned(of: Task) -> TaskTuning:
    """Of a tuning nothing but its task counts here."""
    return TaskTuning(of, cast(Tuning, None), cast(Any, None), Outcome.measured(1.0))


Times: TypeAlias = Mapping[tuple[str, int], float]
Networks: TypeAlias = Mapping[tuple[int, ...], float]


def decided(
    tasks: Sequence[Task],
    known: Sequence[Record],
    times: Times,
    networks: Networks | None = None,
    new: Sequence[Record] | None = None,
) -> tuple[Decisions, list[tuple[str, int]], list[tuple[int, ...]]]:
    """Decisions with true times of choices, and of networks by their choices, each in a round of
    load; and the layers and networks that were compared."""
    layers: list[tuple[str, int]] = []
    compared: list[tuple[int, ...]] = []
    load = [1 + 0.5 * (number % 4) for number in range(ROUNDS)]

    def layer_times(of: Task, choice: Choice) -> tuple[list[float], list[float]]:
        x = int(choice["x"])
        layers.append((of.workload, x))
        default, other = times[of.workload, 0], times[of.workload, x]
        return [default * one for one in load], [other * one for one in load]

    def network_times(records: Sequence[Record]) -> tuple[list[float], list[float]]:
        choices = tuple(int(record.choice["x"]) for record in records)
        compared.append(choices)
        assert networks is not None
        return [networks[0, 0, 0] * one for one in load], [networks[choices] * one for one in load]

    made = known if new is None else new
    runs = [tuned(one) for one in tasks]
    return decide(runs, identity, known, made, layer_times, network_times), layers, compared


A, B, C = task("a"), task("b", count=3), task("c")
TRIALS = [
    *(trial(A, 0, 1.0), trial(A, 1, 0.9), trial(A, 2, 0.7)),
    *(trial(B, 0, 1.0), trial(B, 3, 0.8), trial(B, 4, None)),
    *(trial(C, 0, 1.0), trial(C, 5, 1.1)),
]
"""To tuning x = 2 of A and x = 3 of B seemed best, and nothing better than the default of C."""


def test_the_best_keeps_its_place_where_it_wins_again() -> None:
    times = {("a", 0): 1.0, ("a", 2): 0.8, ("b", 0): 1.0, ("b", 3): 1.2}
    found, layers, networks = decided([A, B, C], TRIALS, times, {(0, 0, 0): 5, (2, 0, 0): 4})
    assert layers == [("a", 2), ("b", 3)], "that of c is the default already"
    assert [one.choice for one in found.tasks] == [{"x": 2}, {"x": 0}, {"x": 0}]
    assert [one.kept for one in found.tasks] == [True, False, False]
    # The median of fifteen rounds under loads of 1, 1.5, 2 and 2.5.
    costs = [one.costs for one in found.tasks]
    np.testing.assert_allclose(np.array(costs), [(1.5, 1.2), (1.5, 1.5), (1.0, 1.0)])
    assert networks == [(2, 0, 0)]
    assert found.network is not None
    assert found.network.least == pytest.approx(0.25)


def test_the_records_of_winners_are_new_and_say_what_they_won_against() -> None:
    times = {("a", 0): 1.0, ("a", 2): 0.8, ("b", 0): 1.0, ("b", 3): 1.2}
    found, _, _ = decided([A, B, C], TRIALS, times, {(0, 0, 0): 5, (2, 0, 0): 4})
    first, second, third = found.fresh
    assert (first.choice, first.explorer) == ({"x": 2}, "random")
    assert first.cost == pytest.approx(1.2)
    assert first.default_cost == pytest.approx(1.5)
    assert (second.choice, second.explorer) == ({"x": 0}, "default")
    assert second.cost == second.default_cost == pytest.approx(1.5)
    assert (third.cost, third.default_cost) == (1.0, 1.0)
    assert {record.limit for record in found.fresh} == {None}


@pytest.mark.parametrize(("gain", "kept"), [(MARGIN * 0.9, False), (MARGIN * 1.1, True)])
def test_a_gain_that_is_not_worth_it(gain: float, kept: bool) -> None:
    times = {("a", 0): 1.0 + gain, ("a", 2): 1.0}
    found, _, _ = decided([A], TRIALS, times, {(0, 0, 0): 2, (2,): 1})
    assert [one.kept for one in found.tasks] == [kept]


def test_what_gains_least_is_dropped_until_the_network_is_faster() -> None:
    # B's three layers gain 0.6 in all, A's one 0.3; both together make the network slower.
    times = {("a", 0): 1.0, ("a", 2): 0.8, ("b", 0): 1.0, ("b", 3): 0.8}
    network: Networks = {(0, 0, 0): 5.0, (2, 3, 0): 5.1, (0, 3, 0): 4.5}
    found, _, networks = decided([A, B, C], TRIALS, times, network)
    assert networks == [(2, 3, 0), (0, 3, 0)]
    assert [one.choice for one in found.tasks] == [{"x": 0}, {"x": 3}, {"x": 0}]
    assert found.network is not None
    assert (found.network.default, found.network.challenger) == (7.5, 6.75)
    dropped = found.fresh[0]
    assert (dropped.choice, dropped.cost) == ({"x": 0}, dropped.default_cost)


def test_a_network_that_nothing_makes_faster_keeps_the_defaults() -> None:
    times = {("a", 0): 1.0, ("a", 2): 0.8, ("b", 0): 1.0, ("b", 3): 0.8}
    network: Networks = {(0, 0, 0): 5.0, (2, 3, 0): 5.0, (0, 3, 0): 5.0}
    found, _, networks = decided([A, B, C], TRIALS, times, network)
    assert networks == [(2, 3, 0), (0, 3, 0)]
    assert not any(one.kept for one in found.tasks)
    assert found.network is None
    assert [record.choice for record in found.fresh] == [{"x": 0}] * 3


def test_what_was_decided_is_not_compared_again() -> None:
    times = {("a", 0): 1.0, ("a", 2): 0.8, ("b", 0): 1.0, ("b", 3): 1.2}
    first, _, _ = decided([A, B, C], TRIALS, times, {(0, 0, 0): 5, (2, 0, 0): 4})
    known = [*TRIALS, *first.fresh]
    again, layers, networks = decided([A, B, C], known, {}, new=[])
    assert (layers, networks) == ([], [])
    assert [one.record for one in again.tasks] == [one.record for one in first.tasks]
    assert again.fresh == []
    assert again.network is None


def test_a_new_trial_is_compared_again() -> None:
    times = {("a", 0): 1.0, ("a", 2): 0.8, ("b", 0): 1.0, ("b", 3): 1.2}
    first, _, _ = decided([A, B, C], TRIALS, times, {(0, 0, 0): 5, (2, 0, 0): 4})
    better = trial(B, 6, 0.1)
    known = [*TRIALS, *first.fresh, better]
    times |= {("b", 6): 0.5}
    again, layers, networks = decided(
        [A, B, C], known, times, {(0, 0, 0): 5, (2, 6, 0): 3}, [better]
    )
    assert (layers, networks) == ([("b", 6)], [(2, 6, 0)])
    assert [one.choice for one in again.tasks] == [{"x": 2}, {"x": 6}, {"x": 0}]
    assert [record.choice for record in again.fresh] == [{"x": 6}]


def test_without_a_default_that_runs_there_is_nothing_to_compare_with() -> None:
    known = [trial(A, 0, None), trial(A, 2, 0.7)]
    found, layers, _ = decided([A], known, {}, {(0, 0, 0): 1.0, (2,): 0.5})
    assert layers == []
    (one,) = found.tasks
    assert (one.choice, one.costs, found.fresh) == ({"x": 2}, None, [])


def test_nothing_measured() -> None:
    found, _, _ = decided([A], [trial(A, 0, None)], {})
    assert found.tasks[0].choice is None
    assert not found.tasks[0].kept


def test_a_choice_of_another_version_is_not_compared() -> None:
    known = [*TRIALS[:3], trial(A, 99, 0.1)]
    found, layers, _ = decided([A], known, {("a", 0): 1.0, ("a", 2): 1.0})
    assert layers == [("a", 2)]
    assert replace(found.tasks[0], record=None).choice is None
