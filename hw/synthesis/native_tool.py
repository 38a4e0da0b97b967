"""A program that the user has installed, in place of the one in a wheel.

Native programs take about half of the time of WebAssembly. They round otherwise, so that a seed of
nextpnr places otherwise with one than with the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from tandem.hw.synthesis.errors import SynthesisError
from tandem.hw.synthesis.yowasp import Report, Watch, follow


class Program(Protocol):
    """A program of a tool, in a wheel (`yowasp.Tool`) or native (`NativeTool`)."""

    def version(self) -> str:
        """What names one build of the program; raises `SynthesisError` if there is none."""

    def run(
        self,
        options: Sequence[str],
        folder: Path,
        root: Path,
        watch: Watch,
        report: Report | None = None,
    ) -> None:
        """Run it in `folder`; `watch` gets its output, line by line. See `yowasp.Tool.run`."""


@dataclass(frozen=True)
class NativeTool:
    """A native program.

    Attributes
    ----------
    name
        As messages write it: `nextpnr`.
    path
        Its file.
    probe
        The option with which it prints its version and ends.
    """

    name: str
    path: Path
    probe: str

    def version(self) -> str:
        """What it says of its version, and a digest of its file.

        Raises
        ------
        SynthesisError
            There is no such program, or it does not tell a version.
        """
        return self._version

    def run(
        self,
        options: Sequence[str],
        folder: Path,
        root: Path,
        watch: Watch,
        report: Report | None = None,
    ) -> None:
        """Run the program in `folder`; `watch` gets its output, line by line.

        The process has ended when this call returns or raises. Nothing lies under `root`.

        Raises
        ------
        SynthesisError
            The program cannot be started, or failed; the message ends with the last lines of its
            output.
        """
        try:
            follow(str(self.path), (str(self.path.absolute()), *options), folder, None, watch)
        except OSError as error:
            raise SynthesisError(f"{self.path} cannot be run: {error.strerror}") from None

    @cached_property
    def _version(self) -> str:
        lines: list[str] = []
        self.run((self.probe,), Path(), Path(), lines.append)
        said = " ".join(" ".join(lines).split())
        if self.name not in said:
            raise SynthesisError(f"{self.path} is no {self.name}: it says {said[:80]!r}")
        digest = hashlib.sha256(self.path.read_bytes()).hexdigest()[:12]
        return f"{said}, {digest}"
