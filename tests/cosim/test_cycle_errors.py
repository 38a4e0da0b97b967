"""A mutation test of the comparison: the record shows every error of one cycle in the model."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.cosim import cycle_errors


def test_enough_errors_are_planted() -> None:
    assert len(cycle_errors.ERRORS) >= 40
    assert len(set(cycle_errors.ERRORS)) == len(cycle_errors.ERRORS)


def test_every_error_is_found() -> None:
    """The model runs as plain Python, and each error needs no compilation."""
    found = subprocess.run(
        [sys.executable, "-m", cycle_errors.__name__],
        env={**os.environ, "TANDEM_JIT": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stdout) == (0, ""), found.stderr
