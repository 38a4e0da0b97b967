"""Compilers and emulators of other processors, where they are installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

_BOARDS = Path(__file__).parent / "boards"
_PICOLIBC = ("--specs=picolibc.specs",)


@dataclass(frozen=True, slots=True)
class Cross:
    """A cross compiler, and what runs its programs.

    Attributes
    ----------
    compiler
        The C compiler with its options.
    archiver
        What makes libraries of its objects.
    run
        The command that a program is an argument of.
    link
        Options and files that programs are linked with.
    """

    compiler: tuple[str, ...]
    archiver: str
    run: tuple[str, ...]
    link: tuple[str, ...] = ()

    def require(self) -> None:
        """Skip the test if the tools are not installed."""
        for tool in (self.compiler[0], self.archiver, *self.run[:1]):
            if shutil.which(tool) is None:
                pytest.skip(f"{tool} is not installed")

    def check(self, folder: Path) -> str:
        """`make check` in the folder of a library; what it prints."""
        return make(
            folder,
            "check",
            f"CC={' '.join(self.compiler)}",
            f"AR={self.archiver}",
            f"RUN={' '.join(self.run)}",
            f"LDFLAGS={' '.join(self.link)}",
        )


def _linux(architecture: str, emulator: str, *options: str) -> Cross:
    prefix = f"{architecture}-linux-gnu"
    run = (emulator, "-L", f"/usr/{prefix}", "-cpu", *options)
    return Cross((f"{prefix}-gcc",), f"{prefix}-ar", run)


def cortex_m(name: str, board: str, abi: str, *options: str) -> Cross:
    """A board with a Cortex-M, whose program passes floats as `abi` says."""
    machine = board.replace("_", "-")
    return Cross(
        ("arm-none-eabi-gcc", f"-mcpu={name}", "-mthumb", f"-mfloat-abi={abi}", *options),
        "arm-none-eabi-ar",
        ("qemu-system-arm", "-M", machine, "-nographic", "-semihosting", "-kernel"),
        ("-L", f"{_BOARDS}", "-T", f"{board}.ld", "--specs=rdimon.specs", f"{_BOARDS}/cortex_m.c"),
    )


def _rv32(instructions: str) -> Cross:
    # Without the others the emulator would run them all the same.
    on = ",".join(f"{letter}={str(letter in instructions).lower()}" for letter in "acdf")
    return Cross(
        ("riscv64-unknown-elf-gcc", *_PICOLIBC, f"-march={instructions}", "-mabi=ilp32"),
        "riscv64-unknown-elf-ar",
        ("qemu-riscv32", "-cpu", f"rv32,{on}"),
        ("-nostartfiles", "-T", f"{_BOARDS}/rv32.ld", f"{_BOARDS}/rv32.c"),
    )


_WASM = Cross(("clang",), "wasm-ld", ("node",))
CROSS = {
    "cortex-a53": _linux("aarch64", "qemu-aarch64", "cortex-a53"),
    "cortex-a55": _linux("aarch64", "qemu-aarch64", "cortex-a76"),
    "cortex-a72": _linux("aarch64", "qemu-aarch64", "cortex-a72"),
    "cortex-m4": cortex_m("cortex-m4", "mps2_an386", "hard", "-mfpu=fpv4-sp-d16"),
    "cortex-m55": cortex_m("cortex-m55", "mps3_an547", "hard"),
    "neoverse-n1": _linux("aarch64", "qemu-aarch64", "neoverse-n1"),
    "rv32im": _rv32("rv32im"),
    "rv32imc": _rv32("rv32imc"),
    "rv64gc": _linux("riscv64", "qemu-riscv64", "rv64,v=false"),
    "rv64gcv": _linux("riscv64", "qemu-riscv64", "rv64,v=true,vlen=128,vext_spec=v1.0"),
    "wasm32": _WASM,
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
