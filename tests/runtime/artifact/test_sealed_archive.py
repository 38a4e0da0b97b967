"""Archives that end with a mark and a checksum."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.runtime.artifact.sealed_archive import (
    Mark,
    is_intact,
    mark_of,
    mark_of_file,
    sealed,
    unsealed,
)
from tandem.runtime.errors import ArtifactError

PARTS = st.dictionaries(st.text("abc/.", min_size=1), st.binary(max_size=40), max_size=3)


@given(parts=PARTS, mark=st.sampled_from(Mark), at=st.integers(0, 1 << 30))
def test_what_is_sealed_is_read_and_damages_are_seen(
    parts: dict[str, bytes], mark: Mark, at: int
) -> None:
    data = sealed(mark, parts)
    assert data == sealed(mark, parts)
    assert mark_of(data) is mark_of_file(io.BytesIO(data)) is mark
    assert is_intact(data)
    with unsealed(data) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == parts
    at %= len(data)
    damaged = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    assert not is_intact(damaged)
    assert mark_of(data[:at]) is None


def test_marks_have_one_length() -> None:
    assert len({len(mark.value) for mark in Mark}) == 1


def test_other_bytes() -> None:
    assert mark_of(b"") is None
    assert mark_of(b"0" * 1_000) is None


def test_compressed_parts_are_refused() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"0" * 100)
    with pytest.raises(ArtifactError, match="compressed"), unsealed(file.getvalue()):
        pass
