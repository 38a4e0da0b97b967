"""Decoder artifacts as files.

A file is a zip archive with these members, all uncompressed:

    decoder.json      the names of inputs and outputs, and the segments of `decode`
    prefill.tandem    the artifact of `prefill`
    decode.part       of the artifact of `decode`, what is not in the other: weights are in both

The archive's comment ends with the SHA-256 of all bytes before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from tandem.base.files import write_atomically
from tandem.base.input_files import open_input, read_input
from tandem.base.paths import AnyPath
from tandem.runtime.artifact import KINDS, Code, from_bytes, to_bytes
from tandem.runtime.artifact.files import ARTIFACT_BYTES
from tandem.runtime.artifact.sealed_archive import (
    UNREADABLE,
    Mark,
    is_intact,
    mark_of,
    mark_of_file,
    sealed,
    unsealed,
)
from tandem.runtime.decoder.decoder_artifact import DecoderArtifact
from tandem.runtime.decoder.ports import DecoderPorts
from tandem.runtime.decoder.shared_bytes import Segment, divided, joined
from tandem.runtime.errors import ArtifactError

_VERSION: Final = 1
_ABOUT, _PREFILL, _DECODE = "decoder.json", "prefill.tandem", "decode.part"


class _About(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `decoder.json`."""

    format: int
    ports: DecoderPorts
    segments: list[Segment]


def write_decoder(decoder: DecoderArtifact, path: AnyPath) -> None:
    """Write a decoder artifact to a file, atomically.

    Raises
    ------
    ArtifactError
        If the file cannot be written: names the file.
    """
    path = Path(path)
    try:
        write_atomically(path, decoder_to_bytes(decoder))
    except OSError as error:
        raise ArtifactError(f"{path}: {error.strerror or error}") from None


def is_decoder(path: AnyPath) -> bool:
    """Whether a file ends as a decoder artifact does; it may be damaged."""
    try:
        with open_input(path, ARTIFACT_BYTES) as file:
            return mark_of_file(file) is Mark.DECODER
    except (OSError, ValueError):
        return False


def read_decoder(path: AnyPath, kinds: Sequence[type[Code]] = KINDS) -> DecoderArtifact:
    """The decoder artifact in a file. No code in it is executed.

    Raises
    ------
    ArtifactError
        The file cannot be read, or is no decoder artifact of this version: names the file.
    """
    path = Path(path)
    try:
        return decoder_from_bytes(read_input(path, ARTIFACT_BYTES), kinds)
    except OSError as error:
        raise ArtifactError(f"{path}: {error.strerror or error}") from None
    except ArtifactError as error:
        raise ArtifactError(f"{path}: {error}") from None


def decoder_to_bytes(decoder: DecoderArtifact) -> bytes:
    """The decoder artifact as bytes; equal ones have equal bytes."""
    prefill, decode = to_bytes(decoder.prefill), to_bytes(decoder.decode)
    segments, own = divided(decode, decoder.decode, prefill, decoder.prefill)
    about = msgspec.json.encode(_About(_VERSION, decoder.ports, segments))
    return sealed(Mark.DECODER, {_ABOUT: about, _PREFILL: prefill, _DECODE: own})


def decoder_from_bytes(data: bytes, kinds: Sequence[type[Code]] = KINDS) -> DecoderArtifact:
    """The decoder artifact that `decoder_to_bytes` wrote.

    Raises
    ------
    ArtifactError
        If the bytes are no decoder artifact of this version, or damaged.
    """
    if mark_of(data) is not Mark.DECODER:
        raise ArtifactError("this is no decoder artifact, or it is cut off")
    if not is_intact(data):
        raise ArtifactError("this decoder artifact is damaged: its checksum differs")
    try:
        with unsealed(data) as archive:
            about = msgspec.json.decode(archive.read(_ABOUT), type=_About)
            prefill, own = archive.read(_PREFILL), archive.read(_DECODE)
    except UNREADABLE as error:
        raise ArtifactError(f"this decoder artifact cannot be read: {error}") from None
    if about.format != _VERSION:
        raise ArtifactError(
            f"this decoder artifact has format {about.format}; {_VERSION} can be read"
        )
    decode = joined(about.segments, own, prefill)
    functions = (from_bytes(prefill, kinds), from_bytes(decode, kinds))
    return DecoderArtifact(*functions, about.ports)
