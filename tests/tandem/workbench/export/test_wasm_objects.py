"""Object files of WebAssembly that are written here, byte by byte: what they import, how large they
are, and damages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.workbench.errors import ExportError
from tandem.workbench.export.wasm_objects import MAGIC, loaded_bytes, needed_functions

NUMBERS = st.one_of(st.integers(0, 300), st.sampled_from([127, 128, 16383, 16384, 1 << 31]))


def leb128(value: int) -> bytes:
    """An unsigned number: seven bits a byte, the lowest first."""
    low, rest = value % 128, value // 128
    return bytes([low + 128]) + leb128(rest) if rest else bytes([low])


def named(text: str) -> bytes:
    return leb128(len(text.encode())) + text.encode()


def section(kind: int, content: bytes) -> bytes:
    return bytes([kind]) + leb128(len(content)) + content


def limits(least: int, most: int | None) -> bytes:
    return b"\0" + leb128(least) if most is None else b"\1" + leb128(least) + leb128(most)


LIMITS = st.builds(limits, NUMBERS, st.none() | NUMBERS)
DESCRIPTIONS = st.one_of(
    NUMBERS.map(lambda number: b"\0" + leb128(number)),
    LIMITS.map(lambda found: b"\1\x70" + found),
    LIMITS.map(lambda found: b"\2" + found),
    st.sampled_from([b"\3\x7f\0", b"\3\x7e\1"]),
)
IMPORTS = st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5), DESCRIPTIONS), max_size=5)
OTHERS = st.lists(
    st.tuples(st.sampled_from([0, 1, 3, 7, 9, 10, 11, 12]), st.binary(max_size=200)), max_size=4
)


def imports(found: list[tuple[str, str, bytes]]) -> bytes:
    content = b"".join(named(module) + named(name) + what for module, name, what in found)
    return section(2, leb128(len(found)) + content)


@given(found=IMPORTS, before=OTHERS, after=OTHERS)
def test_functions_and_bytes(
    found: list[tuple[str, str, bytes]],
    before: list[tuple[int, bytes]],
    after: list[tuple[int, bytes]],
) -> None:
    parts = [*(section(*each) for each in before), imports(found)]
    data = MAGIC + b"".join(parts) + b"".join(section(*each) for each in after)
    assert needed_functions(data) == [name for _, name, what in found if what[0] == 0]
    sizes = [len(content) for kind, content in (*before, *after) if kind in (10, 11)]
    assert loaded_bytes(data) == sum(sizes)


def test_a_cut_file_is_damaged() -> None:
    found = [("env", "memcpy", b"\0\5"), ("env", "memory", b"\2\1\2\3")]
    data = MAGIC + imports(found) + section(10, bytes(130))
    assert needed_functions(data) == ["memcpy"]
    ends = {len(MAGIC), len(MAGIC + imports(found))}
    for end in range(len(MAGIC), len(data)):
        if end in ends:
            continue
        for read in (needed_functions, loaded_bytes):
            with pytest.raises(ExportError, match="the object file is damaged"):
                read(data[:end])


def test_other_files() -> None:
    for data in (b"", b"\x7fELF", MAGIC[:-1], b"\0asm\2\0\0\0"):
        for read in (needed_functions, loaded_bytes):
            with pytest.raises(ExportError, match="this is no file of WebAssembly"):
                read(data)


def test_names_that_are_no_text() -> None:
    data = MAGIC + section(2, leb128(1) + b"\1\xff" + named("f") + b"\0\0")
    with pytest.raises(ExportError, match="the object file is damaged"):
        needed_functions(data)


@pytest.mark.parametrize("kind", [4, 5, 255])
def test_imports_of_other_kinds(kind: int) -> None:
    data = MAGIC + imports([("env", "f", bytes([kind, 0]))])
    with pytest.raises(ExportError, match=f"imports something of kind {kind}"):
        needed_functions(data)
