"""Entries of small tables by codes of few bits: bytes that are shifted out of constants.

    4 bits      cast((code < 8 ? low word : high word) >> code % 8 * 8, int8)
    2 bits      cast(word >> code * 8, int8)

In registers of bytes this is one permutation of a table of up to 16 entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tandem.compiler.ir.dtypes import BOOL, INT8, UINT8, UINT32, UINT64, DType
from tandem.compiler.ir.expr import Binary, Cast, Const, Expr, Select
from tandem.compiler.ir.operations import BinaryOp
from tandem.compiler.ir.ops import cast, const, select

_BYTE: Final = UINT8.bits
_WORDS: Final = {4: UINT32, 16: UINT64}
"""The type of a word of entries, by the entries of the table."""


def entry_of(code: Expr, table: Sequence[int]) -> Expr:
    """The int8 entry of a code: of type bool, or an unsigned integer less than `len(table)`, which
    is 2, 4 or 16."""
    if len(table) == 2:
        found = code if code.dtype == BOOL else code > 0
        return select(found, const(table[1], INT8), const(table[0], INT8))
    dtype = _WORDS[len(table)]
    many = dtype.bits // _BYTE
    number = cast(code, dtype)
    words = [_word(table[first : first + many], dtype) for first in range(0, len(table), many)]
    if len(words) == 1:
        return cast(words[0] >> number * _BYTE, INT8)
    return cast(select(number < many, *words) >> number % many * _BYTE, INT8)


def table_of(expr: Cast) -> tuple[Expr, tuple[int, ...]] | None:
    """The code and the table of an `entry_of` 4 or 16 entries; None of anything else."""
    words: tuple[Const, ...]
    match expr:
        case Cast(
            operand=Binary(
                op=BinaryOp.SHR,
                left=Const() as word,
                right=Binary(op=BinaryOp.MUL, left=number),
            )
        ):
            words = (word,)
        case Cast(
            operand=Binary(
                op=BinaryOp.SHR,
                left=Select(then=Const() as low, otherwise=Const() as high),
                right=Binary(op=BinaryOp.MUL, left=Binary(op=BinaryOp.MOD, left=number)),
            )
        ):
            words = (low, high)
        case _:
            return None
    if not isinstance(number, Cast):
        return None
    table = tuple(entry for word in words for entry in _entries(word))
    made = len(table) in _WORDS and entry_of(number.operand, table) == expr
    return (number.operand, table) if made else None


def _word(entries: Sequence[int], dtype: DType) -> Expr:
    """The bytes of entries in a constant, the first in its low bits."""
    return const(sum((entry & 0xFF) << (_BYTE * at) for at, entry in enumerate(entries)), dtype)


def _entries(word: Const) -> list[int]:
    """The entries in the bytes of a constant."""
    many = word.dtype.bits // _BYTE
    return [INT8.wrap(int(word.value) >> (_BYTE * at) & 0xFF) for at in range(many)]
