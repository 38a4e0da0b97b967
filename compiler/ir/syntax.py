"""The names, operators and limits of the text form."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from tandem.compiler.ir.operations import BinaryOp, UnaryOp

NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*"
_NAME: Final = re.compile(NAME)
"""Names of variables, buffers, blocks and functions: `C`, `C.i_o`."""

NUMBER_WORDS: Final = frozenset({"True", "False", "inf", "nan"})
"""Words that cannot be variables. No other word is reserved."""

_TABLE: tuple[tuple[BinaryOp, ...], ...] = (
    (BinaryOp.LT, BinaryOp.LE, BinaryOp.EQ, BinaryOp.NE),
    (BinaryOp.OR,),
    (BinaryOp.XOR,),
    (BinaryOp.AND,),
    (BinaryOp.SHL, BinaryOp.SHR),
    (BinaryOp.ADD, BinaryOp.SUB),
    (BinaryOp.MUL, BinaryOp.DIV, BinaryOp.FLOORDIV, BinaryOp.MOD),
)

PRECEDENCE: Final = {op: level for level, row in enumerate(_TABLE) for op in row}
"""The precedence of infix operators, from 0, as in Python: comparisons have the lowest. They do not
chain; all others associate to the left."""

PREFIX_PRECEDENCE: Final = len(_TABLE)
"""The precedence of prefix operators, above that of all infix operators."""

PREFIX_OPERATORS: Final = {op.value: op for op in (UnaryOp.NEG, UnaryOp.NOT)}

BINARY_FUNCTIONS: Final = {op.value: op for op in BinaryOp if op not in PRECEDENCE}
"""Operations on two values that are written as calls."""

UNARY_FUNCTIONS: Final = {op.value: op for op in UnaryOp if op.value not in PREFIX_OPERATORS}
"""Operations on one value that are written as calls."""

BITS: Final = "bits_"
"""`bits_float32(x)` has the type float32 and the bits of `x`."""

MAX_DEPTH: Final = 160
"""The greatest depth of statements and expressions together. Walks recurse, and Python's stack is
limited: the parser and the verifier refuse deeper programs, so that no pass fails on them."""


@lru_cache(maxsize=1 << 12)
def is_name(text: str) -> bool:
    """Whether a text is a legal name."""
    return _NAME.fullmatch(text) is not None
