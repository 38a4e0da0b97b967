"""The examples and commands of README.md and of the guides do what these say."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tandem.scripts.cli import VERBS, app

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
DOCS = ROOT / "docs"
# In this order commands find the files that they read.
GUIDES = (
    "installation",
    "utilization",
    "running-networks",
    "training",
    "generate",
    "export",
    "tuning-guide",
    "machine-search",
    "discover",
    "verilog",
    "programs",
    "own-operators",
)
PAGES = {name: (DOCS / f"{name}.md").read_text() for name in GUIDES}


def commands(text: str) -> list[str]:
    """The commands in the code of a document, without their comments."""
    lines = re.findall(r"^tandem (.*)$", text, re.MULTILINE)
    return [line.partition("  #")[0].strip() for line in lines]


COMMANDS = [command for page in PAGES.values() for command in commands(page)]


def block(text: str, language: str) -> str:
    """The only code in a language of a document."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return str(found)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the guides' configuration and the files that their program writes."""
    (tmp_path / "mine.json").write_text(block(PAGES["verilog"], "json"))
    code = block(PAGES["programs"], "python")
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Commands that share files are run together; `utilization` is run below.
TOUR: tuple[tuple[str, ...], ...] = (
    *(("run", "compile"), ("generate",), ("export",), ("soc",), ("disasm", "sim"), ("rtl",)),
    *(("train", "run"), ("tune", "run"), ("search",), ("doctor", "devices")),
    ("discover", "run", "rtl"),
)
SLOW = ("run", "train", "generate", "export", "rtl", "soc", "tune", "search", "discover")
# Other tests run these networks on the RTL, and compare them with the CPU.
COMPARED = ("--check", "--compare")


def compares(command: str) -> bool:
    return command.startswith("run") and any(option in command for option in COMPARED)


def check(command: str) -> None:
    result = CliRunner().invoke(app, shlex.split(command))
    assert result.exit_code == 0, (command, result.output)


@pytest.mark.parametrize(
    "verbs",
    # `rtl` of machines as large as the guides' takes a while, and so do the commands that compile.
    [
        pytest.param(verbs, marks=[pytest.mark.exhaustive] * (verbs[0] in SLOW), id=verbs[0])
        for verbs in TOUR
    ],
)
def test_the_commands_of_the_tour(here: Path, verbs: tuple[str, ...]) -> None:
    # Runs with the records of `tune` follow it.
    recorded = [command for command in COMMANDS if "--records" in command]
    # And runs of trained models follow their training.
    trained = commands(PAGES["training"])
    # And runs of machines that were found, the search for their operations.
    found = commands(PAGES["discover"])
    others = {*recorded, *trained, *found, *filter(compares, COMMANDS)}
    plain = [command for command in COMMANDS if command not in others]
    among = {"tune": recorded, "train": trained, "discover": found}.get(verbs[0], plain)
    chosen = [command for command in among if command.split()[0] in verbs]
    assert {command.split()[0] for command in chosen} == {*verbs}
    for command in chosen:
        check(command)


@pytest.mark.exhaustive
def test_the_comparisons_of_the_tour(here: Path) -> None:
    commands = list(filter(compares, COMMANDS))
    assert len(commands) == len(COMPARED)
    for command in commands:
        check(command)


def test_the_tour_shows_every_verb() -> None:
    assert {command.split()[0] for command in COMMANDS} == {*VERBS}
    assert {*VERBS} == {"utilization"}.union(*TOUR)


def test_the_readme_shows_every_verb() -> None:
    shown = commands(README)
    assert {command.split()[0] for command in shown} == {*VERBS}
    assert {*shown} <= {*COMMANDS}, "the guides' commands are run, the README's are among them"


def test_the_python_of_the_readme(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", block(README, "python")], cwd=tmp_path, check=True)


def test_the_program_is_for_vta_too(here: Path) -> None:
    arguments = ["disasm", "relu.bin", "--verify", "--image", "relu.img"]
    result = CliRunner().invoke(app, arguments)
    assert result.output.splitlines()[-1].startswith("verified: ")


def test_the_programs_result(here: Path) -> None:
    arguments = ["sim", "relu.bin", "--image", "relu.img", "-o", "after.img"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    after = np.fromfile(here / "after.img", dtype=np.int8)
    np.testing.assert_array_equal(after[0x3000:0x3080], np.maximum(np.arange(-64, 64), 0))


@pytest.mark.parametrize("layer", ["C7", "C10"])
def test_a_row_of_the_utilisation(layer: str) -> None:
    result = CliRunner().invoke(app, ["utilization", "--engine", "rtl", "--layer", layer])
    (row,) = re.findall(rf"^{layer} .*$", result.output, re.MULTILINE)
    assert row.split() in [line.split() for line in PAGES["utilization"].splitlines()]


@pytest.mark.exhaustive
def test_the_whole_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, own, curves = [each for each in COMMANDS if each.startswith("utilization")]
    result = CliRunner().invoke(app, shlex.split(whole))
    lines = [line.rstrip() for line in result.output.splitlines()[2:]]
    assert "\n".join(lines).strip("\n") in PAGES["utilization"]
    assert CliRunner().invoke(app, shlex.split(own)).exit_code == 0
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, shlex.split(curves)).exit_code == 0


def test_the_operator() -> None:
    code = block(PAGES["own-operators"], "python")
    check = "assert (blurred == 9.0).all()"
    subprocess.run([sys.executable, "-c", f"{code}\n{check}"], cwd=ROOT, check=True)
