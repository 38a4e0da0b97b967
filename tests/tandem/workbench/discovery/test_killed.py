"""A search that is killed goes on where it was, and finds what one finds that was not."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tandem.workbench.discovery.judged import open_judged

ROOT = Path(__file__).parents[4]
MOMENTS = (
    (1, 0),  # Ahead of the first network.
    (3, 0),  # Ahead of the first row of the memory,
    (4, 0),  # of its end,
    (5, 1),  # and behind it.
    (5, 1),  # When chains are gathered, and not yet kept;
    (6, 2),  # when they are.
    (8, 3),  # When an operation is proved.
    (10, 4),  # Ahead of the row of another one.
    (16, 7),  # Between networks that are compiled.
    (12, 9),  # Ahead of the last row.
)
"""Of searches one after the other: a moment as `dying_search` counts them, and the rows that are
left. What earlier ones have judged takes no statement any more."""


def searched(folder: Path, judged: Path, moment: int) -> int:
    """How the process of a search ends."""
    command = [sys.executable, "-m", "tests.support.workbench.dying_search", str(judged)]
    done = subprocess.run(
        [*command, str(folder / "found.json"), str(moment)], cwd=ROOT, stdout=subprocess.DEVNULL
    )
    return done.returncode


def rows(judged: Path) -> int:
    with open_judged(judged) as kept:
        return len(kept)


@pytest.mark.exhaustive
def test_killed_at_ten_moments(tmp_path: Path) -> None:
    """Nothing is lost but what was about to be kept, and the result is the same in all."""
    whole, broken = tmp_path / "whole.db", tmp_path / "broken.db"
    assert searched(tmp_path, whole, 0) == 0
    wanted = (tmp_path / "found.json").read_text()
    (tmp_path / "found.json").unlink()
    left = []
    for moment, _ in MOMENTS:
        assert searched(tmp_path, broken, moment) == -signal.SIGKILL
        left.append(rows(broken))
    assert left == [count for _, count in MOMENTS]
    assert not (tmp_path / "found.json").exists()
    assert searched(tmp_path, broken, 0) == 0
    assert (tmp_path / "found.json").read_text() == wanted
    assert rows(broken) == rows(whole)
