"""The commands of `docs/latency-hiding.md` run, print what it shows, and draw its figures."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tandem.scripts.cli import app

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "latency-hiding.md").read_text()
BLOCKS = re.findall(r"^```\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
FIGURES = re.findall(r"!\[[^]]*\]\(([^)]+)\)", TEXT)


def commands() -> dict[str, list[str]]:
    """By command, the lines that are shown below it."""
    found: dict[str, list[str]] = {}
    shown: list[str] = []
    for block in BLOCKS:
        if block.startswith("tandem "):
            shown = found[block.removeprefix("tandem ").strip()] = []
        else:
            shown += block.splitlines()
    return found


COMMANDS = commands()


def figure(arguments: list[str]) -> str | None:
    """The figure that a command draws."""
    names = [name for option, name in pairwise(arguments) if option in ("--plot", "--roofline")]
    return names[0].removeprefix("docs/") if names else None


def values(path: Path) -> list[str]:
    """What a picture says of its marks, axes and legends, numbers included."""
    return sorted(re.findall(r'aria-label="([^"]*)"', path.read_text()))


def test_every_figure_has_its_command() -> None:
    drawn = [figure(shlex.split(command)) for command in COMMANDS]
    assert [name for name in drawn if name is not None] == FIGURES
    assert len(FIGURES) == 5
    for name in FIGURES:
        assert len(values(DOCS / name)) > 20


def test_every_command_shows_what_it_prints() -> None:
    assert all(COMMANDS.values())


def test_the_rows_that_are_shown_are_in_the_figures() -> None:
    """Of sweeps: utilisation without latency hiding and with it, to a tenth of a percent."""
    rows = 0
    for command, shown in COMMANDS.items():
        name = figure(shlex.split(command))
        if "--sweep" not in command or name is None:
            continue
        marks = values(DOCS / name)
        for line in shown:
            fields = re.findall(r"(\w+)=(\d+)", line)
            found = {
                f"{float(share):.1f}"
                for mark in marks
                for share in re.findall(r"utilisation: ([\d.]+)%", mark)
                if all(re.search(rf"\b{field}: {value}(;|$)", mark) for field, value in fields)
            }
            assert found == {*re.findall(r"([\d.]+)%", line)}, line
            rows += 1
    assert rows > 20


def reduced(arguments: list[str]) -> list[str]:
    """The command at one point, of one small layer, without a picture."""
    place = arguments.index("--sweep") + 1
    axes = re.sub(r"=(\d+):\d+(:x?\d+)?", r"=\1:\1", arguments[place])
    return ["utilization", "--sweep", axes, "--layer", "C10"]


@pytest.mark.parametrize("command", [each for each in COMMANDS if "--sweep" in each])
def test_a_point_of_each_sweep(command: str) -> None:
    result = CliRunner().invoke(app, reduced(shlex.split(command)))
    assert result.exit_code == 0, result.stderr


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_shown(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path)
    arguments = shlex.split(command)
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.stderr
    printed = [line.split() for line in result.stdout.splitlines()]
    assert not [line for line in COMMANDS[command] if line.split() not in printed]
    if (name := figure(arguments)) is not None:
        assert values(tmp_path / "docs" / name) == values(DOCS / name)
