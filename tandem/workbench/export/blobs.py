"""Bytes as parts of programs: files that the assembler includes, arrays in C, or objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.codegen.machine_code import code_of
from tandem.runtime.native.elf import parse_object
from tandem.workbench.errors import ExportError
from tandem.workbench.export import arm_attributes

_ROW: Final = 16
"""Bytes in a line of C."""
_ALIGNED: Final = """\
#if defined __STDC_VERSION__ && __STDC_VERSION__ >= 201112L
#define ALIGNED _Alignas(64)
#elif defined __GNUC__
#define ALIGNED __attribute__((aligned(64)))
#else
#error "say how a compiler of C99 aligns an array: -DALIGNED=..."
#endif
"""


class Format(Enum):
    """How weights, streams and the check's data become parts of a library."""

    BIN = "bin"
    """Files, which four lines of assembler include."""
    C = "c"
    """Arrays in C, for compilers without GNU's assembler."""
    ELF = "elf"
    """Objects for the processor, whose sections a linker script can place."""


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes of a program.

    Attributes
    ----------
    symbol
        Their name in C.
    file
        The name of their files, without suffix.
    section
        Where objects have them.
    head
        How many of them a program needs whose memory has the others already (`TANDEM_PLACED`);
        None where it needs all.
    """

    symbol: str
    file: str
    content: bytes
    section: str
    head: int | None = None


@dataclass(frozen=True, slots=True)
class Blobs:
    """What a format makes of bytes.

    Attributes
    ----------
    files
        By name.
    sources
        Those that are compiled or assembled, in the order of the bytes.
    objects
        Those that are linked as they are.
    """

    files: Mapping[str, bytes]
    sources: tuple[str, ...]
    objects: tuple[str, ...]


def made_blobs(blobs: Sequence[Blob], form: Format, triple: str, features: Sequence[str]) -> Blobs:
    """The files of bytes for a processor, by LLVM's names.

    Raises
    ------
    ExportError
        Objects without a processor that they are for.
    """
    match form:
        case Format.BIN:
            files = {f"{blob.file}.bin": blob.content for blob in blobs}
            for blob in blobs:
                text = blob_source(blob.symbol, f"{blob.file}.bin", blob.head)
                files[f"{blob.file}.S"] = text.encode()
            return Blobs(files, tuple(f"{blob.file}.S" for blob in blobs), ())
        case Format.C:
            files = {f"{blob.file}.c": "\n".join(_c_lines(blob)).encode() for blob in blobs}
            return Blobs(files, tuple(files), ())
        case Format.ELF:
            files = {f"{blob.file}.o": _object(blob, triple, features) for blob in blobs}
            return Blobs(files, (), tuple(files))


def blob_source(symbol: str, file: str, head: int | None = None) -> str:
    """An assembler file that puts a file's bytes into the program, for GCC and Clang; if
    `TANDEM_PLACED` is 1, only its `head`."""
    included = f'    .incbin "{file}"\n'
    if head is not None:
        included = f'#if TANDEM_PLACED\n    .incbin "{file}", 0, {head}\n#else\n{included}#endif\n'
    return f"""/* The bytes of {file}, made by Tandem. */
    .section .rodata
    .balign 64
    .globl {symbol}
{symbol}:
{included}    .section .note.GNU-stack,"",%progbits
"""


def _c_lines(blob: Blob) -> Iterator[str]:
    yield f"/* {len(blob.content):,} bytes, made by Tandem. */"
    yield f"#ifndef ALIGNED\n{_ALIGNED}#endif"
    yield f"extern const unsigned char {blob.symbol}[{len(blob.content)}];"
    yield f"ALIGNED const unsigned char {blob.symbol}[{len(blob.content)}] = {{"
    for at in range(0, len(blob.content), _ROW):
        yield "    " + " ".join(f"{byte}," for byte in blob.content[at : at + _ROW])
    yield "};\n"


def _object(blob: Blob, triple: str, features: Sequence[str]) -> bytes:
    if not features and "-" not in triple:
        raise ExportError(
            "objects are for a processor, and this network has no code for any: export it without "
            "--format elf"
        )
    target = CpuTarget(triple, "", tuple(features))
    content = "".join(f"\\{byte:02X}" for byte in blob.content)
    text = (
        f'target triple = "{triple}"\n'
        f'@{blob.symbol} = constant [{len(blob.content)} x i8] c"{content}", '
        f'section "{blob.section}", align 64\n'
    )
    where = (target.feature_string, target.abi, target.relocation)
    found = code_of(text, triple, "", *where)
    is_arm = parse_object(found).machine == arm_attributes.MACHINE
    return arm_attributes.for_any_convention(found) if is_arm else found
