"""Object files of WebAssembly: which functions they need, and how large they are.

Source: WebAssembly Core Specification, "Binary Format", modules; `tool-conventions`, "Linking".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tandem.workbench.errors import ExportError

MAGIC: Final = b"\0asm\1\0\0\0"
_IMPORTS, _CODE, _DATA = 2, 10, 11


class _Reader:
    """Bytes that are read from the front."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        """An unsigned number in LEB128."""
        found = shift = 0
        while True:
            byte = self.byte()
            found |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return found

    def part(self, size: int) -> bytes:
        if self.at + size > len(self.data):
            raise IndexError
        self.at += size
        return self.data[self.at - size : self.at]

    def text(self) -> str:
        return self.part(self.number()).decode()

    def limits(self) -> None:
        for _ in range(1 + self.byte() % 2):
            self.number()


def needed_functions(data: bytes) -> list[str]:
    """The functions that an object file calls and does not have. Raises `ExportError` if it is
    damaged."""
    try:
        return [
            name
            for kind, content in _sections(data)
            if kind == _IMPORTS
            for name in _imported(_Reader(content))
        ]
    except (IndexError, UnicodeDecodeError):
        raise ExportError("the object file is damaged") from None


def loaded_bytes(data: bytes) -> int:
    """The bytes of code and constants. Raises `ExportError` if it is damaged."""
    try:
        return sum(len(content) for kind, content in _sections(data) if kind in (_CODE, _DATA))
    except IndexError:
        raise ExportError("the object file is damaged") from None


def _sections(data: bytes) -> Iterator[tuple[int, bytes]]:
    if not data.startswith(MAGIC):
        raise ExportError("this is no file of WebAssembly")
    reader = _Reader(data)
    reader.part(len(MAGIC))
    while reader.at < len(data):
        kind = reader.byte()
        yield kind, reader.part(reader.number())


def _imported(reader: _Reader) -> Iterator[str]:
    """The functions of the section of imports."""
    for _ in range(reader.number()):
        reader.text()
        name = reader.text()
        match reader.byte():
            case 0:
                reader.number()
                yield name
            case 1:
                reader.byte()
                reader.limits()
            case 2:
                reader.limits()
            case 3:
                reader.part(2)
            case kind:
                raise ExportError(f"the object file imports something of kind {kind}")
