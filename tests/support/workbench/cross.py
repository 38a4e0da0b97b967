"""Compilers and emulators of other processors, where they are installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True, slots=True)
class Cross:
    """A cross compiler, by its prefix, and the command that runs its programs."""

    prefix: str
    run: tuple[str, ...]

    def require(self) -> None:
        """Skip the test if the tools are not installed."""
        for tool in (f"{self.prefix}gcc", self.run[0] if self.run else "make"):
            if shutil.which(tool) is None:
                pytest.skip(f"{tool} is not installed")

    def check(self, folder: Path) -> str:
        """`make check` in the folder of a library; what it prints."""
        return make(
            folder,
            "check",
            f"CC={self.prefix}gcc",
            f"AR={self.prefix}ar",
            f"RUN={' '.join(self.run)}",
        )


_ARM = ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")
_RISC_V = ("qemu-riscv64", "-L", "/usr/riscv64-linux-gnu")
CROSS = {
    "cortex-a53": Cross("aarch64-linux-gnu-", (*_ARM, "-cpu", "cortex-a53")),
    "cortex-a55": Cross("aarch64-linux-gnu-", (*_ARM, "-cpu", "cortex-a76")),
    "cortex-a72": Cross("aarch64-linux-gnu-", (*_ARM, "-cpu", "cortex-a72")),
    "neoverse-n1": Cross("aarch64-linux-gnu-", (*_ARM, "-cpu", "neoverse-n1")),
    "rv64gc": Cross("riscv64-linux-gnu-", (*_RISC_V, "-cpu", "rv64,v=false")),
    "rv64gcv": Cross(
        "riscv64-linux-gnu-", (*_RISC_V, "-cpu", "rv64,v=true,vlen=128,vext_spec=v1.0")
    ),
}
"""By the processors' names. The emulator knows no Cortex-A55; an A76 has its instructions."""


_EMULATOR = "target/riscv/translate.c:213: decode_save_opc: Assertion"
"""What QEMU 7.2 ends with, whose translator fails then, before it runs anything."""


def emulator_failed(message: str) -> bool:
    """Whether the emulator ended with its own error, which says nothing about a library."""
    return _EMULATOR in message


def make(folder: Path, *arguments: str) -> str:
    """What `make` prints; fails with its errors."""
    command: Sequence[str] = ("make", "-s", *arguments)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if emulator_failed(done.stderr):
        pytest.skip("this QEMU cannot translate some vector instructions of RISC-V")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
