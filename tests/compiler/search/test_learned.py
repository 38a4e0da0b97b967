"""Machines that were synthesised here: kept, read again, and learned from."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tandem.compiler.errors import SearchError
from tandem.compiler.search import learned
from tandem.compiler.search.estimates import Estimator
from tandem.compiler.search.learned import Learned, OwnSamples, sample_line
from tandem.compiler.search.objectives import Objective
from tandem.compiler.search.space import Limits, load_space
from tandem.compiler.search.storage import Storage, default_url
from tandem.hw.area import estimate as area
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.synthesis.devices import DEVICES
from tests.support.hw.found_machines import FOUND_FOR_PYNQ

OBJECTIVES = (Objective.CYCLES, Objective.AREA)
MINE = load_config("small8").replace(name="mine", log_inp_buffer=12, log_uop_buffer=13)
GATES = {"lane": 1_000.0, "requantiser": 0.0, "rest": 90_000.0, "memory_bits": 1}
USED = {"lut": 50_000, "lutram": 0, "ff": 20_000, "dsp": 99, "bram": 40}
LINES = (
    sample_line("area", MINE, GATES),
    sample_line("ecp5", MINE, USED),
    sample_line("clock", MINE, {"mhz": 40.0}),
)


def estimator(found: Learned) -> Estimator:
    return Estimator(Limits(DEVICES["LFE5U-85F"]), learned=found)


def test_models_learn() -> None:
    before, after = (
        estimator(found).estimate(MINE) for found in (learned.NOTHING, Learned.of(LINES))
    )
    assert before.resources is not None
    assert after.resources is not None
    assert after.mhz < 0.95 * before.mhz
    assert after.area < 0.9 * before.area
    assert after.resources["lut"] > 1.02 * before.resources["lut"]


def test_the_order_of_samples_has_no_effect() -> None:
    assert Learned.of(LINES) == Learned.of(reversed(LINES))
    assert Learned.of(LINES).count == 3
    own = Learned.of(LINES).as_json()["own"]
    assert own == {"area": 1, "resources": 1, "clock": 1}


def test_machines_that_come_with_tandem_are_not_counted_again() -> None:
    known = area.samples()[0].config.replace(name="other")
    assert Learned.of([sample_line("area", known, GATES)]) == learned.NOTHING


def test_what_operations_take_is_not_learned() -> None:
    """Models add it: a lane with operations would be taken for that of all machines of its kind."""
    own = MINE.replace(alu_operations=FOUND_FOR_PYNQ, alu_stages=3)
    lines = (
        sample_line("area", own, GATES),
        sample_line("ecp5", own, USED),
        sample_line("clock", own, {"mhz": 40.0}),
    )
    found = Learned.of(lines)
    assert found.as_json()["own"] == {"area": 0, "resources": 0, "clock": 1}
    before, after = (estimator(each).estimate(MINE) for each in (learned.NOTHING, found))
    assert (after.area, after.resources) == (before.area, before.resources)


def test_samples_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with sqlite3.connect(tmp_path / "results.db") as connection:
        samples = OwnSamples(connection)
        assert samples.lines() == ()
        samples.add(LINES)
        samples.add((renamed(MINE, "same-machine"),))
        assert len(samples.lines()) == len(LINES)
        assert renamed(MINE, "same-machine") in samples.lines()
        # Of each kind those are left out that another version made.
        for made, kind in (("area", "area"), ("resources", "ecp5"), ("clock", "clock")):
            with monkeypatch.context() as patch:
                patch.setattr(learned, f"{made}_digest", lambda: "of another version")
                left = [json.loads(line)["kind"] for line in samples.lines()]
                assert sorted([kind, *left]) == ["area", "clock", "ecp5"]
    connection.close()
    with pytest.raises(SearchError, match="samples: "):
        samples.lines()


def renamed(config: HardwareConfig, name: str) -> str:
    return sample_line("area", config.replace(name=name), GATES)


def test_a_search_keeps_the_samples_that_it_began_with(tmp_path: Path) -> None:
    def opened(name: str) -> Storage:
        return Storage.open(default_url(tmp_path), name, load_space("small"), OBJECTIVES)

    assert opened("first").samples(LINES[:1]) == LINES[:1]
    assert opened("first").samples(LINES) == LINES[:1]
    assert opened("second").samples(LINES) == LINES


def test_a_line() -> None:
    record = json.loads(LINES[2])
    assert (record["kind"], record["mhz"]) == ("clock", 40.0)
    assert record["config"]["name"] == "mine"
