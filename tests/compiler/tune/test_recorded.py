"""Outcomes that are known are not measured again; new ones are recorded as they come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from tandem.compiler.te.knobs import Choice
from tandem.compiler.tune.recorded import Identity, Proposer, RecordedMeasure, RecordedOutcomes
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.trial import Outcome, Status

IDENTITY = Identity("1", "accelerator", {"name": "tiny"}, "latency=16", "conv2d", [1, 2])
BY = Proposer("random", 7)
CHOICES: list[Choice] = [{"x": x} for x in range(4)]
INFINITE = float("inf")


class Bench:
    """Measures choices backwards, and counts."""

    def __init__(self) -> None:
        self.asked: list[Choice] = []

    def __call__(self, choices: Sequence[Choice], limit: float) -> Iterator[tuple[int, Outcome]]:
        for at in reversed(range(len(choices))):
            self.asked.append(choices[at])
            cost = float(choices[at]["x"]) * 10
            yield at, Outcome.measured(cost) if cost <= limit else Outcome.abandoned()


@pytest.fixture
def saved() -> list[Record]:
    return []


def measure(
    bench: Bench, known: RecordedOutcomes, saved: list[Record], identity: Identity = IDENTITY
) -> RecordedMeasure:
    return RecordedMeasure(identity, BY, known, bench, saved.append)


def test_outcomes_are_in_the_order_of_choices(saved: list[Record]) -> None:
    bench = Bench()
    found = measure(bench, RecordedOutcomes(), saved)(CHOICES, INFINITE)
    assert [outcome.cost for outcome in found] == [0, 10, 20, 30]
    assert [record.choice for record in saved] == [*reversed(CHOICES)]


def test_what_is_recorded_is_not_measured(saved: list[Record]) -> None:
    first = Bench()
    measure(first, RecordedOutcomes(), saved)(CHOICES[:2], INFINITE)
    known = RecordedOutcomes()
    known.add(saved)
    second = Bench()
    found = measure(second, known, [])([*CHOICES, CHOICES[0]], INFINITE)
    assert [outcome.cost for outcome in found] == [0, 10, 20, 30, 0]
    assert second.asked == [CHOICES[3], CHOICES[2]]


def test_every_record_is_saved_before_the_next_measurement_ends(saved: list[Record]) -> None:
    seen = []

    def bench(choices: Sequence[Choice], limit: float) -> Iterator[tuple[int, Outcome]]:
        for at in range(len(choices)):
            seen.append(len(saved))
            yield at, Outcome.measured(1)

    RecordedMeasure(IDENTITY, BY, RecordedOutcomes(), bench, saved.append)(CHOICES, INFINITE)
    assert seen == [0, 1, 2, 3]


def test_the_record() -> None:
    for outcome, cost in (
        (Outcome.measured(5.0), 5.0),
        (Outcome.abandoned(), None),
        (Outcome.failed("no\nroom"), None),
    ):
        record = IDENTITY.record({"x": 1}, outcome, 40.0, BY)
        assert record.outcome == outcome
        assert (record.cost, record.limit, record.reason) == (cost, 40.0, outcome.reason)
        assert (record.explorer, record.seed, record.workload) == ("random", 7, [1, 2])
    assert IDENTITY.record({"x": 1}, Outcome.measured(5.0), INFINITE, BY).limit is None


@pytest.mark.parametrize(
    ("status", "cost", "was", "limit", "again"),
    [
        (Status.MEASURED, 20.0, None, INFINITE, Outcome.measured(20.0)),
        (Status.MEASURED, 20.0, None, 20.0, Outcome.measured(20.0)),
        (Status.MEASURED, 20.0, None, 19.0, Outcome.abandoned()),
        (Status.ABANDONED, None, 40.0, 40.0, Outcome.abandoned()),
        (Status.ABANDONED, None, 40.0, 30.0, Outcome.abandoned()),
        (Status.ABANDONED, None, 40.0, 41.0, None),
        (Status.ABANDONED, None, 40.0, INFINITE, None),
        (Status.FAILED, None, None, 1.0, Outcome.failed("")),
    ],
)
def test_what_a_record_tells_of_another_limit(
    status: Status, cost: float | None, was: float | None, limit: float, again: Outcome | None
) -> None:
    record = IDENTITY.record({"x": 1}, Outcome(status, cost or 0), was or INFINITE, BY)
    known = RecordedOutcomes()
    known.add([record])
    assert known.outcome(IDENTITY.key(), {"x": 1}, limit) == again


@pytest.mark.parametrize(
    "other",
    [
        replace(IDENTITY, tandem="0"),
        replace(IDENTITY, target="cpu"),
        replace(IDENTITY, machine={"name": "pynq"}),
        replace(IDENTITY, memory="latency=64"),
        replace(IDENTITY, template="dense"),
        replace(IDENTITY, workload=[1, 3]),
    ],
)
def test_other_measurements_tell_nothing(other: Identity, saved: list[Record]) -> None:
    known, bench = RecordedOutcomes(), Bench()
    known.add([IDENTITY.record(CHOICES[0], Outcome.measured(1), INFINITE, BY)])
    measure(bench, known, saved, other)(CHOICES[:1], INFINITE)
    assert bench.asked == CHOICES[:1]
