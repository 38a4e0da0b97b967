"""Machines of a front on an FPGA: placed and routed, and equal to the CPU on their own Verilog."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from typer.testing import CliRunner

from hw.config_files import load_config
from hw.rtl.verilog import generate
from hw.synthesis.devices import DEVICES
from scripts.cli import app
from scripts.search.estimates import Estimator
from scripts.search.space import Limits

DEVICE = "LFE5U-85F"
ROUTED = 3
SPACE: dict[str, Any] = {
    "base": "small8",
    "fields": {
        "log_block_in,log_block_out": [[2, 2], [3, 3]],
        "log_uop_buffer": [9, 10],
        "log_inp_buffer": [10, 11],
        "log_wgt_buffer": [11, 12],
        "log_acc_buffer": [10, 11],
        "features": [[], ["overwrite", "requantise", "input_operands"]],
    },
    "limits": {"device": DEVICE},
}


def invoke(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


# Some five CPU minutes for each machine.
@pytest.mark.timeout(7200)
@pytest.mark.exhaustive
def test_three_machines_of_a_front(tmp_path: Path) -> None:
    space, folder = tmp_path / "space.json", tmp_path / "machines"
    space.write_text(json.dumps(SPACE))
    arguments = ["search", "digits", "--space", str(space), "--budget", "32", "--jobs", "1"]
    arguments += ["--synthesise", str(ROUTED), "--storage", f"sqlite:///{tmp_path / 'studies.db'}"]
    arguments += ["--export", str(folder)]
    found = invoke(*arguments)
    routed = [point for point in found["points"] if point["clock_source"] == "route"]
    assert len(routed) == ROUTED
    part, errors = DEVICES[DEVICE], []
    for point in routed:
        assert point["area_source"] == "synthesis"
        assert all(point["resources"][unit] <= getattr(part, unit) for unit in ("lut", "dsp"))
        assert point["resources"]["bram"] <= part.bram
        assert point["milliseconds"] == point["cycles"] / (1e3 * point["mhz"])
    exported = []
    for place in map(Path, found["exported"]):
        point = json.loads((place / "point.json").read_text())
        if point["clock_source"] != "route":
            continue
        config = load_config(place / "config.json")
        exported.append(config)
        errors.append(abs(Estimator(Limits(part)).estimate(config).mhz / point["mhz"] - 1))
        # The simulator has the Verilog that was exported.
        for name, text in generate(config).files.items():
            assert (place / name).read_text() == text
        machine = str(place / "config.json")
        run = invoke("run", "digits", "--config", machine, "--compare", "rtl,cycle", "--check")
        assert run["cycles"] == point["cycles"]
        assert run["compare"]["equal"]
        assert run["check"]["equal"]
    assert len(exported) == ROUTED
    assert median(errors) < 0.1
