"""Artifacts as files, with a checksum."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from hw.config import HardwareConfig
from hw.config_files import dump_config, parse_config
from hw.errors import ConfigError
from hw.files import write_atomically
from hw.input_files import ARTIFACT_BYTES, open_input, read_input
from runtime.aligned_arrays import aligned_copy, aligned_size
from runtime.artifact.artifact import Artifact
from runtime.artifact.manifest import Constant, Manifest
from runtime.artifact.stream import StreamCode
from runtime.element_types import dtype_of
from runtime.errors import ArtifactError, NativeCodeError
from runtime.native import ObjectCode

VERSION = 1
"""Version of the format; files of other versions are refused."""
_MANIFEST, _CONFIG, _CONSTANTS = "manifest.json", "config.json", "constants.bin"
_CODE, _STREAMS, _FALLBACK = "code/", "streams/", "fallback.tandem"
_MARK = b"tandem-artifact sha256:"
_ZIP = b"PK\x03\x04"
"""The first bytes of a zip archive."""
_HEX = 64
"""Hexadecimal digits of a SHA-256."""

_UNREADABLE = (
    *(zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, struct.error, OSError),
    *(KeyError, ValueError, TypeError, OverflowError, RecursionError),
    *(NativeCodeError, ConfigError),
)
"""Exceptions of `zipfile`, msgspec, NumPy and our own parsers for malformed files."""


class _File(msgspec.Struct, frozen=True):
    """The content of `manifest.json`."""

    format: int
    manifest: msgspec.Raw


def write_artifact(artifact: Artifact, path: Path) -> None:
    """Write an artifact to a file, atomically.

    Raises
    ------
    ArtifactError
        If the file cannot be written, for instance on a full disk: names the file.
    """
    try:
        write_atomically(path, to_bytes(artifact))
    except OSError as error:
        raise ArtifactError(f"{path}: {error.strerror or error}") from None


def is_artifact(path: Path) -> bool:
    """Whether the file begins like a zip archive, as no ONNX model does; it may be damaged."""
    try:
        with open_input(path, ARTIFACT_BYTES) as file:
            return file.read(len(_ZIP)) == _ZIP
    except (OSError, ValueError):
        return False


def read_artifact(path: Path) -> Artifact:
    """The artifact in a file. No code in it is executed.

    Raises
    ------
    ArtifactError
        The errors of `from_bytes`, or the file cannot be read: names the file.
    """
    try:
        data = read_input(path, ARTIFACT_BYTES)
    except OSError as error:
        raise ArtifactError(f"{path}: {error.strerror or error}") from None
    try:
        return from_bytes(data)
    except ArtifactError as error:
        raise ArtifactError(f"{path}: {error}") from None


def to_bytes(artifact: Artifact) -> bytes:
    """The artifact as bytes; equal artifacts have equal bytes."""
    manifest = msgspec.json.encode(artifact.manifest, order="sorted")
    content = _File(VERSION, msgspec.Raw(manifest))
    parts: dict[str, bytes | memoryview] = {_MANIFEST: msgspec.json.encode(content)}
    if artifact.config is not None:
        parts[_CONFIG] = dump_config(artifact.config).encode()
    parts |= {_CODE + name: code.to_bytes() for name, code in sorted(artifact.kernels.items())}
    parts |= {_STREAMS + name: code.to_bytes() for name, code in sorted(artifact.streams.items())}
    if artifact.fallback is not None:
        parts[_FALLBACK] = to_bytes(artifact.fallback)
    parts[_CONSTANTS] = _packed(artifact)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, part in parts.items():
            archive.writestr(zipfile.ZipInfo(name), part)  # dated 1980: reproducible bytes
        archive.comment = _MARK + bytes(_HEX)
    with file.getbuffer() as data:
        data[-_HEX:] = sha256(data[:-_HEX]).hexdigest().encode()
    return file.getvalue()


def from_bytes(data: bytes) -> Artifact:
    """The artifact that `to_bytes` wrote.

    Raises
    ------
    ArtifactError
        If the bytes are no artifact, have another version or a wrong checksum, or if the parts do
        not fit each other.
    """
    view = memoryview(data)
    if bytes(view[-_HEX - len(_MARK) : -_HEX]) != _MARK:
        raise ArtifactError("this is no artifact, or it is cut off")
    if sha256(view[:-_HEX]).hexdigest().encode() != bytes(view[-_HEX:]):
        raise ArtifactError("this artifact is damaged: its checksum differs")
    try:
        return _read(data)
    except _UNREADABLE as error:
        # The checksum is right: another program wrote the file, or another version.
        raise ArtifactError(f"this artifact cannot be read: {error}") from None
    except MemoryError as error:
        raise ArtifactError(f"this artifact needs more memory than there is: {error}") from None


def _read(data: bytes) -> Artifact:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        if any(each.compress_type != zipfile.ZIP_STORED for each in archive.infolist()):
            raise ArtifactError("this artifact is compressed; parts are stored as they are")
        file = msgspec.json.decode(archive.read(_MANIFEST), type=_File)
        if file.format != VERSION:
            raise ArtifactError(f"this artifact has format {file.format}; {VERSION} can be read")
        manifest = msgspec.json.decode(file.manifest, type=Manifest)
        config: HardwareConfig | None = None
        if _CONFIG in names:
            config = parse_config(archive.read(_CONFIG), _CONFIG)
        kernels = {
            name.removeprefix(_CODE): ObjectCode.from_bytes(archive.read(name))
            for name in names
            if name.startswith(_CODE)
        }
        streams = {
            name.removeprefix(_STREAMS): StreamCode.from_bytes(archive.read(name))
            for name in names
            if name.startswith(_STREAMS)
        }
        content = np.frombuffer(archive.read(_CONSTANTS), np.uint8)
        memory = aligned_copy(content)
        fallback = from_bytes(archive.read(_FALLBACK)) if _FALLBACK in names else None
        constants = _unpacked(manifest, memory)
        return Artifact(manifest, config, kernels, constants, streams, fallback)


def _offsets(manifest: Manifest) -> tuple[dict[str, int], int]:
    """The offset of each constant, in the order of the tensors, and the size of all constants."""
    offsets, end = {}, 0
    for tensor in manifest.tensors:
        if isinstance(tensor.place, Constant):
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
        if isinstance(tensor.place, Constant):
            content = memory[offsets[tensor.name] :][: tensor.bytes]
            constants[tensor.name] = content.view(dtype_of(tensor.dtype)).reshape(tensor.shape)
    return constants
