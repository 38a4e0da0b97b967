"""Child processes that end with this process, and with an interruption of it.

A C++ compiler is several processes: killing the one that was started leaves the others. So all
children of a `ProcessGroup` share a process group of the system, which is killed as a whole. Its
first process is a warden: it waits on a pipe that nothing is ever written to. When this process
ends, however it ends, the pipe closes, and the warden kills the group.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self

_WARDEN = ("/bin/sh", "-c", "read -r line; kill -KILL 0")


class ProcessGroup:
    """A context whose child processes have ended when the context ends.

    Methods may be called on any thread. Ctrl-C on a terminal does not reach the children.
    """

    def __init__(self) -> None:
        self._ended = False
        self._lock = Lock()
        self._warden = subprocess.Popen(
            _WARDEN,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        # Only now, so that no other group has had its number.
        self._warden.communicate()

    def kill(self) -> None:
        """Kill all processes; none can be started any more."""
        with self._lock:
            self._ended = True
            with suppress(ProcessLookupError):
                os.killpg(self._warden.pid, signal.SIGKILL)

    @contextmanager
    def threads(self, count: int) -> Iterator[ThreadPoolExecutor]:
        """Yield threads to run processes on; an interruption kills all processes.

        Otherwise the end of the context would wait for those that threads wait for, as it does
        after an error, which may be one of many and is not to be hidden by others.
        """
        with ThreadPoolExecutor(count) as executor:
            try:
                yield executor
            except Exception:
                raise
            except BaseException:
                self.kill()
                raise

    @contextmanager
    def process(
        self,
        command: Sequence[str],
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        with_input: bool = False,
        errors_apart: bool = False,
    ) -> Iterator[subprocess.Popen[str]]:
        """Yield a running process, which has ended at the end; an exception kills the group.

        Parameters
        ----------
        with_input
            Whether standard input is a pipe; otherwise it is empty.
        errors_apart
            Whether standard error is a pipe of its own; otherwise it is part of standard output, a
            pipe. All text is UTF-8.

        Raises
        ------
        OSError
            The process cannot be started.
        """
        with self._lock:
            if self._ended:
                raise OSError(errno.ECANCELED, os.strerror(errno.ECANCELED), command[0])
            started = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.PIPE if with_input else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if errors_apart else subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                process_group=self._warden.pid,
            )
        with started:
            try:
                yield started
            except BaseException:
                self.kill()
                raise

    def run(
        self,
        command: Sequence[str],
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> tuple[int, str]:
        """Run a process to its end; returns exit status and output. Raises as `process`."""
        with self.process(command, folder, environment) as process:
            output, _ = process.communicate()
        return process.returncode, output
