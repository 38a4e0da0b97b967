"""`tandem rtl`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hw.config_files import load_config
from hw.header import c_header
from scripts.cli import app
from scripts.rtl import module_lines


def test_files_and_json(tmp_path: Path) -> None:
    arguments = ["rtl", "--config", "tiny", "-o", str(tmp_path / "new" / "rtl"), "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert set(found) == {"files", "config", "modules"}
    assert found["config"] == "tiny"
    folder = tmp_path / "new" / "rtl"
    assert sorted(found["files"]) == sorted(str(path) for path in folder.iterdir())
    tiny = load_config("tiny")
    assert load_config(str(folder / "config.json")) == tiny
    assert (folder / "tandem_registers.h").read_text() == c_header(tiny)
    listed = (folder / "tandem.f").read_text().split()
    defined = [name for file in listed for name, _ in module_lines((folder / file).read_text())]
    assert sorted(defined) == sorted(found["modules"])
    assert "tandem" in defined


def test_table(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["rtl", "--config", "tiny", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "tandem_registers.h" in result.output
    assert str(tmp_path / "tandem.f") in result.output


def test_a_refusal_leaves_no_folder(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["rtl", "--config", "none", "-o", str(tmp_path / "new")])
    assert result.exit_code == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(app, ["rtl", "--config", "tiny", "-o", str(tmp_path / "file")])
    assert result.exit_code == 1
    assert result.stderr == f"error: {tmp_path / 'file'}: Not a directory\n"


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        ("", []),
        ("module a(x);\nendmodule\n", [("a", 2)]),
        ("// module no\nmodule \\top.b (x, y);\n  wire x;\nendmodule", [("top.b", 3)]),
        ("(* top *)\nmodule a;\nendmodule\n\nmodule b (\n x);\nendmodule\n", [("a", 2), ("b", 3)]),
    ],
)
def test_module_lines(text: str, modules: list[tuple[str, int]]) -> None:
    assert list(module_lines(text)) == modules
