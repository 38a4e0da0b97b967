"""`scripts.completion`: what shells offer, by the protocol that shells use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tandem.scripts.completion import complete_config, complete_model


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with files of several kinds."""
    for name in ("mine.json", "model.onnx", "digits.tandem", ".hidden.onnx", "notes.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "deep.onnx").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_presets_and_files(folder: Path) -> None:
    assert complete_config("small") == ["small8", "small8-w", "small8-x"]
    assert complete_config("m") == ["mine.json", "more/"]
    assert complete_config(f"{folder}/mi") == [f"{folder}/mine.json"]
    assert complete_config("/no/such/folder/") == []


def test_networks_and_files(folder: Path) -> None:
    assert complete_model("resnet3") == ["resnet34"]
    assert complete_model("dig") == ["digits", "digits.tandem"]
    assert [name for name in complete_model("m") if "mobilenet" not in name] == [
        "model.onnx",
        "more/",
    ]
    assert complete_model("more/") == ["more/deep.onnx"]
    assert ".hidden.onnx" not in complete_model("")
    assert complete_model(".h") == [".hidden.onnx"]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("tandem doc", ["doctor"]),
        ("tandem sim program --engine ", ["functional", "cycle", "rtl", "pysim"]),
        ("tandem sim program --memory e", ["edge"]),
        ("tandem run digits --config ultra", ["ultra96", "ultra96-x"]),
        ("tandem rtl --no-ev", ["--no-events"]),
    ],
)
def test_a_shell_asks(words: str, offered: list[str]) -> None:
    program = "import sys; sys.argv[0] = 'tandem'; from tandem.scripts.cli import main; main()"
    environment = {
        **os.environ,
        "_TANDEM_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == offered, done.stderr
