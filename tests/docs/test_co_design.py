"""The commands of `docs/co-design.md` run with a small budget, and print what it shows."""

from __future__ import annotations

import json
import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tandem.compiler.search.space import load_space, parse_space
from tandem.scripts.cli import app

DOCS = Path(__file__).parents[2] / "docs"
LARGE_ARRAYS = DOCS / "large-arrays.json"
NUMBERS = ("cycles", "area")
TEXT = (DOCS / "co-design.md").read_text()
FENCED = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
FIGURES = re.findall(r"!\[[^]]*\]\(([^)]+)\)", TEXT)


def commands() -> dict[str, list[str]]:
    """By command, the lines that are shown below it."""
    found: dict[str, list[str]] = {}
    shown: list[str] = []
    for language, block in FENCED:
        if language:
            continue
        if block.startswith("tandem "):
            shown = found[block.removeprefix("tandem ").strip()] = []
        else:
            shown += block.splitlines()
    return found


COMMANDS = commands()
SEARCHES = [command for command in COMMANDS if command.startswith("search")]


def value_of(option: str, arguments: list[str]) -> str | None:
    return next((value for name, value in pairwise(arguments) if name == option), None)


def with_storage(arguments: list[str], folder: Path) -> list[str]:
    return [*arguments, "--storage", f"sqlite:///{folder / 'studies.db'}"]


def exports(command: str) -> bool:
    return "--export" in command


# To export takes the longest.
EXPORTS_LAST: list[str] = sorted(SEARCHES, key=exports)


def small(arguments: list[str]) -> list[str]:
    """The search with two machines of the preset for small ones, for the digits network."""
    found = list(arguments)
    found[1] = "digits"
    found[found.index("--budget") + 1] = "2"
    found[found.index("--space") + 1] = "small"
    return found


def test_what_is_shown_is_of_the_page() -> None:
    assert len(SEARCHES) == 6
    plots = [value_of("--plot", shlex.split(command)) for command in SEARCHES]
    assert [Path(plot).name for plot in plots if plot is not None] == FIGURES
    (space,) = (block for language, block in FENCED if language == "json")
    assert json.loads(space) == json.loads((DOCS / "zu7ev.json").read_text())
    assert parse_space(space, "zu7ev").limits.device is not None


def test_explorers_can_propose_the_large_arrays() -> None:
    large, asic = load_space(str(LARGE_ARRAYS)), load_space("asic")
    for number in range(large.size):
        machine = large.machine([number] + [0] * (len(large.dimensions) - 1))
        assert asic.indices(machine) is not None


@pytest.mark.exhaustive
def test_large_arrays(tmp_path: Path) -> None:
    """Machines that VTA++ was announced to have, by their cycles and area relative to `pynq`."""
    command = ["search", "resnet18", "--space", str(LARGE_ARRAYS), "--budget", "3", "--json"]
    result = CliRunner().invoke(app, [*with_storage(command, tmp_path), "--jobs", "1"])
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    base = found["baseline"]
    (shown,) = (COMMANDS[command] for command in SEARCHES if LARGE_ARRAYS.name in command)
    for point in (*found["points"], base):
        assert any(line.split()[-2:] == [f"{point[name]:,}" for name in NUMBERS] for line in shown)
    gains = [
        (base["cycles"] / point["cycles"], point["area"] / base["area"])
        for point in found["points"]
    ]
    assert any(faster >= 4.9 and larger <= 6 for faster, larger in gains)
    assert any(faster >= 11.5 and larger <= 14 for faster, larger in gains)


@pytest.mark.exhaustive
@pytest.mark.parametrize("command", EXPORTS_LAST)
def test_the_options_of_every_search(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path)
    arguments = with_storage(small(shlex.split(command)), tmp_path)
    result = CliRunner().invoke(app, [*arguments, "--jobs", "1"])
    assert result.exit_code == 0, result.stderr


@pytest.mark.exhaustive
def test_the_machine_that_is_run_is_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path)
    export = next(filter(exports, SEARCHES))
    arguments = with_storage(small(shlex.split(export)), tmp_path)
    assert CliRunner().invoke(app, [*arguments, "--jobs", "1"]).exit_code == 0
    run = next(command for command in COMMANDS if command.startswith("run"))
    machine = value_of("--config", shlex.split(run))
    assert machine is not None
    assert json.loads(Path(machine).read_text())["name"].endswith("-01")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "command", [each for each in SEARCHES if "digits" in each and COMMANDS[each]]
)
def test_what_is_printed(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    result = CliRunner().invoke(app, with_storage(shlex.split(command), tmp_path))
    assert result.exit_code == 0, result.stderr
    printed = [line.split() for line in result.stdout.splitlines()]
    shown = [line.split() for line in COMMANDS[command] if line != "..."]
    assert not [line for line in shown if line not in printed]
