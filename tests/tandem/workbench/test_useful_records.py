"""Which of the best records make networks faster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from tandem.compiler.tune.built_in import built_in_records
from tandem.compiler.tune.plain import canonical, canonical_text
from tandem.compiler.tune.records import Record, append_records
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.scripts.tune.best_of import main
from tandem.workbench.devices import Accelerator
from tandem.workbench.models import ModelOptions, prepared_network
from tandem.workbench.useful_records import TimedNetwork, useful_in, useful_records

RECORDS = [replace(built_in_records()[0], template=name) for name in "abcd"]
A, B, C, D = RECORDS


def network(default: int, changes: Mapping[str, int], together: int = 0) -> TimedNetwork:
    """A network with a change of its cycles for each workload, and one for all of them together."""

    def cycles(records: Sequence[Record]) -> int:
        used = [record.template for record in records if record.template in changes]
        both = together if len(used) == len(changes) else 0
        return default + sum(changes[name] for name in used) + both

    return TimedNetwork(lambda record: record.template in changes, cycles)


def test_records_that_make_a_network_slower_are_dropped() -> None:
    assert useful_in(RECORDS, [network(100, {"a": -5, "b": 1, "c": 0})]) == [A, D]


def test_records_that_no_network_uses_are_kept() -> None:
    assert useful_in(RECORDS, []) == RECORDS


def test_networks_weigh_by_their_relative_cycles() -> None:
    small, large = network(100, {"a": -2, "b": 2, "c": -4}), network(10000, {"a": 3, "b": -300})
    assert useful_in([A, B, C], [small, large]) == [A, B, C]
    assert useful_in([A, B], [small, network(10000, {"a": 300})]) == []


def test_no_network_is_slower_than_without_records() -> None:
    """The second network loses what the first gains, and more than it gains by others."""
    networks = [network(100, {"a": -9}), network(100, {"a": 5, "b": -1}), network(100, {"c": -1})]
    assert useful_in([A, B, C], networks) == [C]


def test_two_that_harm_each_other() -> None:
    assert useful_in([A, B], [network(100, {"a": -2, "b": -3}, together=6)]) == [B]


def test_records_of_a_network() -> None:
    """A record with the compiler's own choice brings nothing; other targets' are kept."""
    machine = Accelerator(load_config("pynq-x"), parse_memory("fast"), hiding=True)
    own = machine.own_records(built_in_records())
    prepared = prepared_network("dqn-tiny", ModelOptions())
    machine.build(prepared)
    choices = {
        (task.template.name, canonical(task.workload)): task.default
        for task in machine.tasks(prepared)
    }
    good = next(r for r in own if (r.template, canonical_text(r.workload)) in choices)
    default = choices[good.template, canonical_text(good.workload)]
    on_cpu = replace(good, target="cpu")
    assert useful_records([good, on_cpu], [prepared]) == [good, on_cpu]
    assert useful_records([on_cpu, replace(good, choice=default)], [prepared]) == [on_cpu]


def test_an_unknown_network(tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    append_records(source, RECORDS)
    with pytest.raises(SystemExit, match=r"^error: .*'none'"):
        main([str(source), "--network", "none", "-o", str(tmp_path / "best.jsonl")])
