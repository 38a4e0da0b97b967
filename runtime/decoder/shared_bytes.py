"""Bytes of one artifact as parts of another's: weights that both have are stored once."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tandem.runtime.artifact import Artifact, StreamCode
from tandem.runtime.errors import ArtifactError

_LEAST: Final = 512
"""Bytes of the smallest array that is looked for."""


class Segment(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """Some of the bytes: those from `start` of the other artifact, or the next of its own (None).

    Attributes
    ----------
    size
        The number of bytes.
    """

    size: int
    start: int | None = None


def divided(
    data: bytes, artifact: Artifact, other: bytes, other_artifact: Artifact
) -> tuple[list[Segment], bytes]:
    """The bytes of an artifact as segments, and those bytes that are not in the other one's.

    What is looked for are arrays: constants, and what lies in the memory of instruction streams.
    """
    known = {digest: start for digest, start, _ in _arrays(other, other_artifact)}
    segments, own, end = [], [], 0
    for digest, start, size in _arrays(data, artifact):
        if digest in known:
            segments += [Segment(start - end), Segment(size, known[digest])]
            own.append(data[end:start])
            end = start + size
    segments.append(Segment(len(data) - end))
    own.append(data[end:])
    return segments, b"".join(own)


def joined(segments: list[Segment], own: bytes, other: bytes) -> bytes:
    """The bytes that `divided` divided.

    Raises
    ------
    ArtifactError
        The segments are not of these bytes.
    """
    parts, end = list[bytes](), 0
    for segment in segments:
        if segment.start is None:
            part, end = own[end : end + max(segment.size, 0)], end + segment.size
        else:
            part = (
                other[segment.start : segment.start + max(segment.size, 0)]
                if segment.start >= 0
                else b""
            )
        if len(part) != segment.size:
            raise ArtifactError("a segment of its bytes is nowhere")
        parts.append(part)
    if end != len(own):
        raise ArtifactError(f"its segments have {end} bytes of {len(own)}")
    return b"".join(parts)


def _arrays(data: bytes, artifact: Artifact) -> Iterator[tuple[bytes, int, int]]:
    """The digest, start and size of each large array in an artifact's bytes, in their order."""
    end = 0
    for content in _contents(artifact):
        start = data.find(content, end)
        assert start >= 0, "arrays are written as they are, in this order"
        end = start + len(content)
        yield sha256(content).digest(), start, len(content)


def _contents(artifact: Artifact) -> Iterator[bytes]:
    """The large arrays of an artifact, in the order of its bytes."""
    for _, code in sorted(artifact.code.items()):
        if isinstance(code, StreamCode):
            yield from map(_bytes, _placed(code))
    if artifact.fallback is not None:
        yield from _contents(artifact.fallback)
    tensors = (each.name for each in artifact.manifest.tensors)
    arrays = [artifact.constants[name] for name in tensors if name in artifact.constants]
    yield from (_bytes(array) for array in arrays if array.nbytes >= _LEAST)


def _placed(code: StreamCode) -> Iterator[NDArray[Any]]:
    """The large tensors in the memory of a stream, in the order of their addresses."""
    end = 0
    for tensor in sorted(code.contents, key=lambda tensor: tensor.address):
        array = code.view(code.image, tensor)
        if tensor.address >= end and array.nbytes >= _LEAST:
            end = tensor.address + array.nbytes
            yield array


def _bytes(array: NDArray[Any]) -> bytes:
    return np.ascontiguousarray(array).tobytes()
