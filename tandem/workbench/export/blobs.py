"""Files as parts of programs."""

from __future__ import annotations


def blob_source(symbol: str, file: str) -> str:
    """An assembler file that puts a file's bytes into the program, for GCC and Clang."""
    return f"""/* The bytes of {file}, made by Tandem. */
    .section .rodata
    .balign 64
    .globl {symbol}
{symbol}:
    .incbin "{file}"
    .section .note.GNU-stack,"",%progbits
"""
