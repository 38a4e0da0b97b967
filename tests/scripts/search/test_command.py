"""`tandem search` on small networks and small machines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tandem.compiler.search.proposals import FIRST_MACHINES
from tandem.compiler.search.space import parse_space
from tandem.hw.config_files import parse_config
from tandem.hw.errors import ConfigError
from tandem.scripts.cli import app
from tests.support.compiler.models.models import convolution

SPACE: dict[str, Any] = {
    "base": "small8",
    "fields": {
        "log_block_in,log_block_out": [[3, 3], [4, 4]],
        "log_wgt_buffer": [12, 13],
        "acc_read_ports": [1, 2],
        "longest_burst": [8, 16, 32, 64],
        "instruction_queue": [4, 8, 16, 32],
    },
}


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("space") / "mine.json"
    path.write_text(json.dumps(SPACE))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(convolution(tmp_path_factory.mktemp("model") / "net.onnx"))


def run(folder: Path, *arguments: str) -> dict[str, Any]:
    url = f"sqlite:///{folder / 'studies.db'}"
    result = CliRunner().invoke(app, ["search", *arguments, "--storage", url, "--json"])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def plain(found: dict[str, Any]) -> dict[str, Any]:
    """What does not depend on the time that a search takes."""
    return {key: value for key, value in found.items() if key != "seconds"}


def test_a_search(model: str, space: Path, tmp_path: Path) -> None:
    options = (model, "--space", str(space), "--budget", "16", "--config", "small8")
    found = run(tmp_path, *options, "--jobs", "1")
    points = found["points"]
    assert found["evaluated"] == len(points) == 16
    assert found["streams"] == len({tuple(point["streams"]) for point in points})
    assert 2 <= found["streams"] <= 16 / FIRST_MACHINES
    assert len({json.dumps(point["config"]) for point in points}) == 16
    mine = parse_space(space.read_text(), "mine")
    for point in points:
        config = parse_config(json.dumps(point["config"]), "the point")
        assert mine.indices(config) is not None
        assert point["cycles"] == sum(point["networks"])
        assert point["milliseconds"] == point["cycles"] / 1e5
        assert point["area_source"] == "model"
        assert point["clock_source"] == "assumed"
    front = [(point["cycles"], point["area"]) for point in points if point["front"]]
    assert front
    for cycles, area in ((point["cycles"], point["area"]) for point in points):
        assert any(c <= cycles and a <= area for c, a in front)
    assert found["baseline"]["config"]["name"] == "small8"

    # The same again measures nothing; more machines begin with these.
    assert plain(run(tmp_path, *options, "--jobs", "1")) == plain(found)
    options = (*options[:4], "20", *options[5:])
    more = run(tmp_path, *options)["points"]
    assert [{**point, "front": 0} for point in more[:16]] == [
        {**point, "front": 0} for point in points
    ]


@pytest.mark.parametrize(("option", "name"), [("--report", "page.html"), ("--plot", "front.svg")])
def test_what_is_drawn(option: str, name: str, model: str, space: Path, tmp_path: Path) -> None:
    """One file alone, and no more than one machine."""
    file = tmp_path / name
    options = (model, "--space", str(space), "--budget", "1", "--jobs", "1")
    found = run(tmp_path, *options, option, str(file))
    assert len(found["points"]) == 1
    assert "small8" in file.read_text()
    assert [path.name for path in tmp_path.iterdir() if path.suffix in (".html", ".svg")] == [name]


@pytest.mark.exhaustive
def test_cycles_are_those_of_a_run(space: Path, tmp_path: Path) -> None:
    options = (
        "--space",
        str(space),
        "--budget",
        "2",
        "--seed",
        "3",
        "--memory",
        "edge",
        "--jobs",
        "1",
    )
    for point in run(tmp_path, "digits", *options)["points"]:
        config = tmp_path / "machine.json"
        config.write_text(json.dumps(point["config"]))
        result = CliRunner().invoke(
            app, ["run", "digits", "--config", str(config), "--memory", "edge", "--json"]
        )
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout)["cycles"] == point["cycles"]


@pytest.mark.exhaustive
def test_what_is_done_with_the_front(space: Path, tmp_path: Path) -> None:
    report, folder = tmp_path / "page.html", tmp_path / "machines"
    url = f"sqlite:///{tmp_path / 'studies.db'}"
    arguments = ["search", "digits", "--space", str(space), "--budget", "6", "--jobs", "1"]
    arguments += ["--objectives", "area", "--tune", "1", "--around", "small8", "--storage", url]
    arguments += ["--report", str(report), "--export", str(folder), "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    (front,) = [point for point in found["points"] if point["front"]]
    assert front["area"] == min(point["area"] for point in found["points"])
    assert 0 < front["tuned_cycles"] <= front["cycles"]
    assert found["exported"] == [str(folder / "01")]
    assert "little" not in report.read_text()
    center, steps = found["explain"]["center"], found["explain"]["steps"]
    assert center["config"]["log_block_in"] == 3
    # small8 has the lowest array and WGT of this space, and the most ports and longest bursts.
    assert [(step["fields"][0], step["step"]) for step in steps] == [
        ("log_block_in", "up"),
        ("log_wgt_buffer", "up"),
        ("acc_read_ports", "down"),
        ("longest_burst", "down"),
        ("instruction_queue", "down"),
    ]
    larger = steps[0]["point"]
    assert larger["cycles"] < center["cycles"]
    assert larger["area"] > center["area"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["digits", "--objectives", "speed"], "'speed' is no objective: cycles, milliseconds"),
        (["digits", "--objectives", "area,area"], "an objective twice"),
        (["digits", "--budget", "soon"], "neither a number of machines nor a time"),
        (["digits", "--weights", "1,2"], "2 weights for 1 models"),
        (["digits", "--weights", "-1"], "weights are above 0"),
        (["digits", "digits"], "a model is there twice"),
        (["digits", "--jobs", "2", "--scheduler", "tcp://x:1"], "--jobs or --scheduler"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str) -> None:
    result = CliRunner(env={"COLUMNS": "300"}).invoke(app, ["search", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["digits", "--space", "none"], "neither one of asic, fpga, small nor a file"),
        (["nowhere.onnx"], "nowhere.onnx"),
        (["digits", "--report", "page.txt"], "a report ends in .html"),
        (["digits", "--around", "pynq", "--space", "small"], "no machine of the space small"),
        (["digits", "--storage", "nonsense"], "storage nonsense"),
    ],
)
def test_refusals(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["search", *arguments, "--budget", "1"])
    assert result.exit_code == 1
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_space_without_a_possible_machine(tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    path.write_text(json.dumps({"base": "tiny", "fields": {"log_wgt_buffer": [1, 2]}}))
    with pytest.raises(ConfigError):
        parse_space(path.read_text(), "none").machine([0])
    url = f"sqlite:///{tmp_path / 'studies.db'}"
    arguments = ["search", "digits", "--space", str(path), "--budget", "1", "--storage", url]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1
    assert "none is possible and within the limits" in result.stderr
