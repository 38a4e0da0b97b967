"""Object files of kernels, with symbols of their own in each library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from tandem.runtime.native import ObjectCode
from tandem.runtime.native.elf import parse_object
from tandem.workbench.errors import ExportError
from tandem.workbench.export import arm_attributes, wasm_objects

_PREFIX: Final = "compiled"
"""What the symbols of kernels begin with; as long as what takes its place."""
_INTEGER_CALLS: Final = ("mem", "__")
"""What the names of functions begin with that pass floats, if any, as integers do."""
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
    is_wasm = code.code.startswith(wasm_objects.MAGIC)
    # Strings have their length before them, or end with a zero: then a name that others end with,
    # as `.promoted_doubles.compiled.log`, lies at the end of theirs.
    before, after = (_leb128(len(old)), b"") if is_wasm else (b"", b"\0")
    count = code.code.count(before + old + after)
    if not code.symbol.startswith(_PREFIX) or count < 1 or (count > 1 and not is_wasm):
        raise ExportError(f"the object file of {name} has another symbol than {code.symbol}")
    content = code.code.replace(before + old + after, before + new + after)
    if is_wasm:
        needs, size = wasm_objects.needed_functions(content), wasm_objects.loaded_bytes(content)
    else:
        parsed = parse_object(content)
        symbols = (each.symbol for each in parsed.relocations)
        needs = [symbol.name for symbol in symbols if symbol.section is None]
        size = sum(len(section.content) for section in parsed.sections.values())
        passes_floats = not all(function.startswith(_INTEGER_CALLS) for function in needs)
        if parsed.machine == arm_attributes.MACHINE and not passes_floats:
            content = arm_attributes.for_any_convention(content)
    return Kernel(name, new.decode(), content, tuple(sorted({*needs})), size)


def _leb128(number: int) -> bytes:
    """An unsigned number as WebAssembly writes it."""
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _digest(text: str) -> str:
    """A name of eight letters and digits, which begins with k."""
    number = int.from_bytes(sha256(text.encode()).digest()[:8], "big")
    digits = ""
    for _ in range(len(_PREFIX) - 1):
        number, digit = divmod(number, len(_DIGITS))
        digits += _DIGITS[digit]
    return f"k{digits}"
