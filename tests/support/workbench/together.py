"""Many exported libraries in one program, run by one start of an emulator."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  NumPy knows bfloat16 by it
import numpy as np
from numpy.typing import NDArray

from tandem.runtime.artifact import Artifact
from tandem.runtime.artifact.counts import cut
from tandem.workbench.export import Exported, export_library
from tandem.workbench.export.blobs import blob_source
from tests.support.workbench.cross import Cross

Arrays = Mapping[str, NDArray[Any]]
_FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-O1")
_PLACE = 64
"""Inputs, results and memory begin at multiples of it."""


@dataclass(frozen=True, slots=True)
class Crash:
    """What a library ended with that gave no results."""

    message: str


@dataclass(frozen=True, slots=True)
class _Member:
    exported: Exported
    inputs: Arrays


def run_together(
    runs: Sequence[tuple[Artifact, Arrays]], folder: Path, cross: Cross
) -> list[dict[str, NDArray[Any]] | Crash]:
    """The results of artifacts on inputs, by name, as the emulated processor gives them.

    A library that crashes ends the program, which is then started behind it.
    """
    members = [
        _Member(export_library(artifact, folder, inputs, None, f"m{at}"), inputs)
        for at, (artifact, inputs) in enumerate(runs)
    ]
    _build(members, folder, cross)
    found: list[dict[str, NDArray[Any]] | Crash] = []
    while len(found) < len(members):
        command = [*cross.run, str(folder / "all"), str(len(found)), str(folder / "results.bin")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        content = (folder / "results.bin").read_bytes()
        for member in members[len(found) :]:
            size = 1 + sum(port.tensor.bytes for port in member.exported.header.outputs)
            if len(content) < size:
                found.append(Crash(done.stderr.strip() or f"ended with {done.returncode}"))
                break
            found.append(_results(member.exported, content[1:size]))
            content = content[size:]
    return found


def _results(exported: Exported, content: bytes) -> dict[str, NDArray[Any]]:
    found, at = {}, 0
    for port in exported.header.outputs:
        size = port.tensor.bytes
        array = np.frombuffer(content[at : at + size], np.dtype(port.tensor.dtype))
        found[port.name] = array.reshape(port.tensor.shape)
        at += size
    known: dict[str, dict[int, int]] = {}
    for extent in exported.header.extents:
        count = int(found.pop(extent.count.name))
        known.setdefault(extent.output.name, {})[extent.axis] = count
    return {name: cut(name, array, known.get(name, {})) for name, array in found.items()}


def _build(members: Sequence[_Member], folder: Path, cross: Cross) -> None:
    given = b"".join(
        _padded(member.inputs[port.name].tobytes())
        for member in members
        for port in member.exported.header.inputs
    )
    names = [member.exported.header.name for member in members]
    (folder / "given.bin").write_bytes(given or bytes(_PLACE))
    blobs = [
        ("given", "given.bin"),
        *((f"{name}_weights", f"{name}_weights.bin") for name in names),
    ]
    (folder / "blobs.S").write_text("".join(blob_source(*blob) for blob in blobs))
    (folder / "main.c").write_text("\n".join(_main(members)) + "\n")
    objects = [file for member in members for file in member.exported.files if file.endswith(".o")]
    compiler = cross.compiler
    sources = ["main.c", "blobs.S", *(f"{name}.c" for name in names)]
    for command in (
        [*compiler, *_FLAGS, "-c", *sources],
        [
            *(*compiler, "-static", "-o", "all", "main.o", "blobs.o"),
            *(*(f"{name}.o" for name in names), *objects, "-lm"),
        ],
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def _main(members: Sequence[_Member]) -> Iterator[str]:
    headers = [member.exported.header for member in members]
    results = max(sum(_room(port.tensor.bytes) for port in each.outputs) for each in headers)
    memory = {
        "arena": max(each.arena_bytes for each in headers),
        "workspace": max(each.workspace_bytes for each in headers),
        "results": results,
    }
    yield "#include <stdio.h>"
    yield "#include <stdlib.h>"
    yield from (f'#include "{each.name}.h"' for each in headers)
    yield "extern const unsigned char given[];"
    for name, size in memory.items():
        yield f"static unsigned char {name}[{size + _PLACE}] __attribute__((aligned({_PLACE})));"
    at = 0
    for number, header in enumerate(headers):
        yield f"static void run_{number}(FILE *file)"
        yield "{"
        yield f"    struct {header.name}_inputs inputs = {{0}};"
        yield f"    struct {header.name}_outputs outputs = {{0}};"
        for port in header.inputs:
            yield f"    inputs.{port.spelled} = (const void *)(given + {at});"
            at += _room(port.tensor.bytes)
        places, end = [], 0
        for port in header.outputs:
            yield f"    outputs.{port.spelled} = (void *)(results + {end});"
            places.append(f"results + {end}, 1, {port.tensor.bytes}")
            end += _room(port.tensor.bytes)
        yield f"    {header.name}_run(&inputs, &outputs, arena, workspace);"
        yield "    fputc(1, file);"
        yield from (f"    fwrite({place}, file);" for place in places)
        yield "    fflush(file);"
        yield "}"
    yield "static void (*const runs[])(FILE *) = {"
    yield from (f"    run_{number}," for number in range(len(headers)))
    yield "};"
    yield "int main(int count, char **words)"
    yield "{"
    yield '    FILE *file = count == 3 ? fopen(words[2], "wb") : NULL;'
    yield "    if (!file) return 2;"
    yield f"    for (int i = atoi(words[1]); i < {len(headers)}; i++) runs[i](file);"
    yield "    return fclose(file) != 0;"
    yield "}"


def _room(size: int) -> int:
    return -(-size // _PLACE) * _PLACE


def _padded(content: bytes) -> bytes:
    return content.ljust(_room(len(content)), b"\0")
