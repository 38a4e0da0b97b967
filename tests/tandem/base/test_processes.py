"""`base.processes`: groups of children that end with their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tandem.base.processes import ProcessGroup

FAMILY = ("/bin/sh", "-c", "sleep 600 & echo $!; wait")
"""A process that starts another, prints its number, and waits for it."""
ROOT = Path(__file__).parents[2]
TIMEOUT = 30


def is_running(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    # A zombie has ended, and waits until its parent, init, asks for its status.
    return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_output_and_status(tmp_path: Path) -> None:
    with ProcessGroup() as group:
        command = ("/bin/sh", "-c", "pwd; echo $X; echo to error >&2; exit 3")
        status, output = group.run(command, tmp_path, {"X": "grüß"})
    assert (status, output) == (3, f"{tmp_path}\ngrüß\nto error\n")


def test_input_and_errors_apart() -> None:
    command = ("/bin/sh", "-c", "cat; echo to error >&2")
    with (
        ProcessGroup() as group,
        group.process(command, with_input=True, errors_apart=True) as process,
    ):
        assert process.communicate("text") == ("text", "to error\n")
    assert process.returncode == 0


def test_what_does_not_start() -> None:
    with ProcessGroup() as group, pytest.raises(FileNotFoundError):
        group.run(("/no/such/program",))


def interrupt(group: ProcessGroup, grandchildren: list[int]) -> None:
    with group.process(FAMILY) as process:
        assert process.stdout is not None
        grandchildren.append(int(process.stdout.readline()))
        raise KeyboardInterrupt


def test_an_exception_ends_children_and_their_children() -> None:
    grandchildren: list[int] = []
    with ProcessGroup() as group:
        with pytest.raises(KeyboardInterrupt):
            interrupt(group, grandchildren)
        with pytest.raises(OSError, match="canceled"):
            group.run(FAMILY)
    wait_for(lambda: not is_running(grandchildren[0]))


def interrupt_threads() -> None:
    with ProcessGroup() as group, group.threads(2) as threads:
        # The third one never starts.
        for _ in range(3):
            threads.submit(group.run, FAMILY)
        raise KeyboardInterrupt


def test_an_exception_ends_what_threads_wait_for() -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt_threads()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_children_end_with_their_parent(number: signal.Signals) -> None:
    script = (
        "from tandem.base.processes import ProcessGroup\n"
        "from tests.tandem.base.test_processes import FAMILY\n"
        "with ProcessGroup() as group, group.process(FAMILY) as process:\n"
        "    print(process.stdout.readline(), flush=True)\n"
        "    process.wait()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    grandchild = int(parent.stdout.readline())
    assert is_running(grandchild)
    parent.send_signal(number)
    parent.communicate()
    wait_for(lambda: not is_running(grandchild))
