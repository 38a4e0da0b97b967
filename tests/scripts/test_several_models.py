"""Models of a command that takes several: files that are there, each once."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from tandem.scripts.several_models import check_models
from tandem.workbench.errors import ModelError


def test_built_in_and_files(tmp_path: Path) -> None:
    file = tmp_path / "net.onnx"
    with pytest.raises(FileNotFoundError, match=r"net.onnx"):
        check_models(["digits", str(file)])
    with pytest.raises(ModelError, match=r"'digit' is neither a model that is built in"):
        check_models(["digits", "digit"])
    file.touch()
    check_models(["digits", str(file)])


def test_one_that_is_there_twice(tmp_path: Path) -> None:
    file = tmp_path / "net.onnx"
    file.touch()
    with pytest.raises(typer.BadParameter, match=r"^a model is there twice$"):
        check_models([str(file), str(tmp_path / ".." / tmp_path.name / "net.onnx")])
    with pytest.raises(typer.BadParameter, match=r"^a model is there twice$"):
        check_models(["digits", "dqn-tiny", "digits"])
    with pytest.raises(typer.BadParameter, match=r"^a model is there twice: name it once$"):
        check_models(["digits", "digits"], ": name it once")
