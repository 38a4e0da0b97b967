"""`runtime.native.elf`: object files that a compiler wrote, and damaged ones."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.runtime.errors import NativeCodeError
from tandem.runtime.native.elf import parse_object
from tandem.runtime.native.linker import link
from tandem.runtime.native.pool_object import make_pool_object
from tandem.runtime.native.pool_text import SYMBOLS
from tandem.runtime.native.processor import this_triple


@pytest.fixture(scope="module")
def code() -> bytes:
    """The object file of thread pools."""
    return make_pool_object(this_triple()).code


def test_sections_and_symbols(code: bytes) -> None:
    found = parse_object(code)
    assert {*SYMBOLS} <= {*found.symbols}
    assert any(section.executable for section in found.sections.values())
    assert not any(section.executable and section.writable for section in found.sections.values())
    called = {each.symbol.name for each in found.relocations if each.symbol.section is None}
    assert {"sem_wait", "sem_post", "clock_gettime"} <= called


@pytest.mark.skipif(shutil.which("readelf") is None, reason="binutils are not installed")
def test_readelf_finds_the_same(code: bytes, tmp_path: Path) -> None:
    (tmp_path / "code.o").write_bytes(code)
    listed = subprocess.run(
        ["readelf", "-rW", str(tmp_path / "code.o")], check=True, capture_output=True, text=True
    ).stdout.split("\n\n")
    (text,) = (part for part in listed if "'.rela.text'" in part)
    rows = [line.split() for line in text.splitlines() if "R_X86_64" in line]
    found = parse_object(code)
    (number,) = (at for at, section in found.sections.items() if section.executable)
    ours = [each for each in found.relocations if each.section == number]
    assert [(each.offset, each.kind) for each in ours] == [
        (int(row[0], 16), int(row[1], 16) % (1 << 32)) for row in rows
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda code: b"", "damaged"),
        (lambda code: b"MZ" + code[2:], "no relocatable ELF file"),
        (lambda code: code[:4] + b"\x03" + code[5:], "no relocatable ELF file"),
        (lambda code: code[:4] + b"\x01" + code[5:], "damaged|cut off|symbol"),
        (lambda code: code[:16] + b"\x03" + code[17:], "no relocatable ELF file"),
        (lambda code: code[: len(code) // 2], "damaged|cut off"),
        (lambda code: code[:18] + b"\xb7" + code[19:], "architecture 183, not x86-64"),
    ],
)
def test_other_files_are_refused(code: bytes, change: object, message: str) -> None:
    assert callable(change)
    with pytest.raises(NativeCodeError, match=message):
        link(change(code), SYMBOLS)


@given(st.data())
def test_a_damaged_file_is_refused_or_read(code: bytes, data: st.DataObject) -> None:
    """Bytes of the tables are changed: nothing but our error comes of it."""
    at = data.draw(st.integers(0, len(code) - 1))
    changed = bytearray(code)
    changed[at] ^= data.draw(st.integers(1, 255))
    with suppress(NativeCodeError):
        parse_object(bytes(changed))
