"""`--compare`: two engines, and their differences as a table."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from tandem.hw.topology import Unit
from tandem.scripts.engine_comparison import (
    EngineNames,
    choose_engine,
    parse_engines,
    print_comparison,
)
from tandem.sim.compare import Comparison, Difference
from tandem.sim.errors import EngineError
from tandem.workbench.engine_comparison import EngineComparison
from tests.support.scripts.printed import lines_of


def test_two_engines() -> None:
    found = parse_engines(" rtl , cycle")
    assert found == EngineNames("rtl", "cycle")
    assert found.names == ("rtl", "cycle")


@pytest.mark.parametrize("text", ["rtl", "rtl,", ",rtl", "a,b,c", ""])
def test_texts_that_are_not_two(text: str) -> None:
    with pytest.raises(
        typer.BadParameter, match=f"^'{text}' is not two engines, such as rtl,cycle"
    ):
        parse_engines(text)


def test_one_engine_twice() -> None:
    with pytest.raises(typer.BadParameter, match=r"^'rtl, rtl' is one engine twice: name two"):
        parse_engines("rtl, rtl")


def chosen(*arguments: str, compared: EngineNames | None) -> str:
    app = typer.Typer()

    @app.command()
    def command(context: typer.Context, engine: str = "cycle") -> None:
        try:
            typer.echo(choose_engine(context, engine, compared))
        except (typer.BadParameter, EngineError) as error:
            typer.echo(f"refused: {error}")

    return CliRunner().invoke(app, arguments).stdout.strip()


def test_the_engine_whose_results_count() -> None:
    assert chosen(compared=None) == "cycle"
    assert chosen("--engine", "functional", compared=None) == "functional"
    assert chosen(compared=EngineNames("functional", "cycle")) == "functional"
    both = chosen("--engine", "cycle", compared=EngineNames("functional", "cycle"))
    assert both == "refused: --engine and --compare: one or the other"
    for engines in (EngineNames("none", "cycle"), EngineNames("cycle", "none")):
        assert chosen(compared=engines).startswith("refused: ")
        assert "none" in chosen(compared=engines)
    assert chosen("--engine", "none", compared=None).startswith("refused: ")


EQUAL = Comparison(("rtl", "cycle"), True, ())
APART = Comparison(
    ("rtl", "cycle"),
    True,
    (
        Difference(3, "GEMM", Unit.COMPUTE, "start", (1_200, 1_201)),
        Difference(None, None, None, "cycles", (5_000, None)),
    ),
)


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def test_engines_that_agree(capsys: pytest.CaptureFixture[str]) -> None:
    print_comparison(EngineComparison((EQUAL,) * 1200))
    bytes_only = Comparison(("rtl", "functional"), False, ())
    print_comparison(EngineComparison((bytes_only,)))
    assert lines_of(capsys) == [
        "rtl and cycle agree: every event, cycle, counter and byte; launches: 1,200",
        "rtl and functional agree: every byte; the rest needs two engines with time; launches: 1",
    ]


def test_engines_that_differ(capsys: pytest.CaptureFixture[str]) -> None:
    print_comparison(EngineComparison((EQUAL, APART, EQUAL, APART, EQUAL)))
    lines = lines_of(capsys)
    assert lines[0] == "rtl and cycle differ in 2 of 5 launches; the first of each kind:"
    assert [line.split() for line in lines[1:]] == [
        ["event", "unit", "instruction", "rtl", "cycle"],
        ["start", "compute", "3:", "GEMM", "1,200", "1,201"],
        ["cycles", "5,000", "-"],
    ]
    print_comparison(EngineComparison((APART,)))
    assert lines_of(capsys)[0] == "rtl and cycle differ; the first of each kind:"
