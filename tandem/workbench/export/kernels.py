"""Object files of kernels, with symbols of their own in each library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from tandem.runtime.native import ObjectCode
from tandem.runtime.native.elf import parse_object
from tandem.workbench.errors import ExportError

_PREFIX: Final = "compiled"
"""What the symbols of kernels begin with; as long as what takes its place."""
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Kernel:
    """An object file.

    Attributes
    ----------
    symbol
        The function in it.
    needs
        The functions that it calls and does not have.
    code_bytes
        Bytes of memory that it takes, constants included.
    """

    name: str
    symbol: str
    content: bytes
    needs: tuple[str, ...]
    code_bytes: int


def kernels_of(network: str, codes: Mapping[str, ObjectCode]) -> tuple[Kernel, ...]:
    """The object files of kernels.

    A symbol holds a digest of the network and of the kernel's name, so that the kernels of two
    libraries can be in one program.

    Raises
    ------
    ExportError
        An object file that is not as this version of Tandem makes them.
    """
    return tuple(_kernel(network, name, code) for name, code in codes.items())


def _kernel(network: str, name: str, code: ObjectCode) -> Kernel:
    old = code.symbol.encode()
    new = (_digest(f"{network}/{name}") + code.symbol.removeprefix(_PREFIX)).encode()
    # A name that others end with, as `.promoted_doubles.compiled.log`, lies at the end of theirs.
    ended = old + b"\0"
    if not code.symbol.startswith(_PREFIX) or code.code.count(ended) != 1:
        raise ExportError(f"the object file of {name} has another symbol than {code.symbol}")
    content = code.code.replace(ended, new + b"\0")
    parsed = parse_object(content)
    needs = sorted({each.symbol.name for each in parsed.relocations if each.symbol.section is None})
    size = sum(len(section.content) for section in parsed.sections.values())
    return Kernel(name, new.decode(), content, tuple(needs), size)


def _digest(text: str) -> str:
    """A name of eight letters and digits, which begins with k."""
    number = int.from_bytes(sha256(text.encode()).digest()[:8], "big")
    digits = ""
    for _ in range(len(_PREFIX) - 1):
        number, digit = divmod(number, len(_DIGITS))
        digits += _DIGITS[digit]
    return f"k{digits}"
