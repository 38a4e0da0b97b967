"""Files of exported libraries stay what they were: headers, sources, tables, streams, build files.

What `export_library` expects of a run is drawn at random here: nothing is built or run. Left out
are kernels and the size of their code, which LLVM decides, and the runtime in C, which is the same
in all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import tandem
from tandem.compiler.driver import build
from tandem.compiler.machines.cpu.processors import PROCESSORS
from tandem.compiler.machines.cpu.target import cpu
from tandem.runtime.artifact import Artifact, Provenance
from tandem.runtime.element_types import dtype_of
from tandem.workbench.errors import ExportError
from tandem.workbench.export import Exported, LibraryOptions, export_library
from tandem.workbench.export.blobs import Format
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.graph.recursion import COUNT, EVEN, ROWS, SUM, SWAP
from tests.support.compiler.models.stated_network import stated_network

T = TypeVar("T")
IMAGE = "float32[2, 3, 5, 4]"
LAYERS = f"""
func @layers(x: {IMAGE}, double: float32[3, 1, 1]) -> ({IMAGE}, {IMAGE}, {IMAGE}):
  a = relu(x)
  b = add(a, double)
  c = sigmoid(b)
  r = (x, c, c)
  return r
"""
"""Results that are an input and another result; a parameter whose name is a word of C."""
PROGRAMS = {
    **{"count": COUNT, "even": EVEN, "layers": LAYERS},
    **{"rows": ROWS, "sum": SUM, "swap": SWAP},
}
DRAWS = 4
"""Libraries of each program."""
MACHINES = ("tiny", "small8-x", "batch2")


def _options(random: Random, processor: str) -> LibraryOptions:
    """Choices that the processor mostly has."""

    def often(first: T, *others: T) -> T:
        return random.choice((first, first, *others))

    target = PROCESSORS[processor]
    in_place, odd = random.choice((None, True, False)), random.random() < 0.15
    if target.triple.startswith("wasm") and not odd:
        return LibraryOptions(in_place=in_place)
    return LibraryOptions(
        embed_weights=often(True, False),
        threads=often(1, 3) if target.threaded or odd else 1,
        profile=often(False, True),
        in_place=in_place,
        form=often(Format.BIN, Format.C, Format.ELF),
    )


def _arrays(random: Random, artifact: Artifact, *, outputs: bool) -> Mapping[str, NDArray[Any]]:
    """Arrays for the inputs of a network, or for its results."""
    manifest = artifact.manifest
    tensors = {each.name: each for each in manifest.tensors}
    ports = manifest.results if outputs else manifest.inputs
    return {
        port.name: np.full(
            tensors[port.tensor].shape, random.randint(0, 1), dtype_of(tensors[port.tensor].dtype)
        )
        for port in ports
    }


def _text(exported: Exported) -> Iterator[str]:
    yield _without_sizes(repr(exported))
    yield f"{exported.offsets} {exported.sources}"
    for name in exported.files:
        content = (exported.folder / name).read_bytes()
        if name.endswith(".o") or name.startswith("tandem"):
            yield name
        elif name.endswith(".bin"):
            yield f"{name} {len(content)} {sha256(content).hexdigest()}"
        else:
            yield f"{name}\n{_without_sizes(content.decode())}"


def _without_sizes(text: str) -> str:
    """Text without the size of machine code."""
    return re.sub(r"(?i)(code takes|code) [\d,]+ bytes", r"\1 N bytes", text)


def _exported(random: Random, artifact: Artifact, processor: str, folder: Path) -> str:
    options = _options(random, processor)
    inputs = _arrays(random, artifact, outputs=False)
    known = random.random() < 0.6
    expected = _arrays(random, artifact, outputs=True) if known else None
    name = random.choice((None, "net", "while"))
    try:
        exported = export_library(artifact, folder, inputs, expected, name, options)
    except ExportError as error:
        return f"{name}\n{error}"
    said = "\n".join([f"{name}", *_text(exported)])
    return said.replace(str(folder), "FOLDER")


def test_loops_calls_and_results(
    recorded: Callable[[str, Mapping[str, str]], None], tmp_path: Path
) -> None:
    """Of processors with a system and without, and as a module of WebAssembly."""
    found = {}
    for name, program in PROGRAMS.items():
        sizes = {"N": 3} if "N" in program else None
        random = Random(f"libraries of {name}")
        for number, processor in enumerate(
            random.sample([*PROCESSORS], 1 if program is SUM else DRAWS)
        ):
            target = cpu(PROCESSORS[processor])
            artifact = build(graph(program), [target], Provenance("net"), sizes=sizes)
            folder = tmp_path / f"{name} {number}"
            found[f"{name} {number} {processor}"] = _exported(random, artifact, processor, folder)
    recorded("recorded/export/programs.txt", found)


def test_with_an_accelerator(
    recorded: Callable[[str, Mapping[str, str]], None], tmp_path: Path
) -> None:
    """Streams, tables of tensors with scales, and the runtime that drives the machine."""
    found = {}
    random = Random("libraries with an accelerator")
    for machine in MACHINES:
        for io in ("float32", "int8"):
            processor = random.choice(("cortex-a53", "cortex-m4", "rv64gc"))
            artifact = tandem.compile(
                stated_network(), machine, io=io, processor=tandem.Cpu(processor)
            )
            folder, network = tmp_path / f"{machine} {io}", artifact.network.artifact
            found[f"{machine} {io} {processor}"] = _exported(random, network, processor, folder)
    recorded("recorded/export/machines.txt", found)
