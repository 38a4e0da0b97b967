"""The cycles of searched machines are those of their Verilog."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tandem.scripts.cli import app

POINTS = 20
"""Machines that are simulated: those of the front first, then random ones."""
FRONT = 10
"""The most machines of the front."""


@pytest.fixture(scope="module")
def chosen(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Machines of a search, spread over the front or drawn from all that are not on it."""
    storage = tmp_path_factory.mktemp("search") / "studies.db"
    arguments = ["search", "digits", "--space", "small", "--budget", "96", "--jobs", "1"]
    found = CliRunner().invoke(app, [*arguments, "--storage", f"sqlite:///{storage}", "--json"])
    assert found.exit_code == 0, found.stderr
    points = [point for point in json.loads(found.stdout)["points"] if not point["reason"]]
    front = [point for point in points if point["front"]]
    front.sort(key=lambda point: int(point["cycles"]))
    count = min(FRONT, len(front))
    spread = [front[round(at * (len(front) - 1) / (count - 1))] for at in range(count)]
    others = [point for point in points if not point["front"]]
    return spread + random.Random(19).sample(others, POINTS - count)


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", range(POINTS))
def test_the_verilog_of_a_point(number: int, chosen: list[dict[str, Any]], tmp_path: Path) -> None:
    point = chosen[number]
    machine = tmp_path / "machine.json"
    machine.write_text(json.dumps(point["config"]))
    options = ["--config", str(machine), "--compare", "rtl,cycle", "--check", "--json"]
    run = CliRunner().invoke(app, ["run", "digits", *options])
    assert run.exit_code == 0, run.stderr
    result = json.loads(run.stdout)
    assert result["cycles"] == point["cycles"]
    assert result["compare"]["equal"]
    assert result["check"]["equal"]
