"""The benchmark of compiling: it measures what it says, in turns, and has targets only then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tandem.scripts.bench import compiling
from tandem.scripts.bench.compiling import Candidate, Command
from tandem.workbench.utilization.conv_layers import ConvLayer

SMALL = ConvLayer("small", 8, 8, 16, 16, 3, 1, 1)


def test_what_a_candidate_takes() -> None:
    candidate = Candidate(seconds=0.08, instructions=1000)
    assert candidate.microseconds == pytest.approx(80)
    assert candidate.further_microseconds == pytest.approx(60)


def test_candidates_have_time_and_instructions() -> None:
    found = [*compiling.candidates(SMALL, (16, 64))]
    assert all(each.seconds > 0 for each in found)
    assert 10 < found[0].instructions < found[1].instructions


def test_candidates_of_a_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = [Candidate(0.1, 1731)]
    monkeypatch.setattr(compiling, "candidates", lambda layer: iter(wanted))
    assert compiling.main(["--candidates"]) == 0
    assert msgspec.json.decode(capsys.readouterr().out, type=list[Candidate]) == wanted


def test_a_command_is_a_process_of_its_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    command = Command(("disasm", "--help"), 1.0)
    assert command.name == "tandem disasm --help"
    monkeypatch.setattr(compiling, "COMMANDS", (command,))
    monkeypatch.setattr(compiling, "_candidates", lambda tree: [Candidate(0.1, 1000)])
    (taken, *_) = compiling.figures(compiling.HERE, None, rounds=1)
    assert taken.value > 0.05
    assert (taken.unit, taken.target) == ("s", None)


def test_checkouts_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    seconds: Iterator[float] = iter([3.0, 8.0, 2.0, 10.0])
    told = {"now": Candidate(0.05, 1000), "then": Candidate(0.15, 1000)}

    def measured(command: Command, tree: Path) -> float:
        asked.append(tree.name)
        return next(seconds)

    monkeypatch.setattr(compiling, "_seconds", measured)
    monkeypatch.setattr(compiling, "_candidates", lambda tree: [told[tree.name]])
    monkeypatch.setattr(compiling, "COMMANDS", (Command(("run", "net"), 0.3),))
    found = [*compiling.figures(Path("now"), Path("then"), rounds=2)]
    assert asked == ["now", "then"] * 2
    assert [figure.value for figure in found[:3]] == [2.0, 8.0, 0.25]
    assert [figure.target for figure in found] == [
        *(None, None, 0.3, *[None] * 8, compiling.MOST_OF_CANDIDATE)
    ]
    assert found[6].value == pytest.approx(30)
    assert found[10].value == pytest.approx(130)
    assert found[11].value == pytest.approx(1 / 3)
