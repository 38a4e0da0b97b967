"""Programs compiled for other processors, and run by an emulator."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tandem.compiler.ir.stmt import PrimFunc, parameters
from tandem.compiler.machines.cpu.codegen.compile import emit_object
from tandem.compiler.machines.cpu.processors import PROCESSORS
from tests.support.workbench.cross import CROSS


def run_emulated(
    function: PrimFunc, processor: str, arrays: Sequence[NDArray[Any]], folder: Path
) -> list[NDArray[Any]]:
    """The outputs of a program without a workspace, on a processor of Linux; skips the test where
    the processor's compiler or emulator is not installed."""
    cross = CROSS[processor]
    cross.require()
    code = emit_object(function, PROCESSORS[processor])
    assert code.shared_bytes + code.worker_bytes == 0, "no workspace is passed"
    given = dict(zip((each.name for each in function.inputs), arrays, strict=True))
    passed = parameters(function)
    (folder / "code.o").write_bytes(code.code)
    for number, buffer in enumerate(passed):
        empty = np.zeros(buffer.shape, buffer.dtype.numpy)
        given.get(buffer.name, empty).tofile(folder / f"{number}.bin")
    sizes = [buffer.size * buffer.dtype.numpy.itemsize for buffer in passed]
    (folder / "main.c").write_text(_main(code.symbol, sizes))
    command = [*cross.compiler, "-o", "program", "main.c", "code.o"]
    subprocess.run(command, cwd=folder, check=True)
    subprocess.run([*cross.run, "./program"], cwd=folder, check=True)
    names = [buffer.name for buffer in passed]
    found = []
    for output in function.outputs:
        content = np.fromfile(folder / f"{names.index(output.name)}.bin", output.dtype.numpy)
        found.append(content.reshape(output.shape))
    return found


def _main(symbol: str, sizes: Sequence[int]) -> str:
    """A program that reads the parameters from files, calls the function, and writes them back."""
    types = ", ".join(["void *"] * (len(sizes) + 2))
    buffers = "".join(
        f"static unsigned char b{number}[{size}] __attribute__((aligned(64)));\n"
        for number, size in enumerate(sizes)
    )
    names = [f"b{number}" for number in range(len(sizes))]
    loads = "".join(f'    pass("{name[1:]}.bin", {name}, sizeof {name}, 0);\n' for name in names)
    stores = loads.replace(", 0)", ", 1)")
    return f"""#include <stdio.h>
#include <stdlib.h>
void function({types}) __asm__("{symbol}");
{buffers}
static void pass(const char *name, void *bytes, size_t size, int out)
{{
    FILE *file = fopen(name, out ? "wb" : "rb");
    if (!file) exit(1);
    if ((out ? fwrite(bytes, 1, size, file) : fread(bytes, 1, size, file)) != size) exit(2);
    if (fclose(file)) exit(3);
}}

int main(void)
{{
{loads}    function({", ".join([*names, "NULL", "NULL"])});
{stores}    return 0;
}}
"""
