"""The samples that come with Tandem, against synthesis of today's hardware."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tandem.compiler.search.space import load_space
from tandem.hw.area import estimate as area
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import dump_config, load_config
from tandem.hw.errors import HardwareError
from tandem.hw.rtl.verilog import VerilogDesign, generate
from tandem.hw.synthesis import estimate as resources
from tandem.hw.synthesis.families import Family
from tandem.scripts.search import samples
from tandem.scripts.search.samples import measured


def test_an_area_is_that_of_todays_hardware() -> None:
    config = load_config("tiny-x")
    sample = next(known for known in area.samples() if known.config == config)
    found = measured(config, "area")
    assert found == {unit: getattr(sample, unit) for unit in found}


def test_a_clock_is_that_of_one_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    config = load_config("tiny-x")

    def placed(design: VerilogDesign, seeds: Sequence[int]) -> SimpleNamespace:
        assert design == generate(config)
        return SimpleNamespace(median=SimpleNamespace(mhz=100 + len(seeds)))

    monkeypatch.setattr(samples, "place_and_route", placed)
    assert measured(config, "clock") == {"mhz": 101}


@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
def test_areas_of_all_samples() -> None:
    samples = area.samples()
    for sample in samples:
        found = measured(sample.config, "area")
        assert found == {unit: getattr(sample, unit) for unit in found}, sample.config
    assert len(samples) == 58


@pytest.mark.exhaustive
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("family", [Family.ECP5, Family.XC7])
def test_resources_of_the_smallest_samples(family: Family) -> None:
    """Of both kinds of machines that the family has: with requantisers and without."""
    mine = [sample for sample in resources.samples() if sample.family is family]
    mine.sort(key=lambda sample: sample.lut)
    kinds = {len(sample.config.features) == 3: sample for sample in reversed(mine)}
    assert len(kinds) == 2
    for sample in kinds.values():
        found = measured(sample.config, family.value)
        assert all(found[unit] == getattr(sample, unit) for unit in ("lut", "ff", "dsp", "bram"))


def test_the_command_measures_what_its_file_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[HardwareConfig] = []

    def counted(config: HardwareConfig, kind: str) -> dict[str, object]:
        asked.append(config)
        if len(asked) == 2:
            raise HardwareError("too large")
        return {"lut": len(asked), "kind of": kind}

    monkeypatch.setattr(samples, "measured", counted)
    output = tmp_path / "samples.jsonl"

    def run(*options: str) -> list[dict[str, Any]]:
        monkeypatch.setattr(sys, "argv", ["samples", "ecp5", *options, "-o", str(output)])
        samples.main()
        return [json.loads(line) for line in output.read_text().splitlines()]

    first, second = run("--count", "2", "--space", "small")
    assert (first["lut"], first["kind of"]) == (1, "ecp5")
    assert "lut" not in second
    assert second["refused"] == "too large"
    space = load_space("small")
    fields = {name for each in space.dimensions for name in each.fields}
    base = json.loads(dump_config(load_config("small8")))
    assert all(
        {name for name in base if base[name] != one["config"][name]} <= {*fields, "name"}
        for one in (first, second)
    )
    # What is there is not measured again, and another seed draws other machines.
    assert len(run("--count", "2", "--space", "small")) == len(asked) == 2
    assert len(run("--count", "2", "--space", "small", "--seed", "1")) == len(asked) == 4
    assert len(run("--config", "tiny")) == len(asked) == 5
    assert asked[-1] == load_config("tiny")
    # Without a space, machines are drawn from the one of FPGAs.
    run("--count", "1", "--seed", "2")
    assert asked[-1] == next(samples.drawn(load_space("fpga"), 2))
