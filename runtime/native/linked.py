"""Object code in this process: linked by ourselves on x86-64, elsewhere by LLVM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tandem.runtime.errors import NativeCodeError
from tandem.runtime.native.linker import can_link, link


@dataclass(frozen=True, slots=True)
class Loaded:
    """Functions in this process, by their names, which stay there as long as this object."""

    addresses: dict[str, int]
    owner: Any


def linked(triple: str, code: bytes, symbols: Sequence[str]) -> Loaded:
    """The functions `symbols` of an object file.

    Raises
    ------
    NativeCodeError
        The file cannot be linked: it is damaged, or calls what this process lacks.
    """
    if can_link(triple.partition("-")[0]):
        found = link(code, symbols)
        return Loaded(found.addresses, found)
    from llvmlite import binding

    from tandem.base.processor import initialise

    initialise()
    builder = binding.JITLibraryBuilder().add_object_img(code).add_current_process()
    for symbol in symbols:
        builder.export_symbol(symbol)
    try:
        library: Any = builder.link(binding.create_lljit_compiler(), symbols[0])
    except RuntimeError as error:
        raise NativeCodeError(f"LLVM cannot link it: {error}") from None
    return Loaded({symbol: library[symbol] for symbol in symbols}, library)
