"""Names in C of networks, tensors and types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from tandem.workbench.errors import ExportError

_KEYWORDS: Final = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while".split()
)
_TYPES: Final[Mapping[str, str]] = {
    "bool": "uint8_t",
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    "float4_e2m1fn": "uint8_t",
    "int2": "int8_t",
    "int4": "int8_t",
    "uint2": "uint8_t",
    "uint4": "uint8_t",
    "float32": "float",
    "float64": "double",
}


def c_name(text: str) -> str:
    """A name for what is called `text`: letters, digits and `_`, and no keyword."""
    name = re.sub(r"[^0-9A-Za-z_]+", "_", text).strip("_") or "network"
    return f"{name}_" if name in _KEYWORDS else f"n_{name}" if name[0].isdigit() else name


def check_name(name: str) -> None:
    """Raise `ExportError` unless a library can be called so: it is part of C's names and files'."""
    if c_name(name) != name:
        raise ExportError(f"{name!r} is no name in C: {c_name(name)} would be one")


def c_names(texts: Iterable[str]) -> dict[str, str]:
    """Different names for different texts."""
    known = [*dict.fromkeys(texts)]
    return dict(zip(known, c_names_in_order(known), strict=True))


def c_names_in_order(texts: Iterable[str]) -> list[str]:
    """A name for each text, different from the names before it."""
    found: list[str] = []
    for text in texts:
        name = stem = c_name(text)
        number = 1
        while name in found:
            number += 1
            name = f"{stem}_{number}"
        found.append(name)
    return found


def c_type(dtype: str) -> str:
    """The type of an element: of floats of 16 bits, an integer that holds the bits."""
    if dtype in _TYPES:
        return _TYPES[dtype]
    if re.fullmatch(r"u?int(8|16|32|64)", dtype):
        return f"{dtype}_t"
    raise ExportError(f"no type in C for {dtype}")


def c_string(text: str) -> str:
    """A string literal of C, whose characters beyond ASCII are bytes of UTF-8."""
    found = ""
    for byte in text.encode():
        plain = 0x20 <= byte < 0x7F and byte not in b'"\\?'
        found += chr(byte) if plain else f"\\{byte:03o}"
    return f'"{found}"'
