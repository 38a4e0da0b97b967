"""Decoders as files: weights once, damaged ones refused in one line."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.runtime.artifact import read_artifact, to_bytes
from tandem.runtime.decoder import is_decoder, read_decoder, write_decoder
from tandem.runtime.decoder.decoder_files import decoder_from_bytes, decoder_to_bytes
from tandem.runtime.decoder.shared_bytes import Segment, divided, joined
from tandem.runtime.errors import ArtifactError, RunError
from tests.support.decoders import ONE_LAYER, compiled

CHECKSUM = 64
EMBEDDING = 256 * 16 * 4
"""Bytes of the table of words."""


@pytest.mark.parametrize("config", [None, "tiny-x"])
def test_bytes_are_the_same_again(config: str | None, tmp_path: Path) -> None:
    decoder = compiled(ONE_LAYER, config)
    path = tmp_path / "a.tandem"
    write_decoder(decoder, path)
    assert is_decoder(path)
    assert decoder_to_bytes(read_decoder(path)) == path.read_bytes()


@pytest.mark.parametrize("config", [None, "tiny-x"])
def test_weights_are_stored_once(config: str | None) -> None:
    decoder = compiled(ONE_LAYER, config)
    prefill, decode = to_bytes(decoder.prefill), to_bytes(decoder.decode)
    segments, own = divided(decode, decoder.decode, prefill, decoder.prefill)
    assert joined(segments, own, prefill) == decode
    assert len(decode) - len(own) >= EMBEDDING
    assert len(decoder_to_bytes(decoder)) < len(prefill) + len(decode) - EMBEDDING + 4096


def test_other_files_are_no_decoders(tmp_path: Path) -> None:
    path = tmp_path / "a.tandem"
    path.write_bytes(to_bytes(compiled(ONE_LAYER, None).decode))
    assert not is_decoder(path)
    assert not is_decoder(tmp_path / "none")
    with pytest.raises(ArtifactError, match="this is no decoder artifact"):
        read_decoder(path)
    write_decoder(compiled(ONE_LAYER, None), path)
    with pytest.raises(ArtifactError, match="this is a decoder: `tandem generate` runs it"):
        read_artifact(path)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_bytes_are_refused_in_one_line(data: st.DataObject) -> None:
    whole = decoder_to_bytes(compiled(ONE_LAYER, None))
    at = data.draw(st.integers(0, len(whole) - CHECKSUM - 1))
    end = data.draw(st.sampled_from([at + 1, len(whole) - CHECKSUM]))
    damaged = bytearray(whole)
    damaged[at:end] = data.draw(st.sampled_from([b"", b"\0", b"{", b"\xff" * 9]))
    if damaged == whole:
        return
    with pytest.raises(ArtifactError, match=r"damaged|no decoder"):
        decoder_from_bytes(bytes(damaged))
    body = bytes(damaged[:-CHECKSUM])
    message = refused(body + sha256(body).hexdigest().encode())
    assert "\n" not in message


def refused(data: bytes) -> str:
    """The error of bytes that have the right checksum; empty if they are a decoder."""
    try:
        decoder_from_bytes(data)
    except RunError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    "segments",
    [
        [Segment(3)],
        [Segment(1)],
        [Segment(-1), Segment(3)],
        [Segment(2), Segment(2, 3)],
        [Segment(2), Segment(1, -1)],
        [Segment(2), Segment(-1, 0)],
    ],
)
def test_segments_of_other_bytes(segments: list[Segment]) -> None:
    with pytest.raises(ArtifactError):
        joined(segments, b"ab", b"wxyz")
    assert joined([Segment(1), Segment(2, 1), Segment(1)], b"ab", b"wxyz") == b"axyb"
