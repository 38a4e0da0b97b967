"""What the printer, the parser and the verifier share of the text form."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from compiler.ir.expr import BinaryOp, UnaryOp

__all__ = [
    "BINARY_FUNCTIONS",
    "LEVELS",
    "MAX_DEPTH",
    "NAME",
    "NUMBER_WORDS",
    "PREFIX_LEVEL",
    "PREFIX_OPERATORS",
    "UNARY_FUNCTIONS",
    "is_name",
]

NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*"
_NAME: Final = re.compile(NAME)
"""Names of variables, buffers, blocks and functions: `C`, `C.i_o`."""

NUMBER_WORDS: Final = frozenset({"True", "False", "inf", "nan"})
"""No variable is called so. All other words are known by what follows them: none is reserved."""

_TABLE: tuple[tuple[BinaryOp, ...], ...] = (
    (BinaryOp.LT, BinaryOp.LE, BinaryOp.EQ, BinaryOp.NE),
    (BinaryOp.OR,),
    (BinaryOp.XOR,),
    (BinaryOp.AND,),
    (BinaryOp.SHL, BinaryOp.SHR),
    (BinaryOp.ADD, BinaryOp.SUB),
    (BinaryOp.MUL, BinaryOp.DIV, BinaryOp.FLOORDIV, BinaryOp.MOD),
)

LEVELS: Final = {op: level for level, row in enumerate(_TABLE) for op in row}
"""How tightly an infix operator binds, from 0, as in Python: comparisons the least. They do not
chain; all others associate to the left."""

PREFIX_LEVEL: Final = len(_TABLE)
"""Operators in front of their operand bind tighter than all infix ones."""

PREFIX_OPERATORS: Final = {op.value: op for op in (UnaryOp.NEG, UnaryOp.NOT)}

BINARY_FUNCTIONS: Final = {op.value: op for op in BinaryOp if op not in LEVELS}
"""Operations on two values that are written as calls."""

UNARY_FUNCTIONS: Final = {op.value: op for op in UnaryOp if op.value not in PREFIX_OPERATORS}
"""Operations on one value that are written as calls."""

MAX_DEPTH: Final = 160
"""Nodes under each other, statements and expressions together. Walks recurse, and Python's stack
has an end: what is nested deeper is refused where it comes in, not somewhere inside a pass."""


@lru_cache(maxsize=1 << 12)
def is_name(text: str) -> bool:
    """Whether the text form can write it."""
    return _NAME.fullmatch(text) is not None
