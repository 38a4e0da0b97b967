"""Runs tests on a copy of the tree with one fault planted in it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from compileall import compile_dir
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from py_compile import PycInvalidationMode
from time import perf_counter

from tests.mutation.python.faults import Fault
from tests.mutation.python.mirrored import TestsOf
from tests.support.packages import FOLDERS

_PASSED, _FAILED, _NO_TESTS = 0, 1, 5
_COPIED = (*FOLDERS, "docs", "tests")


class UnclearError(Exception):
    """A test that fails on a fault and without it: it is broken, or the machine is too busy."""


class Ending(Enum):
    """Where a fault was found."""

    MIRROR = "by its mirror"
    NEAR = "near by"
    NET = "by a net"
    FAR = "further away"
    SURVIVED = "survived"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a fault.

    Attributes
    ----------
    test
        The test that found it; empty if none did, or if it ended pytest itself.
    """

    ending: Ending
    test: str
    seconds: float


class Tree:
    """A copy of the files that git knows, in which faults are planted one at a time.

    Parameters
    ----------
    root
        The tree that is copied, and never changed.
    seconds
        The time limit of a stage of tests: a fault whose tests take longer is found.
    """

    def __init__(self, root: Path, copy: Path, seconds: float) -> None:
        self.copy = copy
        self._seconds = seconds
        for name in _COPIED:
            if (root / name).is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(root / name, copy / name, symlinks=True, ignore=ignored)
        for path in root.iterdir():
            if path.is_file() and path.suffix in (".toml", ".md", "") and path.name != ".git":
                shutil.copy2(path, copy / path.name)
        # Once for all faults. By the digest of its source, not by its time: what a fault changes
        # within a second is compiled anew.
        mode = PycInvalidationMode.CHECKED_HASH
        for name in FOLDERS:
            compile_dir(copy / name, quiet=2, invalidation_mode=mode)

    def judge(self, fault: Fault, tests: TestsOf, *, rest: bool = False) -> Outcome:
        """Plant a fault, run its tests from the nearest on until one fails, and take it out.

        Parameters
        ----------
        rest
            Whether to go on to the folders around the mirror, up to all tests.

        Raises
        ------
        UnclearError
            A test that found the fault fails without it as well, or runs as long.
        """
        begun = perf_counter()
        stages = [
            (Ending.MIRROR, tests.mirror),
            (Ending.NEAR, tests.near),
            *((Ending.NET, (net,)) for net in tests.nets),
        ]
        if rest:
            stages += [(Ending.FAR, (folder,)) for folder in tests.folders]
        path = self.copy / fault.path
        text = path.read_text()
        done: list[str] = []
        for ending, files in stages:
            if not files:
                continue
            path.write_text(fault.planted(text))
            try:
                found = self._failing(files, done)
            finally:
                path.write_text(text)
            if found is not None:
                # Of a hang or a crash all its tests are run again.
                again = self._failing(*(([found],) if found else (files, done)))
                if again is not None:
                    raise UnclearError(f"without a fault {again or files} fails, too")
                return Outcome(ending, found, perf_counter() - begun)
            done += files
        return Outcome(Ending.SURVIVED, "", perf_counter() - begun)

    def _failing(self, tests: Sequence[str], done: Sequence[str] = ()) -> str | None:
        """The first test that fails, of those that are not in what is done; empty if pytest ended
        otherwise, None if all pass."""
        code, output = self._pytest([*tests, *(f"--ignore={each}" for each in done)])
        if code in (_PASSED, _NO_TESTS):
            return None
        names = re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", output, re.MULTILINE)
        # A file that cannot be imported has no test to be named.
        return names[-1] if code == _FAILED and names and "::" in names[-1] else ""

    def _pytest(self, tests: Sequence[str]) -> tuple[int | None, str]:
        """The exit code and the output; None for the code where it had to be stopped."""
        options = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.copy),
            "PYTHONDONTWRITEBYTECODE": "1",
            # Draws the same examples for every fault.
            "CI": "1",
        }
        log = self.copy / "pytest.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", *options, *tests],
                cwd=self.copy,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code: int | None = process.wait(self._seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                # The processes that it started too.
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        return code, log.read_text(errors="replace")
