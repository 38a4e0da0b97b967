"""Which record's choice is taken: the winner of a comparison, else the lowest cost."""

from __future__ import annotations

from math import inf

from msgspec import UNSET, UnsetType

from tandem.compiler.tune.best_known import BestKnown, OfFallbacks, best_record, of_machine
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.trial import Status


def record(x: int, cost: float | None, default_cost: float | UnsetType = UNSET) -> Record:
    return Record(
        tandem="1",
        target="cpu",
        machine={"name": "zen", "features": [], "threads": 1},
        memory="",
        template="conv2d",
        workload="w",
        choice={"x": x},
        status=Status.FAILED if cost is None else Status.MEASURED,
        cost=cost,
        explorer="random",
        seed=0,
        default_cost=default_cost,
    )


def test_the_lowest_cost_the_first_of_equal_ones() -> None:
    records = [record(0, None), record(1, 3.0), record(2, 2.0), record(3, 2.0)]
    assert best_record(records) == records[2]
    assert best_record(records[:1]) is None
    assert best_record([]) is None


def test_the_last_winner_of_a_comparison_before_any_lower_cost() -> None:
    lucky, first, last = record(1, 1.0), record(2, 3.0, 4.0), record(3, 3.5, 3.5)
    assert best_record([first, lucky, last]) == last
    assert best_record([last, lucky, first]) == first
    assert best_record([lucky]) == lucky


class Named:
    """A template, as far as records know it."""

    def __init__(self, name: str, *, is_fallback: bool = False) -> None:
        self.name, self.is_fallback = name, is_fallback


def test_choices_and_costs_of_templates() -> None:
    known = BestKnown([record(1, 3.0), record(2, 2.0)])
    conv2d, other = Named("conv2d"), Named("dense")
    assert known.choice(conv2d, "w") == {"x": 2}
    assert known.cost(conv2d, "w") == 2.0
    assert known.cost(conv2d, "v") == inf
    assert known.choice(other, "w") is None
    assert known.knows(conv2d)
    assert not known.knows(other)


def test_those_of_fallbacks_alone() -> None:
    known = OfFallbacks(BestKnown([record(1, 3.0)]))
    usual, fallback = Named("conv2d"), Named("conv2d", is_fallback=True)
    assert known.choice(usual, "w") is None
    assert known.cost(usual, "w") == inf
    assert not known.knows(usual)
    assert known.choice(fallback, "w") == {"x": 1}
    assert known.cost(fallback, "w") == 3.0
    assert known.knows(fallback)


def test_machines_are_equal_in_every_field() -> None:
    own = record(1, 1.0)
    other = {"name": "zen", "features": [], "threads": 2}
    assert of_machine([own], {"threads": 1, "features": [], "name": "zen"}, "") == (own,)
    assert of_machine([own], other, "") == ()
    assert of_machine([own], own.machine, "fast") == ()
