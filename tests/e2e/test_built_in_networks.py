"""The built-in networks with random weights, quantised, on the accelerator."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from tandem.compiler.models import BUILT_IN
from tandem.scripts.cli import app

TINY = [name for name in BUILT_IN if name.endswith("-tiny")]
STANDARD = [name.removesuffix("-tiny") for name in TINY]
PASSABLE_SQNR = 20.0


def run(name: str, *options: str) -> dict[str, Any]:
    """A run that is equal to the CPU's in every bit, near float32, with a reason for whatever is on
    the CPU."""
    result = CliRunner().invoke(app, ["run", name, *options, "--check", "--json"])
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    assert found["check"]["equal"] is True
    assert found["sqnr"]
    for output, ratio in found["sqnr"].items():
        assert ratio >= PASSABLE_SQNR, output
    for layer in found["layers"]:
        assert (layer["device"] == "accelerator") != bool(layer["reason"]), layer["name"]
    return found


def test_a_small_one_on_the_rtl() -> None:
    found = run("dqn-tiny", "--config", "small8", "--compare", "rtl,cycle")
    assert not any(layer["macs"] for layer in found["layers"] if layer["device"] == "cpu")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", TINY)
def test_tiny_ones_on_the_rtl(name: str) -> None:
    run(name, "--config", "small8-x", "--compare", "rtl,cycle")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", STANDARD)
def test_standard_ones(name: str) -> None:
    run(name, "--config", "pynq-x")
