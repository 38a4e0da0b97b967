"""The report of resources: its table, its place in JSON, and Ctrl-C in the middle of synthesis."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tandem.base.cache import default_cache
from tandem.hw.config_files import load_config
from tandem.hw.synthesis.families import Family
from tandem.hw.synthesis.resources import MemoryUse, Resources
from tandem.hw.topology import MemoryId
from tandem.scripts.resources import find_resources, print_resources, resources_json
from tests.support.scripts.terminal import interrupted
from tests.support.sim.kept_verilog import keep_verilog
from tests.support.sim.traffic import traffic_design

XC7 = Resources(
    family=Family.XC7,
    lut=12345,
    lutram=99,
    ff=777,
    dsp=256,
    bram=64,
    memories=(
        MemoryUse(MemoryId.WGT, block_ram=8, lut_ram=0, registers=0, bram=60),
        MemoryUse(None, block_ram=1, lut_ram=3, registers=0, bram=4),
    ),
)
ECP5 = replace(XC7, family=Family.ECP5, lut=54321)


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    print_resources([XC7, ECP5])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["xc7", "ecp5"] in lines
    assert ["LUT", "12,345", "54,321"] in lines
    assert ["block", "RAM", "(18", "Kbit)", "64", "64"] in lines
    assert ["WGT", "60", "60"] in lines
    assert ["queues", *2 * ["(3", "in", "LUTs)", "4"]] in lines


def test_the_json() -> None:
    written = resources_json([XC7, ECP5])
    assert set(written) == {"yosys", "resources"}
    assert written["resources"] == {"xc7": XC7.as_json(), "ecp5": ECP5.as_json()}


def test_a_family_asked_for_twice_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Family] = []

    def fake(design: object, family: Family, *, report: object) -> Resources:
        asked.append(family)
        return replace(XC7, family=family)

    monkeypatch.setattr("tandem.scripts.resources.synthesize", fake)
    wanted = [Family.ECP5, Family.XC7, Family.ECP5]
    found = find_resources(traffic_design(), wanted, quiet=True)
    assert [resources.family for resources in found] == asked == [Family.ECP5, Family.XC7]


def test_ctrl_c_ends_yosys_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (default_cache() / "yosys").mkdir(parents=True, exist_ok=True)
    # Yosys itself is not to be compiled again.
    (tmp_path / "cache" / "yosys").symlink_to(default_cache() / "yosys")
    keep_verilog(load_config("tiny"), tmp_path / "cache")
    arguments = ["rtl", "--config", "tiny", "--resources"]
    cache = {"TANDEM_CACHE": str(tmp_path / "cache")}
    interrupted(arguments, b"xc7: ", tmp_path, cache)
    assert [path.suffix for path in (tmp_path / "cache" / "synthesis").iterdir()] == [".lock"]
