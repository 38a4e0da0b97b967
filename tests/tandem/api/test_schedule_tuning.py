"""`tandem.tune`: a table that is the verb's, records that are kept, and refusals."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tandem
from tandem.api.schedule_tuning import Tuning, tune
from tandem.compiler.tune.records import read_records
from tandem.scripts.cli import app
from tandem.workbench.errors import ArgumentTypeError, ArgumentValueError

LAYERS = {"a": (1, 2, 8, 8, 1, 1, 0), "b": (2, 2, 8, 8, 1, 1, 0)}


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tuning") / "records.jsonl"


@pytest.fixture(scope="module")
def exact(records: Path) -> Tuning:
    return tune(layers=LAYERS, machine="small8", explorer="exact", records=str(records))


def test_the_exact_explorer_certifies(exact: Tuning, records: Path) -> None:
    assert exact.certified
    tasks = exact.tasks
    assert tasks["name"] == ["a", "b"]
    assert (tasks["bound"] <= tasks["best"]).all()
    assert (tasks["best"] <= tasks["default"]).all()
    assert (exact.default, exact.best) == (tasks["default"].sum(), tasks["best"].sum())
    assert exact.records == records
    kept, damages = read_records(records)
    assert not damages
    assert len(kept) >= tasks["measured"].sum()
    assert exact._repr_html_().count("<tr>") == 3
    assert (
        repr(exact).splitlines()[-1] == f"total {exact.default:,} cycles -> {exact.best:,} cycles"
    )


def test_the_verb_prints_the_same(exact: Tuning) -> None:
    options = [f"--layer={name}={','.join(map(str, of))}" for name, of in LAYERS.items()]
    arguments = [*options, "--config", "small8", "--explorer", "exact", "--jobs", "1", "--json"]
    printed = json.loads(CliRunner().invoke(app, ["tune", *arguments]).stdout)
    assert printed["total"] == {"default": exact.default, "best": exact.best}
    names = ("name", "template", "count", "trials", "default", "best", "bound", "gap", "certified")
    for own, theirs in zip(exact.tasks, printed["tasks"], strict=True):
        assert {name: own[name] for name in names} == {name: theirs[name] for name in names}
        assert own["size"] == theirs["space"]["size"]
        assert own["choice"] == " ".join(f"{k}={v}" for k, v in theirs["choice"].items())


def test_the_verb_writes_the_same_page(exact: Tuning, tmp_path: Path) -> None:
    def content(path: Path) -> str:
        text = path.read_text("utf-8")
        assert ("<pre>tuning.report(" in text) is (path.name == "page.html")
        return re.sub(r"<footer>.*?</footer>|[\d.,]+ s\b", "", text, flags=re.DOTALL)

    exact.report(tmp_path / "page.html")
    options = [f"--layer={name}={','.join(map(str, of))}" for name, of in LAYERS.items()]
    arguments = [*options, "--config", "small8", "--explorer", "exact", "--jobs", "1"]
    done = CliRunner().invoke(
        app,
        ["tune", *arguments, "--records", str(exact.records), "--report", str(tmp_path / "v.html")],
    )
    assert done.exit_code == 0, done.output
    assert content(tmp_path / "page.html") == content(tmp_path / "v.html")


def test_pages_are_of_accelerators_and_html(exact: Tuning, tmp_path: Path) -> None:
    with pytest.raises(ArgumentValueError, match=r"page.txt: a report ends in .html"):
        exact.report(tmp_path / "page.txt")
    with pytest.raises(ArgumentValueError, match="not that of a Cpu"):
        replace(exact, details=None).report(tmp_path / "page.html")


def test_a_model_is_compiled_with_what_was_found(model_file: Path, tmp_path: Path) -> None:
    image = tandem.compile(model_file, tandem.Cpu(), quantize=None).noise()
    steps: list[tuple[int, int]] = []
    found = tune(
        model_file,
        "small8",
        trials=3,
        explorer="random",
        records=tmp_path / "records.jsonl",
        calibrate=image,
        progress=lambda done, total, text: steps.append((done, total)),
    )
    artifact = tandem.compile(
        model_file, "small8", calibrate=image, records=tmp_path / "records.jsonl"
    )
    assert tandem.Session(artifact).run(image).cycles == found.best
    assert steps[-1] >= (3, 3)
    assert all(done <= total for done, total in steps)
    again = tune(
        model_file, "small8", trials=3, explorer="random", records=tmp_path / "records.jsonl",
        calibrate=image,
    )  # fmt: skip
    assert again.tasks.rows == found.tasks.rows


def test_an_interruption_loses_nothing(tmp_path: Path) -> None:
    heard: list[int] = []

    def interrupt(done: int, total: int, text: str) -> None:
        heard.append(done)
        if done >= 4:
            raise KeyboardInterrupt

    options: dict[str, Any] = {"machine": "small8", "trials": 8, "explorer": "random"}
    file = tmp_path / "records.jsonl"
    with pytest.raises(KeyboardInterrupt):
        tune(layers=LAYERS, records=file, progress=interrupt, **options)
    kept, damages = read_records(file)
    assert not damages
    assert len(kept) >= heard[-1] >= 4
    later = tune(layers=LAYERS, records=file, **options)
    assert later.tasks.rows == tune(layers=LAYERS, **options).tasks.rows


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({}, ArgumentValueError, "a model or layers: one of them is tuned"),
        ({"layers": LAYERS, "explorer": "best"}, ArgumentValueError, "no explorer 'best': there"),
        ({"layers": LAYERS, "trials": 0}, ArgumentValueError, "trials is 0: it must be 1 or more"),
        ({"layers": LAYERS, "seconds": "1"}, ArgumentTypeError, "seconds is '1': it must be a num"),
        ({"layers": LAYERS, "seconds": -1}, ArgumentValueError, "seconds is -1: it must be 0 or"),
        ({"layers": LAYERS, "space": "all"}, ArgumentValueError, "no space 'all': there are base"),
        ({"layers": LAYERS, "machine": tandem.Cpu()}, ArgumentValueError, "are for an accelerator"),
        (
            {"layers": LAYERS, "jobs": 2, "scheduler": "x:1"},
            ArgumentValueError,
            "jobs or scheduler",
        ),
        ({"layers": LAYERS, "transfer": ["no.jsonl"]}, ArgumentValueError, "no.jsonl"),
        ({"layers": LAYERS, "weights": "int4"}, ArgumentValueError, "for a model, not for layers"),
        ({"model": "digits", "weights": "int5"}, ArgumentValueError, "no weights 'int5': there"),
    ],
)
def test_refusals(options: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        tune(**options)
