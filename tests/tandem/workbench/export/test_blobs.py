"""Bytes as parts of programs: what a C compiler and an assembler make of them, and objects."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tandem.runtime.native.elf import parse_object
from tandem.runtime.native.processor import this_triple
from tandem.workbench.errors import ExportError
from tandem.workbench.export.blobs import Blob, Blobs, Format, made_blobs

CONTENTS = (bytes(range(256)) + b"end", b"\0", bytes(16), b"x" * 33)
BLOBS = tuple(
    Blob(f"blob_{number}", f"file_{number}", content, f".blob{number}", head)
    for number, (content, head) in enumerate(zip(CONTENTS, (5, None, 1, 32), strict=True))
)


def made(form: Format) -> Blobs:
    return made_blobs(BLOBS, form, this_triple(), ())


def linked(folder: Path, blobs: Blobs, *options: str) -> ctypes.CDLL:
    for name, content in blobs.files.items():
        (folder / name).write_bytes(content)
    path = folder / "found.so"
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", *options, "-shared", "-fPIC"]
    parts = [*blobs.sources, *blobs.objects]
    subprocess.run([*command, "-o", str(path), *parts], cwd=folder, check=True)
    return ctypes.CDLL(str(path))


def content_of(library: ctypes.CDLL, blob: Blob, size: int) -> bytes:
    found = (ctypes.c_ubyte * max(size, 1)).in_dll(library, blob.symbol)
    assert ctypes.addressof(found) % 64 == 0
    return bytes(found)[:size]


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
@pytest.mark.parametrize("form", Format)
def test_a_program_has_the_bytes(form: Format, tmp_path: Path) -> None:
    library = linked(tmp_path, made(form))
    for blob in BLOBS:
        assert content_of(library, blob, len(blob.content)) == blob.content


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_program_whose_memory_has_the_others(tmp_path: Path) -> None:
    """What lies behind the first is the next's, at a multiple of 64."""
    library = linked(tmp_path, made(Format.BIN), "-DTANDEM_PLACED=1")
    for blob in BLOBS:
        size = len(blob.content) if blob.head is None else blob.head
        assert content_of(library, blob, size) == blob.content[:size]
    sources = made(Format.BIN).files
    for blob in BLOBS:
        text = sources[f"{blob.file}.S"].decode()
        wanted = [] if blob.head is None else [str(blob.head)]
        assert re.findall(rf'\.incbin "{blob.file}\.bin", 0, (\d+)\n#else', text) == wanted


def test_files_of_formats() -> None:
    binary, text, objects = (made(form) for form in (Format.BIN, Format.C, Format.ELF))
    names = [blob.file for blob in BLOBS]
    assert {*binary.files} == {f"{name}.{end}" for name in names for end in ("bin", "S")}
    assert binary.sources == tuple(f"{name}.S" for name in names)
    assert text.sources == tuple(text.files) == tuple(f"{name}.c" for name in names)
    assert objects.objects == tuple(objects.files) == tuple(f"{name}.o" for name in names)
    assert binary.objects == text.objects == objects.sources == ()
    # Lines of sixteen bytes.
    rows = [line for line in text.files["file_3.c"].decode().splitlines() if "120," in line]
    assert [row.count(",") for row in rows] == [16, 16, 1]


def test_objects_have_a_section_for_each() -> None:
    for blob in BLOBS:
        parsed = parse_object(made(Format.ELF).files[f"{blob.file}.o"])
        symbol = parsed.symbols[blob.symbol]
        assert symbol.section is not None
        section = parsed.sections[symbol.section]
        assert section.content == blob.content
        assert (section.alignment, section.writable, section.executable) == (64, False, False)


def test_objects_are_for_a_processor() -> None:
    with pytest.raises(ExportError, match="objects are for a processor, and this network has no"):
        made_blobs(BLOBS, Format.ELF, "none", ())
    for form in (Format.BIN, Format.C):
        assert made_blobs(BLOBS, form, "none", ()).files
