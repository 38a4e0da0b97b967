"""The ALU's operations: opcode, name and meaning of each.

Encoding, assembler text, the validator's range and the functional engine derive from `AluOp`. The
gates are in `hw.rtl.alu`, the compiler's expression in its `machines.accelerator.intrinsics`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from enum import IntEnum
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from tandem.hw.features import BASE, Feature

Int32s = npt.NDArray[np.int32]
Meaning = Callable[[Any, Any], Any]
"""A function of two int64 numbers, or of two arrays of int64, that `base.jit` can compile."""

ALU_OPCODE_BITS = 3
"""Width of the field `alu_opcode`."""
IMMEDIATE_BITS = 16
"""Width of the field `imm`."""
MAX_SHIFT = 31
"""Shift amounts of SHR lie in -MAX_SHIFT..MAX_SHIFT; any other amount is `Fault.SHIFT`."""


class AluOp(IntEnum):
    """The `alu_opcode` field: an operation on two signed numbers of 32 bits."""

    MIN = 0
    MAX = 1
    ADD = 2
    SHR = 3
    MUL = 4
    MOVE = 5
    """The second operand."""
    RESIDUAL = 6
    """The first operand, unchanged; the second, from INP, enters its requantisation, scaled."""

    @property
    def needs(self) -> frozenset[Feature]:
        """The features of a machine with this operation."""
        match self:
            case AluOp.MOVE:
                return frozenset({Feature.INPUT_OPERANDS})
            case AluOp.RESIDUAL:
                return frozenset({Feature.INPUT_OPERANDS, Feature.REQUANTISE})
            case _:
                return BASE

    @property
    def meaning(self) -> Meaning:
        """The operation on int64 operands; the result is the low 32 bits of the returned value."""
        return _MEANINGS[self]

    @overload
    def apply(self, a: int, b: int) -> int: ...

    @overload
    def apply(self, a: Int32s, b: Int32s | int) -> Int32s: ...

    def apply(self, a: int | Int32s, b: int | Int32s) -> int | Int32s:
        """The result for two 32-bit numbers, or for arrays element by element.

        For SHR, `b` must lie in -MAX_SHIFT..MAX_SHIFT.
        """
        operands = np.broadcast_arrays(np.asarray(a, np.int64), np.asarray(b, np.int64))
        wide = self.meaning(*operands)
        result: Int32s = np.asarray(wide).astype(np.int32)
        return result if isinstance(a, np.ndarray) else int(result)


def operations_of(features: Set[Feature]) -> tuple[AluOp, ...]:
    """The operations of a machine with these features."""
    return tuple(op for op in AluOp if op.needs <= features)


def _shift_right(a: Any, b: Any) -> Any:
    """`a` shifted right arithmetically by `b`, or left by `-b`."""
    return a >> np.maximum(b, 0) << np.maximum(-b, 0)


_MEANINGS: Mapping[AluOp, Meaning] = {
    AluOp.MIN: lambda a, b: np.minimum(a, b),
    AluOp.MAX: lambda a, b: np.maximum(a, b),
    AluOp.ADD: lambda a, b: a + b,
    AluOp.SHR: _shift_right,
    AluOp.MUL: lambda a, b: a * b,
    AluOp.MOVE: lambda a, b: b,
    AluOp.RESIDUAL: lambda a, b: a,
}
