"""Runs the tools of YoWASP's wheels: WebAssembly, the same version on every machine.

The first run of a tool on a machine compiles the tool to machine code, which takes a minute.
YoWASP's own cache is not safe for concurrent processes, so the machine code is kept in a
`ContentCache`.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tandem.base.cache import ContentCache, content_key
from tandem.base.processes import ProcessGroup
from tandem.hw.synthesis.errors import SynthesisError

Report = Callable[[str], None]
"""A progress callback, called with a few words on the current step."""
Watch = Callable[[str], None]
"""A function that is called with each line of a tool's output; may raise to stop the tool."""

_RUNTIME = ("yowasp-runtime", "wasmtime")
_MACHINE_CODE = "machine_code"
_ERROR_LINES = 6


@dataclass(frozen=True, slots=True)
class Tool:
    """A program in a YoWASP wheel.

    Attributes
    ----------
    name
        As messages write it: `Yosys`.
    package
        The wheel; its module has the same name, with underscores.
    function
        The function of that module that runs the program with a list of arguments.
    wasm
        The program's file in the wheel.
    probe
        Arguments with which the program ends at once: a version option.
    """

    name: str
    package: str
    function: str
    wasm: str
    probe: str

    def version(self) -> str:
        """The version of the wheel, which names one build of the program.

        Raises
        ------
        SynthesisError
            The wheel is not installed; the message says how to install it.
        """
        try:
            return version(self.package)
        except PackageNotFoundError:
            raise SynthesisError(
                f"synthesis needs {self.package}, which is not installed: "
                "pip install 'tandem-workbench[synth]'"
            ) from None

    def environment(self, folder: Path, root: Path, report: Report | None = None) -> dict[str, str]:
        """The environment variables with which the program runs in `folder`.

        Its machine code is linked into `folder` from the cache under `root`, and compiled if the
        cache lacks it. Temporary files stay in `folder`.

        Raises
        ------
        SynthesisError
            The wheel is not installed, or the program does not start.
        """
        packages = (self.package, *_RUNTIME)
        key = content_key(self.name, platform.machine(), self.version(), *map(version, packages))

        def compile_tool(work: Path) -> Sequence[Path]:
            if report is not None:
                report(f"compiling {self.name} (once per machine)")
            self._call((self.probe,), work, _environment(work), lambda line: None)
            return list((work / self._code).iterdir())

        place = folder / self._code
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists():
            cache = ContentCache(root / self.name.lower())
            place.symlink_to(cache.entry(key, compile_tool))
        return _environment(folder)

    def run(
        self,
        options: Sequence[str],
        folder: Path,
        root: Path,
        watch: Watch,
        report: Report | None = None,
    ) -> None:
        """Run the program in `folder`; `watch` gets its output, line by line.

        The process has ended when this call returns or raises. Machine code is cached under `root`.

        Raises
        ------
        SynthesisError
            The wheel is not installed, or the program failed; the message ends with the last lines
            of its output.
        """
        self._call(options, folder, self.environment(folder, root, report), watch)

    @property
    def _module(self) -> str:
        return self.package.replace("-", "_")

    @property
    def _code(self) -> Path:
        """Folder of the machine code, relative to the working folder."""
        return Path(_MACHINE_CODE, self._module, self.wasm)

    def _call(
        self, options: Sequence[str], folder: Path, environment: dict[str, str], watch: Watch
    ) -> None:
        # `-P`: Python imports no module from the working folder.
        program = f"import sys, {self._module} as m; sys.exit(m.{self.function}(sys.argv[1:]))"
        follow(
            self.name, (sys.executable, "-P", "-c", program, *options), folder, environment, watch
        )


def follow(
    name: str,
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None,
    watch: Watch,
) -> None:
    """Run a program to its end; `watch` gets its output, line by line.

    Raises
    ------
    SynthesisError
        The program, which `name` names, failed; the message ends with the last lines of its output.
    OSError
        It cannot be started.
    """
    tail: deque[str] = deque(maxlen=_ERROR_LINES)
    with ProcessGroup() as group, group.process(command, folder, environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip():
                tail.append(line.rstrip())
            watch(line)
        status = process.wait()
    if status != 0:
        output = "\n".join(tail)
        raise SynthesisError(f"{name} failed with status {status}; it ended with:\n{output}")


def reporter(pattern: re.Pattern[str], report: Report | None) -> Watch:
    """A function of output lines that reports the first group of `pattern`, in lower case."""

    def watch(line: str) -> None:
        if report is not None and (match := pattern.match(line)):
            report(match[1].lower())

    return watch


def _environment(folder: Path) -> dict[str, str]:
    environment = os.environ | {
        "YOWASP_CACHE_DIR": str(folder / _MACHINE_CODE),
        # A killed program leaves its temporary folder behind.
        "TMPDIR": str(folder),
    }
    # YOWASP_MOUNT would hide the working folder.
    environment.pop("YOWASP_MOUNT", None)
    return environment
