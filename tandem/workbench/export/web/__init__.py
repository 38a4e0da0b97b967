"""A network for browsers and Node: what is written around its module of WebAssembly."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from string import Template

from tandem.runtime.native import ALIGNMENT
from tandem.workbench.export.header import Header, Port
from tandem.workbench.export.heap_source import HEAP_BYTES, NO_MEMORY, RESULTS

FLAGS = "-std=c99 -O2 -ffreestanding -Wall -Wextra -Werror"
_RUNTIME = "memcpy"
"""What the module has itself."""
_MEMORY = "memory.S"
_STACK = "-z stack-size=1048576 --stack-first"
"""Of calls that wait; at the begin of memory, whose end stops a run that needs more."""


def web_files(header: Header, objects: Sequence[str], *, checked: bool) -> Mapping[str, str]:
    """The files by name: a Makefile, a loader, a check in Node, a page, and a description."""
    name = header.name
    here = files(__package__)
    written = ("network.mjs", "check.mjs", "index.html", _MEMORY)
    texts = {file: (here / file).read_text() for file in written}
    return {
        f"{name}.json": json.dumps(_description(header, checked), indent=1) + "\n",
        f"{name}_weights.S": weights_source(name, header.weight_bytes),
        "Makefile": _makefile(name, objects, heap=bool(header.heap)),
        _MEMORY: texts[_MEMORY],
        "network.mjs": texts["network.mjs"],
        "check.mjs": texts["check.mjs"],
        "index.html": Template(texts["index.html"]).substitute(name=name),
    }


def weights_source(name: str, size: int) -> str:
    """An assembler file that puts the file of weights into the module, for Clang."""
    symbol = f"{name}_weights"
    return f"""# The bytes of {symbol}.bin, made by Tandem.
    .section .rodata.{symbol},"",@
    .globl {symbol}
    .type {symbol},@object
    .p2align 6
{symbol}:
    .incbin "{symbol}.bin"
    .size {symbol}, {size}
"""


def _description(header: Header, checked: bool) -> Mapping[str, object]:
    """What the loader has to know."""
    return {
        "name": header.name,
        "model": header.manifest.provenance.model,
        "alignment": ALIGNMENT,
        "arena_bytes": header.arena_bytes,
        "workspace_bytes": header.workspace_bytes,
        "heap": _heap() if header.heap else None,
        "calls": [each for each in header.needs if each != _RUNTIME],
        "checked": checked,
        "inputs": [_tensor(port) for port in header.inputs],
        "outputs": [
            {
                **_tensor(port),
                "extents": {
                    str(extent.axis): extent.count.name
                    for extent in header.extents
                    if extent.output == port
                },
            }
            for port in header.outputs
        ],
    }


def _heap() -> Mapping[str, object]:
    """The heap's first size, the words of results of runs, and the result for which it grows."""
    return {
        "bytes": HEAP_BYTES,
        "results": [*RESULTS.values()],
        "grows_for": [*RESULTS].index(NO_MEMORY),
    }


def _tensor(port: Port) -> Mapping[str, object]:
    tensor = port.tensor
    return {
        "name": port.name,
        "dtype": tensor.dtype,
        "shape": [*tensor.shape],
        "bytes": tensor.bytes,
    }


def _makefile(name: str, objects: Sequence[str], *, heap: bool) -> str:
    """The Makefile: a module, and a run of it in Node."""
    stack = f" {_STACK}" * heap
    return f"""# {name}: made by Tandem. Needs Clang and LLVM's linker, and Node for the check.
# make          the module {name}.wasm
# make check    runs it once in Node
# The page needs a server: python3 -m http.server shows it at http://localhost:8000
CC = clang
LD = wasm-ld
NODE = node
CFLAGS ?= {FLAGS}
TARGET = --target=wasm32 -msimd128 -mbulk-memory
EXPORTS = --export={name}_run --export=__heap_base
OBJECTS = {name}.o {name}_weights.o memory.o {" ".join(objects)}

{name}.wasm: $(OBJECTS)
\t$(LD) --no-entry --allow-undefined{stack} $(EXPORTS) -o $@ $(OBJECTS)

{name}_weights.o: {name}_weights.S {name}_weights.bin
{name}.o: {name}.h

%.o: %.S
\t$(CC) $(TARGET) -c -o $@ $<

%.o: %.c
\t$(CC) $(TARGET) $(CFLAGS) -c -o $@ $<

.PHONY: check clean
check: {name}.wasm
\t$(NODE) check.mjs {name}

clean:
\trm -f {name}.wasm {name}.o {name}_weights.o memory.o
"""
