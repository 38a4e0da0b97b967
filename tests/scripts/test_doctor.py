"""`tandem doctor`."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tandem import doctor
from tandem.scripts.cli import app


def test_json_is_the_table_of_the_call() -> None:
    result = CliRunner().invoke(app, ["doctor", "--json"])
    assert result.exit_code == 0
    (checks,) = json.loads(result.stdout).values()
    told = [{**row, "remedy": row["remedy"] or None} for row in doctor()]
    assert [{**check, "detail": ""} for check in checks] == [{**row, "detail": ""} for row in told]


def test_what_is_missing_fails_and_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    row, remedy = (line for line in result.output.splitlines() if line.startswith("C++ compiler"))
    assert row.split()[2] == "missing"
    assert "no-such-compiler" in row
    assert "install it" in remedy
