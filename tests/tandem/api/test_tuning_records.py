"""`tandem.records`: rows that are those of `tandem tune --show`, and files joined."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tandem
from tandem.api.tuning_records import Records, records
from tandem.compiler.tune.records import read_records
from tandem.scripts.cli import app
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError

LAYERS = {"a": (1, 2, 8, 8, 1, 1, 0), "b": (2, 2, 8, 8, 1, 1, 0)}
FIELDS = ("name", "machine", "memory", "template", "trials", "best", "explorer")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of the layer a on one machine, and of both on another."""
    path = tmp_path_factory.mktemp("records") / "records.jsonl"
    tandem.tune(layers=LAYERS, machine="small8", trials=2, explorer="random", records=path)
    (first, *_) = LAYERS.items()
    tandem.tune(layers=dict([first]), machine="tiny", trials=2, explorer="grid", records=path)
    return path


def shown(*arguments: str) -> list[dict[str, Any]]:
    done = CliRunner().invoke(app, ["tune", "--show", "--json", *arguments])
    assert done.exit_code == 0, done.output
    found: list[dict[str, Any]] = json.loads(done.stdout)["tasks"]
    return found


def same(own: Records, theirs: list[dict[str, Any]]) -> None:
    for row, printed in zip(own, theirs, strict=True):
        assert {name: row[name] for name in FIELDS} == {name: printed[name] for name in FIELDS}
        assert row["count"] == printed.get("count")
        choice = printed["choice"]
        assert row["choice"] == (
            None if choice is None else " ".join(f"{key}={choice[key]}" for key in choice)
        )


def test_all_workloads_are_those_that_the_verb_shows(file: Path) -> None:
    found = records(file)
    same(found, shown("--records", str(file)))
    assert found["machine"] == ["small8", "small8", "tiny"]
    assert found.path == file
    assert repr(found[:1]).splitlines()[0].split() == [*found.names]


def test_workloads_of_layers_are_those_that_the_verb_shows(file: Path) -> None:
    found = records(file, machine="tiny", layers=LAYERS)
    options = [f"--layer={name}={','.join(map(str, of))}" for name, of in LAYERS.items()]
    same(found, shown("--records", str(file), "--config", "tiny", *options))
    assert found["name"] == ["a", "b"]
    assert [row["best"] is None for row in found] == [False, True]


def test_workloads_of_a_model(file: Path, model_file: Path) -> None:
    image = tandem.compile(model_file, tandem.Cpu(), quantize=None).noise()
    found = records(file, model_file, "tiny", calibrate=image)
    assert len(found) > 0
    assert found["trials"].tolist() == [0] * len(found)
    assert [*found["best"]] != [*found["best"]], "unknown costs are NaN"


def test_workloads_of_compressed_weights(file: Path) -> None:
    codes = records(file, "digits", "tiny-w", weights="int4")
    plain = records(file, "digits", "tiny-w")
    assert len(codes) == len(plain) > 0


def test_files_are_joined(file: Path, tmp_path: Path) -> None:
    whole, _ = read_records(file)
    for name, part in (("one", whole[:3]), ("two", whole[2:])):
        lines = file.read_bytes().splitlines(keepends=True)
        at = whole.index(part[0])
        (tmp_path / name).write_bytes(b"".join(lines[at : at + len(part)]))
    joined = records(tmp_path / "one").merge(tmp_path / "two")
    assert read_records(tmp_path / "one") == (whole, [])
    assert joined.rows == records(file).rows
    assert joined.merge(tmp_path / "two", file).rows == joined.rows
    assert (tmp_path / "one").read_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"path": 3}, ArgumentTypeError, "path is 3: it must be a path"),
        ({"path": "no.jsonl"}, ArgumentValueError, "no.jsonl: No such file"),
        ({"model": "digits", "layers": LAYERS}, ArgumentValueError, "a model or layers: one of"),
        ({"machine": tandem.Cpu(), "layers": LAYERS}, ArgumentTypeError, "it must be an accel"),
        (
            {"model": "digits", "machine": "tiny-w", "weights": "int4", "quantize": None},
            ArgumentValueError,
            "weights and smooth are for quantize=",
        ),
    ],
)
def test_refusals(file: Path, options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        records(**{"path": file, **options})


def test_a_file_that_cannot_be_joined(file: Path, tmp_path: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(ArgumentValueError, match=r"no.jsonl: No such file"):
        records(file).merge(tmp_path / "no.jsonl")
    assert file.read_bytes() == before
