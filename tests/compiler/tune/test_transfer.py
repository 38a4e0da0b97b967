"""Records of other workloads teach the learned model."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from tandem.compiler.errors import RecordError
from tandem.compiler.machines.accelerator.target import TEMPLATES, accelerator
from tandem.compiler.machines.accelerator.templates.conv2d import Conv2dOnArray
from tandem.compiler.machines.accelerator.templates.conv2d_workload import Conv2dWorkload
from tandem.compiler.machines.accelerator.templates.machine_cost import MemoryTiming
from tandem.compiler.machines.defaults import LEARNED
from tandem.compiler.tune.candidates import Candidates
from tandem.compiler.tune.explorers.table import make_explorer
from tandem.compiler.tune.plain import canonical, from_plain, to_plain
from tandem.compiler.tune.records import Record
from tandem.compiler.tune.transfer import LEAST, Example, examples, workload_type
from tandem.compiler.tune.trial import Status
from tandem.hw.config_files import dump_config, load_config
from tests.support.compiler.machines.accelerator.templates.random_choices import drawn

CONFIG = load_config("small8")
MACHINE: dict[str, Any] = json.loads(dump_config(CONFIG))
TARGET = accelerator(CONFIG, MemoryTiming(64, 4))


def workload(rows: int) -> Conv2dWorkload:
    data, weight = (1, 4, rows, rows, 1, 8), (4, 4, 3, 3, 8, 8)
    return Conv2dWorkload(data, weight, (1, 1), (1, 1, 1, 1), (1, 1), 1, ())


@cache
def candidates(rows: int) -> Candidates:
    return Candidates.of(TARGET, Conv2dOnArray(), workload(rows))


def records(rows: int, count: int = 40) -> list[Record]:
    """Trials of random choices that cost what is estimated."""
    table = candidates(rows)
    chosen = np.random.default_rng(rows).choice(len(table), count, replace=False)
    return [
        Record(
            tandem="1",
            target="accelerator",
            machine=MACHINE,
            memory="edge",
            template="conv2d",
            workload=to_plain(workload(rows)),
            choice=table.choice(int(row)),
            status=Status.MEASURED,
            cost=float(table.estimates[row]),
            explorer="random",
            seed=0,
        )
        for row in chosen
    ]


CHOICE = dict(records(6)[0].choice)


def test_features_are_those_of_the_candidates() -> None:
    given = records(6)
    (example,) = examples(given, LEARNED)
    table = candidates(6)
    rows = [row for record in given if (row := table.row(record.choice)) is not None]
    assert example.workload == canonical(workload(6))
    assert np.array_equal(example.measured.features, table.features[rows])
    assert np.array_equal(example.measured.costs, table.estimates[rows])


def test_each_workload_machine_and_memory_is_an_example() -> None:
    other = [structs.replace(record, memory="fast") for record in records(6)]
    larger = [structs.replace(one, machine={**MACHINE, "bus_bits": 128}) for one in records(6)]
    found = examples([*records(6), *records(7), *other, *larger], LEARNED)
    assert len(found) == 4
    assert found[1].workload == canonical(workload(7))


def test_the_choices_of_each_space_are_an_example() -> None:
    table = Candidates.of(TARGET, Conv2dOnArray(), workload(6), wide=True)
    wide = [
        structs.replace(record, choice=table.choice(row), cost=float(table.estimates[row]))
        for row, record in enumerate(records(6))
    ]
    found = examples([*records(6), *wide], LEARNED)
    assert len(found) == 2
    assert np.array_equal(found[1].measured.features, table.features[: len(wide)])


def test_too_few_trials_and_failures_are_no_example() -> None:
    few = records(6, LEAST - 1)
    failed = [structs.replace(one, status=Status.FAILED, cost=None) for one in records(7)]
    on_cpu = [structs.replace(one, target="cpu") for one in records(8)]
    assert examples([*few, *failed, *on_cpu], LEARNED) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"template": "fft"}, "there is no schedule template fft"),
        ({"workload": {"is": "Conv2dWorkload"}}, "a Conv2dWorkload has data, weight"),
        ({"machine": {"log_batch": 99}}, "a record's machine: "),
        ({"memory": "slow"}, "a record's machine: "),
        ({"choice": {"colour": 1}}, "choices of another version: colour=1 is in no space of"),
        ({"choice": {**CHOICE, "oc": 1 << 40}}, "choices of another version: .*oc=1"),
        ({"choice": {**CHOICE, "oc": "all"}}, "choices of another version: .*oc=all"),
    ],
)
def test_what_another_version_wrote(change: dict[str, Any], message: str) -> None:
    with pytest.raises(RecordError, match=message):
        examples([structs.replace(record, **change) for record in records(6)], LEARNED)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
@pytest.mark.parametrize("name", ["small8", "small8-x"])
def test_workloads_of_every_template_are_read_back(template: Any, name: str) -> None:
    for seed in range(8):
        found = drawn(template, seed, load_config(name), 1).workload
        assert from_plain(workload_type(template), to_plain(found)) == found


def test_what_was_learned_elsewhere_is_proposed_first() -> None:
    """The first batch on a new size is better than chance."""
    table = candidates(9)
    taught: list[Example] = examples([*records(6, 80), *records(7, 80), *records(8, 80)], LEARNED)
    explorer = make_explorer("xgboost", table, 1, [one.measured for one in taught])
    first = [table.estimates[row] for row in explorer.propose(8)]
    assert np.median(first) < np.quantile(table.estimates, 0.05)
