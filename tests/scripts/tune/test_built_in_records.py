"""`--records default`: the records that come with Tandem are true, and no network is slower."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tandem.compiler.driver.compile_onnx import PreparedNetwork
from tandem.compiler.tune.built_in import BuiltInChoices, built_in_records
from tandem.compiler.tune.plain import canonical, canonical_text
from tandem.hw.config_files import load_config
from tandem.hw.memory_model import parse_memory
from tandem.scripts.cli import app
from tandem.scripts.records import warn
from tandem.workbench.devices import Accelerator
from tandem.workbench.measurers.on_cycle import cycles_of
from tandem.workbench.models import ModelOptions, import_model
from tandem.workbench.recorded_choices import BUILT_IN, TunedLayers, best_known

TINY = (
    "digits dcgan-tiny mobilenet-v1-tiny mobilenet-v2-tiny lstm-tiny vit-tiny bert-tiny gpt2-tiny "
    "llama-tiny gpt2-decode-tiny llama-decode-tiny"
)
LARGE = "dqn dcgan resnet18 resnet34 resnet50"
IMPROVED = {
    ("tiny", "fast"): "digits",
    ("small8", "fast"): f"{TINY} dqn-tiny",
    ("small8-x", "fast"): f"{TINY} dqn-tiny",
    ("pynq", "fast"): f"{TINY.replace('dcgan-tiny ', '')} {LARGE}",
    ("pynq", "edge"): LARGE,
    ("pynq-x", "fast"): f"{TINY} dqn-tiny {LARGE}",
    ("pynq-x", "edge"): LARGE,
}
"""Networks that have records on a preset with a memory."""
QUICK = {("digits", "tiny"), ("dqn-tiny", "pynq-x"), ("lstm-tiny", "small8")}
NETWORKS = [
    pytest.param(
        name,
        config,
        memory,
        marks=() if (name, config) in QUICK else pytest.mark.exhaustive,
        id=f"{name}-{config}-{memory}",
    )
    for (config, memory), names in IMPROVED.items()
    for name in names.split()
]


def network(name: str) -> PreparedNetwork:
    options = ModelOptions()
    return import_model(name, options, None).prepared(None)


@pytest.mark.every(2)
@pytest.mark.parametrize(("name", "config", "memory"), NETWORKS)
def test_a_network_is_no_slower_and_its_records_are_true(
    name: str, config: str, memory: str
) -> None:
    plain = Accelerator(load_config(config), parse_memory(memory), hiding=True)
    known = best_known(BUILT_IN, plain, warn)
    assert isinstance(known, BuiltInChoices)
    prepared = network(name)
    best = plain.with_tuned(known)
    assert best.cycles(best.build(prepared)) < plain.cycles(plain.build(prepared))
    costs = {
        (record.template, canonical_text(record.workload)): record.cost
        for record in built_in_records()
        if record.machine["name"] == config and parse_memory(record.memory) == plain.memory
    }
    recorded = 0
    for task in best.tasks(prepared):
        cost = costs.get((task.template.name, canonical(task.workload)))
        if cost is None:
            # Nothing beats the compiler's own choice.
            assert known.choice(task.template, task.workload) is None
            continue
        # The record's cost is the layer's exact time today.
        recorded += 1
        assert task.default == known.choice(task.template, task.workload)
        assert cycles_of(plain.layer(task), task.default, float("inf")).cost == cost
    assert recorded


@pytest.mark.exhaustive
def test_a_command_says_whose_records_it_takes(tmp_path: Path) -> None:
    output = str(tmp_path / "digits.tandem")
    asked = ["compile", "digits", "--config", "tiny", "--records", BUILT_IN, "-o", output]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.stderr
    wanted = (
        "schedules: 6 of 11 layers by records that come with Tandem, 5 by the compiler's estimate"
    )
    assert result.stdout.splitlines()[-1] == wanted


def test_the_keyword_and_a_file_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("default").write_text("")
    tiny = Accelerator(load_config("tiny"), parse_memory("fast"))
    assert len(best_known("default", tiny, warn)._choices) == 6
    assert best_known("./default", tiny, warn)._choices == {}


def test_a_machine_without_records() -> None:
    known = best_known(BUILT_IN, Accelerator(load_config("batch2"), parse_memory("fast")), warn)
    assert not known._choices
    found = str(TunedLayers((), 0, 5, True))
    wanted = (
        "schedules: 0 of 5 layers by records that come with Tandem, 5 by the compiler's estimate"
    )
    assert found == wanted
