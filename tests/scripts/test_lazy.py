"""`scripts.lazy`: verbs are imported when they are asked for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tandem.scripts.lazy import Verb, make_group


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    (tmp_path / "lazy_verb_of_a_test.py").write_text(
        "def command(count: int) -> None:\n"
        "    '''Print it. At length.'''\n"
        "    print('counted', count)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "lazy_verb_of_a_test", raising=False)
    verbs = {
        "count": Verb("lazy_verb_of_a_test", "Print it."),
        "broken": Verb("no_such_module_at_all", "Never."),
    }
    application = typer.Typer(cls=make_group(verbs), add_completion=False)

    @application.callback()
    def root() -> None:
        """A command of a test."""

    return application


def test_the_list_imports_nothing(app: typer.Typer) -> None:
    result = CliRunner().invoke(app, ["--help"])
    assert result.exit_code == 0
    assert result.output.index("count") < result.output.index("broken")
    assert "lazy_verb_of_a_test" not in sys.modules


def test_a_verb_runs_with_its_own_arguments(app: typer.Typer) -> None:
    assert CliRunner().invoke(app, ["count", "3"]).output == "counted 3\n"
    assert "At length." in CliRunner().invoke(app, ["count", "--help"]).output
    assert CliRunner().invoke(app, ["count", "three"]).exit_code == 2


def test_a_verb_whose_module_is_missing(app: typer.Typer) -> None:
    result = CliRunner().invoke(app, ["broken"])
    assert isinstance(result.exception, ModuleNotFoundError)
