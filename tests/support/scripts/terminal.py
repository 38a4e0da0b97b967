"""Runs of the command on a terminal, interrupted by Ctrl-C."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[3]
TIMEOUT = 60
"""Seconds within which an interrupted command has to end."""


def interrupted(
    arguments: Sequence[str],
    shows: bytes,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    *,
    everyone: bool = False,
) -> bytes:
    """Run `tandem arguments` in `folder`, and press Ctrl-C when `shows` appears on its terminal.

    With `everyone` the signal goes to the command's own processes, too, as a terminal does it.

    Checks that the command reports the interruption, exits with 130, prints no traceback, and
    leaves no process behind. Returns its standard output.
    """
    terminal, other_end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "tandem.scripts.cli", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=other_end,
        start_new_session=True,
    )
    os.close(other_end)
    try:
        _read_until(terminal, shows)
        if everyone:
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.SIGINT)
        assert b"Traceback" not in _read_until(terminal, b"error: interrupted")
        code = process.wait(timeout=TIMEOUT)
        assert code == 130, f"exit status {code}"
        assert _has_ended(process.pid)
        assert process.stdout is not None
        return process.stdout.read()
    finally:
        process.kill()
        process.communicate()
        os.close(terminal)


def _has_ended(group: int) -> bool:
    """Whether all processes of a group end soon: some end when they notice that they are alone."""
    end = time.monotonic() + TIMEOUT / 10
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def _read_until(terminal: int, text: bytes) -> bytes:
    """Everything that the terminal shows up to `text`."""
    shown = b""
    while text not in shown:
        shown += os.read(terminal, 4096)
    return shown
