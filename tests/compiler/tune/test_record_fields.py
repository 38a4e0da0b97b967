"""What records may have, at both sides of each limit."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

import pytest

from tandem.compiler.errors import RecordError
from tandem.compiler.tune.record_fields import (
    check_choice,
    check_cost,
    check_machine,
    check_proposer,
    check_winner,
    check_workload,
)
from tandem.compiler.tune.trial import Status
from tandem.hw.config_files import dump_config, load_config

TINY = json.loads(dump_config(load_config("tiny")))
ZEN = {"name": "zen", "features": ["avx2"], "threads": 1}
MEASURED = Status.MEASURED


def refused(message: str, check: Callable[..., None], *arguments: Any) -> None:
    with pytest.raises(RecordError, match=f"^{re.escape(message)}"):
        check(*arguments)


def test_machines() -> None:
    check_machine("accelerator", TINY, "fast")
    check_machine("accelerator", TINY, "latency=5,interval=1,in_flight=2")
    check_machine("cpu", ZEN, "")
    check_machine("cpu", {**ZEN, "features": [], "threads": 9}, "")
    # Those of others are as they like.
    check_machine("theirs", {"any": "thing"}, "anything")
    refused(
        "target is empty: it must be accelerator, cpu, or a target's name",
        check_machine,
        "",
        {},
        "",
    )
    refused("machine", check_machine, "accelerator", ZEN, "fast")
    refused("", check_machine, "accelerator", TINY, "slow")
    refused(
        "memory is 'fast': records of a processor have an empty", check_machine, "cpu", ZEN, "fast"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cores": 3}, "machine: 'cores' is unknown; a processor has name, features and threads"),
        ({"name": ""}, "machine: name is '': it must be a processor's name"),
        ({"name": 3}, "machine: name is 3: it must be a processor's name"),
        ({"features": "avx2"}, "machine: features is 'avx2': it must be a list of names"),
        ({"features": ["avx2", 2]}, "machine: features is ['avx2', 2]: it must be a list of names"),
        ({"threads": 0}, "machine: threads is 0: it must be a whole number from 1"),
        ({"threads": True}, "machine: threads is True: it must be a whole number from 1"),
        ({"threads": 1.0}, "machine: threads is 1.0: it must be a whole number from 1"),
    ],
)
def test_processors(changes: dict[str, object], message: str) -> None:
    refused(message, check_machine, "cpu", {**ZEN, **changes}, "")


def test_a_processor_without_a_name() -> None:
    short = {"features": [], "threads": 1}
    refused("machine: 'name' is missing; a processor has", check_machine, "cpu", short, "")


def nested(levels: int, inner: object = 0) -> object:
    """A number in so many lists and mappings."""
    for level in range(levels):
        inner = [0, inner] if level % 2 else {"a": 0, "b": inner}
    return inner


def test_workloads_are_nested_a_hundred_levels_deep_at_most() -> None:
    check_workload(3)
    check_workload(nested(100))
    refused("workload is nested more than 100 levels deep", check_workload, nested(101))


def test_choices() -> None:
    most = (1 << 31) - 1
    check_choice({})
    check_choice({"x": most, "y": -most, "order": "a" * 99})
    refused("choice: the name of a knob is empty", check_choice, {"x": 1, "": 1})
    allowed = f"it must lie in {-most}..{most}"
    refused(f"choice: x is {most + 1}: {allowed}", check_choice, {"x": most + 1})
    refused(f"choice: x is {-most - 1}: {allowed}", check_choice, {"x": -most - 1})
    # Long numbers are cut behind 40 characters.
    refused(f"choice: x is {'1' * 40}: ", check_choice, {"x": int("1" * 40)})
    refused(f"choice: x is {'1' * 40}...: ", check_choice, {"x": int("1" * 41)})


@pytest.mark.parametrize(
    ("target", "cost"),
    [
        ("accelerator", 1),
        ("accelerator", 2.0),
        ("accelerator", (1 << 63) - 1),
        ("cpu", 1e-9),
        ("cpu", 0.5),
        ("theirs", 0.5),
    ],
)
def test_costs(target: str, cost: float) -> None:
    check_cost(target, MEASURED, cost)


@pytest.mark.parametrize(
    ("target", "costs", "allowed"),
    [
        (
            "accelerator",
            (None, 0, -1, 1.5, 1 << 63, math.inf),
            "cycles, a whole number from 1 to 9223372036854775807",
        ),
        ("cpu", (None, 0, -1.0, math.inf, math.nan, 10**400), "seconds, a number above 0"),
        ("theirs", (None, 0, -1.0, math.inf, 10**400), "a number above 0"),
    ],
)
def test_costs_that_are_none(target: str, costs: tuple[Any, ...], allowed: str) -> None:
    for cost in costs:
        with pytest.raises(RecordError, match=f": that of a measured trial is {allowed}$"):
            check_cost(target, MEASURED, cost)
    refused("cost is null: that of a measured", check_cost, target, MEASURED, None)


def test_what_was_not_measured_has_no_cost() -> None:
    for status in Status:
        if status is not MEASURED:
            check_cost("cpu", status, None)
            said = f"a trial that is {status.value} has none"
            refused(f"cost is 1.0: {said} (null)", check_cost, "cpu", status, 1.0)
            refused(f"default_cost is 1.0: {said}", check_winner, status, 1.0)


def test_winners() -> None:
    check_winner(MEASURED, 0.5)
    for cost in (0.0, -1.0, math.inf):
        refused(f"default_cost is {cost}: it must be a number ab", check_winner, MEASURED, cost)


def test_proposers() -> None:
    check_proposer(None, "random", 0)
    check_proposer(0.5, "random", 7)
    for limit in (0.0, -1.0, math.inf):
        refused(
            f"limit is {limit}: it must be a number above 0, or null", check_proposer, limit, "x", 0
        )
    refused("explorer is empty: it must be the name of one", check_proposer, None, "", 0)
    refused("seed is -1: it must be 0 or more", check_proposer, None, "x", -1)
