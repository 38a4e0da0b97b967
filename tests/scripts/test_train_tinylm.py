"""What the script that trains the language model prints of a state."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tandem.scripts.train_tinylm import SHOWN, main, shown
from tandem.workbench.training.checkpoints import Epoch, State


def test_the_mean_of_recent_losses(capsys: pytest.CaptureFixture[str]) -> None:
    shown(State(SHOWN, {}, (9.0, *[1.5] * SHOWN), 61.4), 100)
    assert capsys.readouterr().out == f"step {SHOWN} of 100: loss 1.5000, 61 s\n"
    shown(State(SHOWN + 1, {}, (2.0,), 62.0), 100)
    assert not capsys.readouterr().out


def test_the_mean_of_an_epoch_that_has_ended(capsys: pytest.CaptureFixture[str]) -> None:
    ended = Epoch(2 * SHOWN, 1.25, 0.001, 70.0)
    shown(State(2 * SHOWN, {}, (), 70.2, (ended,)), 100)
    assert capsys.readouterr().out == f"step {2 * SHOWN} of 100: loss 1.2500, 70 s\n"


def test_the_package_with_the_text_has_to_be_named_and_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "argv", ["train_tinylm"])
    with pytest.raises(SystemExit):
        main()
    assert "the following arguments are required: package" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["train_tinylm", str(tmp_path), "--steps", "1"])
    with pytest.raises(OSError, match=str(tmp_path)):
        main()
