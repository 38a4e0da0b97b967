"""NVIDIA's assembler of PTX, `ptxas`: whether it takes a text, and what kernels need of a GPU.

It is a program of the CUDA toolkit, and of the package `nvidia-cuda-nvcc-cu12`. It needs no GPU.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tandem.compiler.errors import CodegenError

_IN_PACKAGE = Path("nvidia/cuda_nvcc/bin/ptxas")


@dataclass(frozen=True, slots=True)
class KernelResources:
    """What a kernel needs of a GPU.

    Attributes
    ----------
    registers
        Of 32 bits, of each thread.
    shared_bytes
        Of a block.
    stack_bytes
        Memory of each thread outside of registers: arrays whose indices are not known when
        compiling, and spilled registers.
    spilled_bytes
        Bytes that are stored and loaded because registers do not suffice.
    """

    kernel: str
    registers: int
    shared_bytes: int
    stack_bytes: int
    spilled_bytes: int


def ptxas_path() -> Path | None:
    """The assembler: on `PATH`, or that of an installed package; None if there is none."""
    found = shutil.which("ptxas")
    if found is not None:
        return Path(found)
    return next((path for each in sys.path if (path := Path(each) / _IN_PACKAGE).is_file()), None)


def assembled(text: str, processor: str, assembler: Path) -> tuple[KernelResources, ...]:
    """What the kernels of a PTX text need on a processor, such as `sm_80`. Raises `CodegenError`
    with the assembler's message if it refuses the text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernels.ptx"
        path.write_text(text)
        command = [str(assembler), f"-arch={processor}", "-v", "-o", f"{path}.cubin", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CodegenError(f"ptxas refuses the text for {processor}: {done.stderr.strip()}")
    return tuple(_resources(done.stdout + done.stderr))


_PARTS = re.compile(r"Compiling entry function '(\w+)'")


def _resources(report: str) -> Iterator[KernelResources]:
    """The kernels of a report, which has a part for each."""
    _, *parts = _PARTS.split(report)
    for kernel, part in zip(parts[::2], parts[1::2], strict=True):
        spilled = _number(part, r"(\d+) bytes spill stores") + _number(
            part, r"(\d+) bytes spill loads"
        )
        yield KernelResources(
            kernel,
            _number(part, r"Used (\d+) registers"),
            _number(part, r"(\d+) bytes smem"),
            _number(part, r"(\d+) bytes stack frame"),
            spilled,
        )


def _number(part: str, pattern: str) -> int:
    """A number of a report: of what a kernel does not use, there is none."""
    found = re.search(pattern, part)
    return int(found[1]) if found else 0
