"""A handwritten table of ALU operations with their results.

The semantics in `hw.operations`, the functional engine, the RTL, the compiler's expressions and the
tests' references are checked against these rows. A new operation needs rows here.
"""

from __future__ import annotations

from typing import NamedTuple

from tandem.hw.operations import MAX_SHIFT, AluOp

LOW, HIGH = -(1 << 31), (1 << 31) - 1


class Case(NamedTuple):
    """An ALU case: `op` of accumulator `a` and operand `b` gives `result`."""

    op: AluOp
    a: int
    b: int
    result: int


_ROWS: dict[AluOp, tuple[tuple[int, int, int], ...]] = {
    AluOp.MIN: (
        (LOW, HIGH, LOW),
        (HIGH, LOW, LOW),
        (LOW, LOW + 1, LOW),
        (HIGH, HIGH - 1, HIGH - 1),
        (-1, 0, -1),
        (0, -1, -1),
        (127, -32768, -32768),
        (5, 5, 5),
    ),
    AluOp.MAX: (
        (LOW, HIGH, HIGH),
        (HIGH, LOW, HIGH),
        (LOW, LOW + 1, LOW + 1),
        (HIGH, HIGH - 1, HIGH),
        (-1, 0, 0),
        (0, -1, 0),
        (-40000, -32768, -32768),
        (-5, -5, -5),
    ),
    AluOp.ADD: (
        (HIGH, 1, LOW),
        (LOW, -1, HIGH),
        (LOW, LOW, 0),
        (HIGH, HIGH, -2),
        (LOW, HIGH, -1),
        (-129, 127, -2),
        (40000, -32768, 7232),
        (0, 0, 0),
    ),
    AluOp.SHR: (
        (LOW, 31, -1),
        (HIGH, 31, 0),
        (HIGH, 30, 1),
        (-1, 31, -1),
        (-3, 1, -2),
        (3, 1, 1),
        (-7, 2, -2),
        (-7, 0, -7),
        (0x55AA55AA, 8, 0x0055AA55),
        (0x55AA55AA, -1, -1420514476),
        (1, -31, LOW),
        (-1, -31, LOW),
        (LOW, -1, 0),
        (HIGH, -1, -2),
        (2, -31, 0),
    ),
    AluOp.MUL: (
        (LOW, -1, LOW),
        (LOW, LOW, 0),
        (LOW, HIGH, LOW),
        (HIGH, HIGH, 1),
        (HIGH, 2, -2),
        (65536, 65536, 0),
        (65536, 32768, LOW),
        (65536, -32768, LOW),
        (46341, 46341, -2147479015),
        (-40000, 40000, -1600000000),
        (-1, -1, 1),
        (12345, 0, 0),
    ),
    AluOp.MOVE: (
        (LOW, HIGH, HIGH),
        (HIGH, LOW, LOW),
        (0x55AA55AA, 0x2A5A3C69, 0x2A5A3C69),
        (-1, 0, 0),
        (0, -1, -1),
        (127, -32768, -32768),
        (1, 32767, 32767),
    ),
    AluOp.RESIDUAL: (
        (LOW, HIGH, LOW),
        (HIGH, LOW, HIGH),
        (0x55AA55AA, 0x2A5A3C69, 0x55AA55AA),
        (-1, 0, -1),
        (0, -1, 0),
        (0, -128, 0),
        (-129, 127, -129),
    ),
}

CASES = tuple(Case(op, *row) for op, rows in _ROWS.items() for row in rows)


def fits_immediate(value: int) -> bool:
    """Whether an ALU instruction can carry `value`."""
    return -(1 << 15) <= value < 1 << 15


def wrapped(value: int) -> int:
    """`value` mod 2^32, as a signed number."""
    return (value - LOW) % (1 << 32) + LOW


def alu_result(op: AluOp, a: int, b: int) -> int:
    """The operation's result on Python integers: a reference for random operands."""
    match op:
        case AluOp.MIN:
            return min(a, b)
        case AluOp.MAX:
            return max(a, b)
        case AluOp.ADD:
            return wrapped(a + b)
        case AluOp.MUL:
            return wrapped(a * b)
        case AluOp.SHR:
            assert abs(b) <= MAX_SHIFT
            return wrapped(a >> b if b >= 0 else a << -b)
        case AluOp.MOVE:
            return b
        case AluOp.RESIDUAL:
            return a
