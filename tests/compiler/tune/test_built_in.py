"""The records that come with Tandem: of presets, each its best, and choices that fit."""

from __future__ import annotations

from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from tandem.compiler.machines.accelerator.machine import AcceleratorTarget
from tandem.compiler.machines.accelerator.target import TEMPLATES
from tandem.compiler.tune.best_records import best_records
from tandem.compiler.tune.built_in import built_in_files
from tandem.compiler.tune.plain import canonical_text, from_plain
from tandem.compiler.tune.records import Record, read_records
from tandem.compiler.tune.trial import Status
from tandem.hw.config_files import load_config, parse_config
from tandem.hw.memory_model import MEMORY_PRESETS, parse_memory


@pytest.mark.parametrize("path", built_in_files(), ids=lambda path: path.stem)
def test_a_file_holds_the_best_of_one_preset_with_one_memory(path: Path) -> None:
    records, damages = read_records(path)
    preset, _, memory = path.stem.rpartition("-")
    assert not damages
    assert records
    assert best_records(records) == records
    for record in records:
        assert record.target == "accelerator"
        assert parse_config(canonical_text(record.machine), "a record") == load_config(preset)
        assert parse_memory(record.memory) == MEMORY_PRESETS[memory]


def test_there_are_files() -> None:
    wanted = {"tiny-fast", "small8-fast", "small8-x-fast"}
    wanted |= {f"{preset}-{memory}" for preset in ("pynq", "pynq-x") for memory in ("fast", "edge")}
    assert {path.stem for path in built_in_files()} == wanted


@pytest.mark.parametrize("path", built_in_files(), ids=lambda path: path.stem)
def test_choices_fit(path: Path) -> None:
    for record in read_records(path)[0]:
        check_choice(record)


def check_choice(record: Record) -> None:
    config = parse_config(canonical_text(record.machine), "a record")
    machine = AcceleratorTarget.of(config)
    (template,) = (one for one in TEMPLATES if one.name == record.template)
    of_workload, _ = get_args(get_type_hints(type(template).bind)["return"])
    workload = from_plain(of_workload, record.workload)
    assert record.status is Status.MEASURED
    wide = "part" in record.choice
    space = (template.wide_space if wide else template.space)(workload, machine)
    assert space is not None
    assert set(record.choice) == set(space.knobs)
    assert all(record.choice[knob] in settings for knob, settings in space.knobs.items())
    row = space.choices({knob: (setting,) for knob, setting in record.choice.items()})
    assert len(row) == 1
    assert template.fits(workload, row, machine).all()
