"""A network on machines that nobody chose: its result, and its time on two engines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tandem.hw.config_files import dump_config
from tandem.scripts.cli import app
from tests.e2e.random_machines import random_machine, random_memory


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(20))
def test_digits(seed: int, tmp_path: Path) -> None:
    """Bit-equal to the CPU, and every event of `cycle` as `rtl` has it."""
    path = tmp_path / "machine.json"
    path.write_text(dump_config(random_machine(seed)))
    memory = random_memory(seed)
    parameters = ",".join(
        f"{name}={getattr(memory, name)}" for name in ("latency", "interval", "in_flight")
    )
    arguments = ["--config", str(path), "--memory", parameters, "--compare", "rtl,cycle"]
    result = CliRunner().invoke(app, ["run", "digits", *arguments, "--check", "--json"])
    assert result.exit_code == 0, result.stderr
    written = json.loads(result.stdout)
    assert written["check"]["equal"] is True
    assert written["compare"]["equal"] is True
    assert any(each["macs"] for each in written["layers"] if each["device"] == "accelerator")
