"""Machines of a front on an FPGA: placed and routed, and equal to the CPU on their own Verilog."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from typer.testing import CliRunner

from tandem.compiler.search.estimates import Estimator
from tandem.compiler.search.space import Limits
from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.rtl.verilog import generate
from tandem.hw.synthesis.devices import DEVICES
from tandem.scripts.cli import app

DEVICE = "LFE5U-85F"
ROUTED = 3
SPACE: dict[str, Any] = {
    "base": "tiny",
    "fields": {
        "log_block_in,log_block_out": [[2, 2], [2, 3]],
        "log_uop_buffer": [8, 9],
        "log_inp_buffer": [7, 8],
        "log_wgt_buffer": [8, 9],
        "log_acc_buffer": [8, 9],
        "features": [[], ["overwrite"]],
    },
    "limits": {"device": DEVICE},
}
"""Machines that nextpnr routes within minutes."""


def invoke(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that a search has exported: its folder, and what the search says of it."""

    place: Path
    point: dict[str, Any]

    @property
    def config(self) -> HardwareConfig:
        return load_config(self.place / "config.json")


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> list[Machine]:
    """The machines of a front that were placed and routed."""
    folder = tmp_path_factory.mktemp("routed")
    space = folder / "space.json"
    space.write_text(json.dumps(SPACE))
    arguments = ["search", "digits", "--space", str(space), "--budget", "32", "--jobs", "1"]
    arguments += ["--synthesise", str(ROUTED), "--storage", f"sqlite:///{folder / 'studies.db'}"]
    found = invoke(*arguments, "--export", str(folder / "machines"))
    exported = [
        Machine(place, json.loads((place / "point.json").read_text()))
        for place in map(Path, found["exported"])
    ]
    return [each for each in exported if each.point["clock_source"] == "route"]


# The first waits for synthesis and routes: some five CPU minutes for each machine.
@pytest.mark.timeout(7200)
@pytest.mark.exhaustive
@pytest.mark.parametrize("number", range(ROUTED))
def test_a_machine_of_a_front(machines: list[Machine], number: int) -> None:
    assert len(machines) == ROUTED
    machine, part = machines[number], DEVICES[DEVICE]
    point = machine.point
    assert point["area_source"] == "synthesis"
    assert all(point["resources"][unit] <= getattr(part, unit) for unit in ("lut", "dsp", "bram"))
    assert point["milliseconds"] == point["cycles"] / (1e3 * point["mhz"])
    # The simulator has the Verilog that was exported.
    for name, text in generate(machine.config).files.items():
        assert (machine.place / name).read_text() == text
    config = str(machine.place / "config.json")
    run = invoke("run", "digits", "--config", config, "--compare", "rtl,cycle", "--check")
    assert run["cycles"] == point["cycles"]
    assert run["compare"]["equal"]
    assert run["check"]["equal"]


@pytest.mark.timeout(7200)
@pytest.mark.exhaustive
def test_the_predicted_clock(machines: list[Machine]) -> None:
    """By the model that comes with Tandem, which has not seen these machines."""
    estimator = Estimator(Limits(DEVICES[DEVICE]))
    errors = [abs(estimator.estimate(each.config).mhz / each.point["mhz"] - 1) for each in machines]
    assert median(errors) < 0.1
