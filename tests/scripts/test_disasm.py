"""`tandem disasm`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hw.config_files import load_config
from hw.isa import Program, disassemble
from scripts.cli import app
from scripts.matmul import matmul_program

TINY = load_config("tiny")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.bin"
    path.write_bytes(matmul_program(TINY, 4, 4, 4)[0].data)
    return path


def test_text(program: Path) -> None:
    result = CliRunner().invoke(app, ["disasm", str(program), "--config", "tiny"])
    assert result.exit_code == 0
    expected = disassemble(Program.from_bytes(TINY, program.read_bytes()))
    assert result.output.rstrip("\n") == expected.rstrip("\n")


def test_json(program: Path) -> None:
    result = CliRunner().invoke(app, ["disasm", str(program), "--config", "tiny", "--json"])
    found = json.loads(result.stdout)
    assert found["config"] == "tiny"
    assert len(found["instructions"]) == len(program.read_bytes()) // 16


@pytest.mark.parametrize(
    ("content", "message"), [(b"", "empty program"), (bytes(17), "truncated program: 17 bytes")]
)
def test_no_program(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "program.bin"
    path.write_bytes(content)
    result = CliRunner().invoke(app, ["disasm", str(path)])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"error: {message}")
    assert result.stderr.count("\n") == 1


def test_unknown_configuration(program: Path) -> None:
    result = CliRunner().invoke(app, ["disasm", str(program), "--config", "pink"])
    assert result.exit_code == 1
    assert "pink" in result.stderr
    assert "pynq" in result.stderr
