"""Progress: callbacks, bars, and what is refused."""

from __future__ import annotations

import pytest

from tandem.api.progress import steps_of
from tandem.workbench.errors import ArgumentTypeError


def test_a_callback_hears_every_step() -> None:
    heard: list[tuple[int, int, str]] = []
    with steps_of("work", lambda *step: heard.append(step)) as steps:
        steps.say("begin")
        steps.at(1, 3, "middle")
        steps.say("still there")
    assert heard == [(0, 0, "begin"), (1, 3, "middle"), (1, 3, "still there")]


def test_a_bar_is_on_a_terminals_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with steps_of("work", True) as steps:
        steps.at(1, 2, "half")
    shown = capsys.readouterr()
    assert "work: half" in shown.err
    assert shown.out == ""


def test_a_file_gets_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with steps_of("work", True) as steps:
        steps.at(1, 2, "half")
    assert capsys.readouterr() == ("", "")


def test_nothing_is_shown_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    with steps_of("work", None) as steps:
        steps.at(1, 2, "half")
    assert capsys.readouterr() == ("", "")


def test_an_interruption_passes() -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), steps_of("work", interrupt) as steps:
        steps.say("begin")


def test_refusals() -> None:
    with (
        pytest.raises(
            ArgumentTypeError, match="progress is 'bar': it must be None, True, or a cal"
        ),
        steps_of("work", "bar"),  # type: ignore[arg-type]
    ):
        pass
