"""`tandem tune --report`: the page shows the run's trials, and those of other explorers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tandem.compiler.tune.records import read_records
from tandem.scripts.cli import app
from tests.support.scripts.cells import Cells

LAYER = ("--layer", "a=4,4,8,8,3,1,1", "--config", "small8", "--jobs", "1", "--json")


def tuned(*arguments: object) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["tune", *LAYER, *map(str, arguments)])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def spec_of(text: str, key: str) -> dict[str, Any]:
    """A chart."""
    found = re.search(rf'id="spec-{key}">(.*?)</script>', text)
    assert found is not None
    return json.loads(found[1])


def chart(text: str, key: str) -> list[list[dict[str, Any]]]:
    """The rows of data of a chart's layers."""
    spec = spec_of(text, key)
    # Altair writes rows beside the layers, and their names into them.
    return [spec["datasets"][layer["data"]["name"]] for layer in spec["layer"]]


def test_the_page_of_a_run(tmp_path: Path) -> None:
    records, page = tmp_path / "records.jsonl", tmp_path / "page.html"
    tuned("--records", records, "--explorer", "random", "--trials", 6)
    tuned("--records", records, "--explorer", "random", "--trials", 6, "--seed", 1)
    # Of another memory: not on the page.
    tuned("--records", records, "--explorer", "grid", "--trials", 6, "--memory", "edge")
    how = ("--records", records, "--explorer", "genetic", "--trials", 10)
    (task,) = tuned(*how, "--report", page)["tasks"]
    text = page.read_text()
    (row,) = Cells(text).rows["tasks"][1:]
    assert row[1] == "a"
    assert row[4:7] == [str(task["trials"]), f"{task['default']:,}", f"{task['best']:,}"]
    _, lines, *_ = chart(text, "task-1")
    names = [*dict.fromkeys(one["explorer"] for one in lines)]
    assert names == ["genetic", "random, seed 0", "random, seed 1"]
    for name in names:
        line = [one["best"] for one in lines if one["explorer"] == name]
        # Every search starts from the default choice, and never gets worse.
        assert line[0] == task["default"]
        assert line == sorted(line, reverse=True)
    assert [one["best"] for one in lines if one["explorer"] == "genetic"][-1] == task["best"]
    # A point for each measured choice, whichever explorer measured it.
    here = [one for one in read_records(records)[0] if "latency=16" in one.memory]
    costs = sorted(one.cost for one in here if one.cost is not None)
    _, points = chart(text, "predicted")
    assert sorted(point["measured"] for point in points) == costs


def test_a_report_is_checked_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for place, message in (
        ("page.pdf", "error: page.pdf: a report ends in .html\n"),
        ("none/page.html", "error: none: No such file or directory\n"),
    ):
        arguments = ["tune", *LAYER, "--records", "records", "--report", place]
        result = CliRunner().invoke(app, arguments)
        assert (result.exit_code, result.stderr) == (1, message)
    assert not [*tmp_path.iterdir()]


def test_a_report_is_of_a_run() -> None:
    arguments = ["tune", "--show", "--records", "x", "--report", "page.html"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "--report is of a run, which --show is not" in result.stderr


def test_features_are_shown_where_enough_was_measured(tmp_path: Path) -> None:
    few, many = tmp_path / "few.html", tmp_path / "many.html"
    how = ("--records", tmp_path / "records.jsonl", "--explorer", "random")
    tuned(*how, "--trials", 6, "--report", few)
    assert 'id="spec-features"' not in few.read_text()
    (task,) = tuned(*how, "--trials", 24, "--report", many)["tasks"]
    assert task["trials"] >= 16
    (rows,) = spec_of(many.read_text(), "features")["datasets"].values()
    gains = [row["gain"] for row in rows]
    assert gains == sorted(gains, reverse=True)
    assert 0 < sum(gains) <= 1 + 1e-9
