"""Whoever names a file may do so by a `str`, a `Path`, or an `os.PathLike` of one's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tandem.base.files import check_destination, replacing, write_atomically
from tandem.base.folders import write_files
from tandem.base.input_files import read_input
from tandem.base.paths import AnyPath
from tandem.compiler.errors import RecordError
from tandem.compiler.tune.records import append_records, read_records
from tandem.hw.config_files import dump_config, load_config
from tandem.runtime.artifact import is_artifact, read_artifact
from tandem.runtime.errors import ArtifactError
from tandem.runtime.inputs import read_arrays
from tandem.workbench.labels import Labels


class Named:
    """A path of one's own."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __fspath__(self) -> str:
        return str(self.path)


@pytest.fixture(params=[str, Path, Named])
def named(request: pytest.FixtureRequest) -> Callable[[Path], AnyPath]:
    return request.param


def test_files(named: Callable[[Path], AnyPath], tmp_path: Path) -> None:
    path = named(tmp_path / "file")
    check_destination(path)
    write_atomically(path, "text")
    with replacing(path) as draft:
        draft.write_text("more")
    assert read_input(path, 10) == b"more"
    write_files(named(tmp_path / "folder"), {"a": "1", "b": "2"}, "b")
    assert (tmp_path / "folder" / "a").read_text() == "1"


def test_inputs(named: Callable[[Path], AnyPath], tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(3))
    assert read_arrays([named(tmp_path / "x.npy")], ["x"])["x"].tolist() == [0, 1, 2]
    (tmp_path / "labels.txt").write_text("1\n2\n")
    assert Labels.read(named(tmp_path / "labels.txt")).classes.tolist() == [1, 2]
    (tmp_path / "mine.json").write_text(dump_config(load_config("tiny")))
    assert load_config(named(tmp_path / "mine.json")) == load_config("tiny")


def test_records_and_artifacts(named: Callable[[Path], AnyPath], tmp_path: Path) -> None:
    append_records(named(tmp_path / "records.jsonl"), [])
    assert read_records(named(tmp_path / "records.jsonl")) == ([], [])
    with pytest.raises(RecordError, match=r"no\.jsonl: No such file"):
        read_records(named(tmp_path / "no.jsonl"))
    assert not is_artifact(named(tmp_path / "records.jsonl"))
    with pytest.raises(ArtifactError, match=r"net\.tandem: No such file"):
        read_artifact(named(tmp_path / "net.tandem"))
