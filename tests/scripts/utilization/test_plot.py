"""`--plot`: refused early, or there with every number in it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from tandem.scripts.cli import app

TINY = ["--config", "tiny", "--engine", "rtl"]
LAYERS = ["--layer", "a=8,8,8,8,1,1,0", "--layer", "b=6,7,5,9,2,2,1"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["utilization", *arguments])


def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(*arguments: object) -> list[object]:
        raise AssertionError("it has been run")

    monkeypatch.setattr("tandem.scripts.utilization.command.measure", measure)


def test_svg(tmp_path: Path) -> None:
    path = tmp_path / "bars.svg"
    result = run(*TINY, *LAYERS, "--plot", str(path), "--json")
    assert result.exit_code == 0, result.stderr
    written = json.loads(result.stdout)
    texts = [text.text for text in ElementTree.parse(path).iter() if text.tag.endswith("text")]
    for row in (*written["layers"], written["total"]):
        wanted = row["name"], row["utilization_without"], row["utilization_with"]
        assert {wanted[0], *(f"{share:.0%}" for share in wanted[1:])} <= set(texts)
    assert list(tmp_path.iterdir()) == [path]


def test_png(tmp_path: Path) -> None:
    path = tmp_path / "bars.png"
    assert run(*TINY, *LAYERS[:2], "--plot", str(path), "--json").exit_code == 0
    with Image.open(path) as image:
        assert image.format == "PNG"
        assert image.height > 600
        assert len(image.getcolors(1 << 24) or ()) > 10


@pytest.mark.parametrize("name", ["bars.pdf", "bars", "svg", "bars.svg.gz", "bars.SVGZ"])
def test_other_files_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing_runs(monkeypatch)
    result = run(*TINY, "--plot", name)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"error: {name}: a plot ends in .svg or .png\n"


def test_a_place_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing_runs(monkeypatch)
    result = run(*TINY, "--plot", str(tmp_path / "none" / "bars.svg"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert re.fullmatch(r"error: .*none: .*\n", result.stderr)


def test_an_engine_without_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing_runs(monkeypatch)
    result = run("--engine", "functional", "--plot", str(tmp_path / "bars.svg"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "error: a plot needs cycles: the functional engine has no time\n"
    assert list(tmp_path.iterdir()) == []


def test_what_draws_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing_runs(monkeypatch)
    monkeypatch.setattr("tandem.workbench.pages.write._NEEDED", ("altair", "no_such_package"))
    result = run(*TINY, "--plot", str(tmp_path / "bars.svg"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "error: a plot needs Altair, which is not installed: "
        "pip install 'tandem-workbench[report]'\n"
    )


def test_a_wrong_result_leaves_no_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tandem.workbench.utilization.case.expected", lambda case: case.data * 0)
    assert run(*TINY, *LAYERS, "--plot", str(tmp_path / "bars.svg")).exit_code == 1
    assert list(tmp_path.iterdir()) == []
