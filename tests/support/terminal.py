"""Runs of the command on a terminal, interrupted by Ctrl-C."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TIMEOUT = 60
"""Seconds within which an interrupted command has to end."""


def interrupted(
    arguments: Sequence[str],
    shows: bytes,
    folder: Path,
    environment: Mapping[str, str] | None = None,
) -> bytes:
    """Run `tandem arguments` in `folder`, and press Ctrl-C when `shows` appears on its terminal.

    Checks that the command reports the interruption, exits with 130, and leaves no process behind.
    Returns its standard output.
    """
    terminal, other_end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "scripts.cli", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=other_end,
        start_new_session=True,
    )
    os.close(other_end)
    try:
        _read_until(terminal, shows)
        process.send_signal(signal.SIGINT)
        _read_until(terminal, b"error: interrupted")
        assert process.wait(timeout=TIMEOUT) == 130
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)
        assert process.stdout is not None
        return process.stdout.read()
    finally:
        process.kill()
        process.communicate()
        os.close(terminal)


def _read_until(terminal: int, text: bytes) -> None:
    shown = b""
    while text not in shown:
        shown += os.read(terminal, 4096)
