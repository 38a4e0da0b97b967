"""Artifacts as files, with a checksum."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from tandem.base.files import write_atomically
from tandem.base.input_files import open_input, read_input
from tandem.base.paths import AnyPath
from tandem.runtime.aligned_arrays import aligned_copy, aligned_size
from tandem.runtime.artifact.artifact import Artifact
from tandem.runtime.artifact.code import Code
from tandem.runtime.artifact.manifest import ConstantPlace, Manifest, Provenance
from tandem.runtime.artifact.opencl import OpenClCode
from tandem.runtime.artifact.ptx import PtxCode
from tandem.runtime.artifact.rows import RowsCode
from tandem.runtime.artifact.sealed_archive import (
    UNREADABLE,
    Mark,
    is_intact,
    mark_of,
    sealed,
    unsealed,
)
from tandem.runtime.artifact.stream import StreamCode
from tandem.runtime.element_types import dtype_of
from tandem.runtime.errors import ArtifactError, NativeCodeError
from tandem.runtime.native import NetworkObject, ObjectCode, PoolObject

VERSION = 2
"""Version of the format; files of other versions are refused."""
ARTIFACT_BYTES: Final = 1 << 33
"""Limit of a file."""
KINDS: Final[tuple[type[Code], ...]] = (
    NetworkObject,
    ObjectCode,
    PoolObject,
    StreamCode,
    OpenClCode,
    RowsCode,
    PtxCode,
)
"""The kinds of code of the CPU, of the accelerator and of GPUs."""
_MANIFEST, _CONSTANTS, _FALLBACK = "manifest.json", "constants.bin", "fallback.tandem"
_CODE = "code/"
_ZIP = b"PK\x03\x04"
"""The first bytes of a zip archive."""

_UNREADABLE = (*UNREADABLE, struct.error, OSError, NativeCodeError)
"""Exceptions of `zipfile`, msgspec, NumPy and our own parsers for malformed files."""


class _File(msgspec.Struct, frozen=True):
    """The content of `manifest.json`."""

    format: int
    manifest: msgspec.Raw


class _Made(msgspec.Struct, frozen=True):
    """What manifests of all formats have."""

    provenance: Provenance


def write_artifact(artifact: Artifact, path: AnyPath) -> None:
    """Write an artifact to a file, atomically.

    Raises
    ------
    ArtifactError
        If the file cannot be written, for instance on a full disk: names the file.
    """
    path = Path(path)
    try:
        write_atomically(path, to_bytes(artifact))
    except OSError as error:
        raise ArtifactError(f"{path}: {error.strerror or error}") from None


def is_artifact(path: AnyPath) -> bool:
    """Whether the file begins like a zip archive, as no ONNX model does; it may be damaged."""
    try:
        with open_input(path, ARTIFACT_BYTES) as file:
            return file.read(len(_ZIP)) == _ZIP
    except (OSError, ValueError):
        return False


def read_artifact(path: AnyPath, kinds: Sequence[type[Code]] = KINDS) -> Artifact:
    """The artifact in a file. No code in it is executed.

    Parameters
    ----------
    kinds
        The kinds of code that can be read: `KINDS`, and those of devices of one's own.

    Raises
    ------
    ArtifactError
        The errors of `from_bytes`, or the file cannot be read: names the file.
    """
    path = Path(path)
    try:
        data = read_input(path, ARTIFACT_BYTES)
    except OSError as error:
        raise ArtifactError(f"{path}: {error.strerror or error}") from None
    try:
        return from_bytes(data, kinds)
    except ArtifactError as error:
        raise ArtifactError(f"{path}: {error}") from None


def to_bytes(artifact: Artifact) -> bytes:
    """The artifact as bytes; equal artifacts have equal bytes."""
    manifest = msgspec.json.encode(artifact.manifest, order="sorted")
    content = _File(VERSION, msgspec.Raw(manifest))
    parts: dict[str, bytes | memoryview] = {_MANIFEST: msgspec.json.encode(content)}
    for name, code in sorted(artifact.code.items()):
        parts[f"{_CODE}{code.kind}/{name}"] = code.to_bytes()
    if artifact.fallback is not None:
        parts[_FALLBACK] = to_bytes(artifact.fallback)
    parts[_CONSTANTS] = _packed(artifact)
    return sealed(Mark.ARTIFACT, parts)


def from_bytes(data: bytes, kinds: Sequence[type[Code]] = KINDS) -> Artifact:
    """The artifact that `to_bytes` wrote; `kinds` as in `read_artifact`.

    Raises
    ------
    ArtifactError
        If the bytes are no artifact, have another version or a wrong checksum, or if the parts do
        not fit each other.
    """
    mark = mark_of(data)
    if mark is Mark.DECODER:
        raise ArtifactError("this is a decoder: `tandem generate` runs it")
    if mark is None:
        raise ArtifactError("this is no artifact, or it is cut off")
    if not is_intact(data):
        raise ArtifactError("this artifact is damaged: its checksum differs")
    try:
        return _read(data, kinds)
    except _UNREADABLE as error:
        # The checksum is right: another program wrote the file, or another version.
        raise ArtifactError(f"this artifact cannot be read: {error}") from None
    except MemoryError as error:
        raise ArtifactError(f"this artifact needs more memory than there is: {error}") from None


def _read(data: bytes, kinds: Sequence[type[Code]]) -> Artifact:
    with unsealed(data) as archive:
        names = archive.namelist()
        file = msgspec.json.decode(archive.read(_MANIFEST), type=_File)
        if file.format != VERSION:
            raise ArtifactError(_other_format(file))
        manifest = msgspec.json.decode(file.manifest, type=Manifest)
        codes = dict[str, Code]()
        for member in names:
            if member.startswith(_CODE):
                kind, _, name = member.removeprefix(_CODE).partition("/")
                if name in codes:
                    raise ArtifactError(f"two parts of its code have the name {name}")
                codes[name] = _kind(kind, name, kinds).from_bytes(archive.read(member))
        content = np.frombuffer(archive.read(_CONSTANTS), np.uint8)
        memory = aligned_copy(content)
        fallback = from_bytes(archive.read(_FALLBACK), kinds) if _FALLBACK in names else None
        constants = _unpacked(manifest, memory)
        return Artifact(manifest, codes, constants, fallback)


def _kind(tag: str, name: str, kinds: Sequence[type[Code]]) -> type[Code]:
    """The kind of a tag; raises `ArtifactError` if it is none of `kinds`."""
    for kind in kinds:
        if kind.kind == tag:
            return kind
    known = ", ".join(kind.kind for kind in kinds)
    raise ArtifactError(f"its code {name} is of the kind {tag}; what can be read is {known}")


def _other_format(file: _File) -> str:
    """The reason why a file of another format cannot be read, and how to make it anew."""
    reason = f"this artifact has format {file.format}; {VERSION} can be read"
    try:
        made = msgspec.json.decode(file.manifest, type=_Made)
    except msgspec.MsgspecError:
        return reason
    return f"{reason}: make it anew, with `tandem compile {made.provenance.model} -o FILE`"


def _offsets(manifest: Manifest) -> tuple[dict[str, int], int]:
    """The offset of each constant, in the order of the tensors, and the size of all constants."""
    offsets, end = {}, 0
    for tensor in manifest.tensors:
        if isinstance(tensor.place, ConstantPlace):
            offsets[tensor.name] = end
            end += aligned_size(tensor.bytes)
    return offsets, end


def _packed(artifact: Artifact) -> memoryview:
    offsets, size = _offsets(artifact.manifest)
    memory = np.zeros(size, np.uint8)
    for name, offset in offsets.items():
        array = np.ascontiguousarray(artifact.constants[name]).reshape(-1).view(np.uint8)
        memory[offset : offset + array.size] = array
    return memory.data


def _unpacked(manifest: Manifest, memory: NDArray[np.uint8]) -> Mapping[str, NDArray[Any]]:
    offsets, size = _offsets(manifest)
    if size != memory.size:
        raise ArtifactError(f"its constants have {memory.size} bytes: the manifest has {size}")
    constants = {}
    for tensor in manifest.tensors:
        if isinstance(tensor.place, ConstantPlace):
            content = memory[offsets[tensor.name] :][: tensor.bytes]
            constants[tensor.name] = content.view(dtype_of(tensor.dtype)).reshape(tensor.shape)
    return constants
