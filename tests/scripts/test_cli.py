"""`scripts.cli`: the command as people start it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tandem.scripts.cli import VERBS, app

HEAVY = ("llvmlite", "amaranth", "numpy")


def test_help_lists_the_verbs() -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    for name, verb in VERBS.items():
        assert re.search(rf"{name}\s+{re.escape(verb.help)}", result.output)


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from tandem.scripts.cli import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        f"print(*(set(sys.modules) & {set(HEAVY)}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize("name", VERBS)
def test_each_verb_has_help(name: str) -> None:
    result = CliRunner().invoke(app, [name, "--help"])
    assert result.exit_code == 0
    assert VERBS[name].help.rstrip(".") in " ".join(result.output.split())
    assert "--json" in result.output
    assert "--debug" in result.output


@pytest.mark.parametrize("name", VERBS)
def test_the_listing_says_what_the_verb_says(name: str) -> None:
    command = import_module(VERBS[name].module).command
    assert command.__doc__.splitlines()[0].rstrip(".,").startswith(VERBS[name].help.rstrip("."))


def test_version() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.output == f"tandem {version('tandem-workbench')}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["disas"], "Did you mean 'disasm'"),
        (["disasm"], "Missing argument"),
        (["disasm", "x", "--what"], "No such option"),
        (["sim", "x"], "Missing option"),
        (["sim", "x", "--image", "y", "--seed", "many"], "--seed"),
    ],
)
def test_wrong_usage_exits_2(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert message in " ".join(re.sub(r"[│╭╮╰╯─]", " ", result.stderr).split())
    assert result.stdout == ""


def test_no_arguments_is_help() -> None:
    assert "Usage" in CliRunner().invoke(app, []).output


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["disasm", "program"], ["disasm", "program", "--json"]]
)
def test_an_output_that_is_full_is_one_line(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(bytes([3]) + bytes(15))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    # Unbuffered or not, it is noticed at another place.
    environment.pop("PYTHONUNBUFFERED", None)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tandem.scripts.cli", *arguments],
            cwd=tmp_path,
            env=environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    assert re.fullmatch(r"error: .*No space left on device\n", done.stderr)


def test_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tandem.scripts.cli", "disasm", "no-such-file"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: no-such-file: No such file or directory\n"
