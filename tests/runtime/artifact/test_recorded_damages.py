"""What readers say of artifacts with a damage in one field stays what it was, the checksum being
right: another program, or another version, may have written them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Sequence
from hashlib import sha256
from io import BytesIO
from random import Random
from typing import Any

from tandem.compiler.driver import build
from tandem.compiler.machines.accelerator.target import accelerator
from tandem.compiler.machines.cpu.processors import named_processor
from tandem.compiler.machines.cpu.target import cpu
from tandem.compiler.plan.target import Target
from tandem.runtime.artifact import Artifact, Provenance, from_bytes, to_bytes
from tandem.runtime.errors import ArtifactError
from tests.support.compiler.graph.graphs import graph
from tests.support.compiler.graph.recursion import COUNT, SUM
from tests.support.compiler.machines.accelerator.templates.accelerator_operators import machine
from tests.support.compiler.plan.quantised_graphs import residual_net
from tests.support.damaged_json import damage_json
from tests.support.runtime.artifacts import network

CASES = 630
_MARK = b"tandem-artifact sha256:"


def _artifacts() -> list[Artifact]:
    """One with streams, one of native code alone with two inputs, and two with functions that call
    themselves and each other; for a named processor, so that no message depends on the host."""
    source, host = Provenance("net", options={"seed": 3}), cpu(named_processor("cortex-a55"))
    targets: list[Target[Any]] = [accelerator(machine("tiny")), host]
    return [
        build(residual_net(), targets, source),
        build(network(), [host], source),
        build(graph(SUM), [host], source),
        build(graph(COUNT), [host], source, sizes={"N": 3}),
    ]


def _with_json(rng: Random, data: bytes) -> tuple[str, bytes]:
    """A part of an artifact with its JSON, or the header that it begins with, damaged."""
    if data.startswith(b"{"):
        value = json.loads(data)
        said = damage_json(rng, value)
        return said, json.dumps(value).encode()
    line, _, rest = data.partition(b"\n")
    *words, size = line.split(b" ")
    whole = json.loads(rest[: int(size)])
    said = damage_json(rng, whole)
    text = json.dumps(whole).encode()
    head = b" ".join((*words, str(len(text)).encode()))
    return said, head + b"\n" + text + rest[int(size) :]


def _rebuilt(parts: dict[str, bytes]) -> bytes:
    """The bytes of an artifact of these parts, with its checksum."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, part in parts.items():
            archive.writestr(zipfile.ZipInfo(name), part)
        archive.comment = _MARK + bytes(64)
    data = bytearray(file.getvalue())
    data[-64:] = sha256(data[:-64]).hexdigest().encode()
    return bytes(data)


def _parts(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _read(data: bytes) -> str:
    """The manifest, or the refusal."""
    try:
        found = from_bytes(data)
    except ArtifactError as error:
        return f"{type(error).__name__}: {error}"
    streams = [f"{name} {code.kind}" for name, code in sorted(found.code.items())]
    return f"read: {found.manifest}\n{streams}\n{sorted(found.constants)}"


def _damage(rng: Random, whole: bytes) -> tuple[str, bytes]:
    parts = _parts(whole)
    names = [name for name in parts if name.endswith(".json") or "code/stream/" in name]
    match rng.randint(0, 13):
        case 0:
            gone = rng.choice(list(parts))
            del parts[gone]
            return f"without {gone}", _rebuilt(parts)
        case 1:
            name = rng.choice(list(parts))
            parts[name] = parts[name][: rng.randrange(len(parts[name]) or 1)]
            return f"{name} cut off", _rebuilt(parts)
        case 2:
            name = rng.choice(list(parts))
            parts[f"{name}_"] = parts.pop(name)
            return f"{name} renamed", _rebuilt(parts)
        case 3:
            return "cut off", whole[: rng.randrange(len(whole))]
        case _:
            # The manifest, which most of it is about, three times of four.
            name = names[0] if rng.random() < 0.75 else rng.choice(names)
            said, parts[name] = _with_json(rng, parts[name])
            return f"{name}: {said}", _rebuilt(parts)


def test_damaged_artifacts(recorded: Callable[[str, Sequence[str]], None]) -> None:
    wholes = [to_bytes(each) for each in _artifacts()]
    found = []
    for seed in range(CASES):
        rng = Random(f"artifact {seed}")
        said, data = _damage(rng, wholes[(0, 0, 2, 3, 0, 1, 2)[seed % 7]])
        found.append(f"{said}\n{_read(data)}")
    recorded("recorded/runtime/damaged_artifacts.txt", found)
