"""The cycles of searched machines are those of their Verilog."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scripts.cli import app
from tests.support.rtl import seeds


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", seeds(2))
def test_the_verilog_of_a_small_search(seed: int, tmp_path: Path) -> None:
    """The fastest and the smallest machine of a search."""
    arguments = ["search", "digits", "--space", "small", "--budget", "60", "--seed", str(seed)]
    arguments += ["--storage", f"sqlite:///{tmp_path / 'studies.db'}", "--json"]
    found = CliRunner().invoke(app, arguments)
    assert found.exit_code == 0, found.stderr
    points = [point for point in json.loads(found.stdout)["points"] if point["front"]]
    points.sort(key=lambda point: int(point["cycles"]))
    for point in (points[0], points[-1]):
        machine = tmp_path / "machine.json"
        machine.write_text(json.dumps(point["config"]))
        options = ["--config", str(machine), "--compare", "rtl,cycle", "--check", "--json"]
        run = CliRunner().invoke(app, ["run", "digits", *options])
        assert run.exit_code == 0, run.stderr
        result = json.loads(run.stdout)
        assert result["cycles"] == point["cycles"]
        assert result["compare"]["equal"]
        assert result["check"]["equal"]
