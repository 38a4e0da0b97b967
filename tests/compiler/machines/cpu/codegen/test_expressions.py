"""Values of expressions: the instructions that are chosen, and the numbers that they make."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.code_tables import entry_of
from tandem.compiler.ir.dtypes import (
    FLOAT32,
    FLOAT64,
    INDEX,
    INT8,
    INT16,
    INT32,
    UINT8,
    UINT16,
    DType,
)
from tandem.compiler.ir.expr import Binary, Expr, Load, Var, binary, unary
from tandem.compiler.ir.operations import BinaryOp, UnaryOp
from tandem.compiler.ir.ops import cast, const, reinterpret
from tandem.compiler.machines.cpu.codegen.expressions import evaluate
from tandem.compiler.machines.cpu.processors import PROCESSORS
from tandem.compiler.operators import stored_floats
from tests.support.compiler.machines.cpu.emitted import (
    AVX2,
    SSE,
    opcodes,
)
from tests.support.compiler.machines.cpu.emitted_values import (
    FIRST,
    FLOATS,
    HALVES,
    INTEGERS,
    KNOWN,
    LANE,
    LANES,
    SECOND,
    a,
    found,
    n,
    opened,
    result,
)

NO_FPU = PROCESSORS["rv32im"]


def test_variables() -> None:
    frame = opened(lanes=LANES, base="j")
    assert str(evaluate(frame, KNOWN)) == "i64 3"
    assert evaluate(frame, FIRST) is frame.bindings["i"]
    lanes = evaluate(frame, LANE)
    assert (lanes.opname, list(lanes.flags)) == ("add", ["nsw"])
    assert evaluate(frame, LANE) is lanes
    assert result(frame, lanes, INDEX, j=7) == [7, 8, 9, 10]
    assert found(opened(lanes=3, base=5), LANE) == [5, 6, 7]
    fixed = opened(lanes=3)
    assert found(fixed, LANE) == [0, 1, 2]
    # Constants of lanes take no instructions.
    assert "add" not in opcodes(fixed)
    with pytest.raises(CodegenError, match="none is no variable of a loop around the statement"):
        evaluate(frame, Var("none", INDEX))


def test_unary_operations() -> None:
    ints = INTEGERS[: 2 * LANES : 2].astype(np.int64)
    for op, wanted in ((UnaryOp.NEG, -ints), (UnaryOp.NOT, ~ints), (UnaryOp.ABS, abs(ints))):
        assert found(opened(lanes=LANES), unary(op, n(LANE * 2))) == wanted.tolist()
    floats = FLOATS[:LANES].astype(np.float64)
    for op, numbers in ((UnaryOp.NEG, -floats), (UnaryOp.ABS, abs(floats))):
        assert found(opened(lanes=LANES), unary(op, a(LANE))) == numbers.tolist()
    assert found(opened(), unary(UnaryOp.FLOOR, a(FIRST)), 30) == [np.floor(FLOATS[30])]
    assert found(opened(), unary(UnaryOp.NOT, n(FIRST) < 0), 5) == [bool(INTEGERS[5] >= 0)]


def test_known_indices_are_constants() -> None:
    frame = opened()
    assert str(evaluate(frame, KNOWN * 5 - 1)) == "i64 14"
    # In 64 bits, as they would be computed.
    assert str(evaluate(frame, KNOWN * (1 << 62))) == f"i64 {-(1 << 62)}"
    assert opcodes(frame) == []
    assert found(frame, FIRST * 5 - KNOWN, 4) == [17]
    # Numbers of 32 bits are no indices.
    frame = opened()
    evaluate(frame, Binary(BinaryOp.ADD, const(1, INT32), const(2, INT32)))
    assert opcodes(frame) == ["add"]


@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64], ids=str)
def test_products_and_sums_are_rounded_once(dtype: DType) -> None:
    x, y, z = (cast(a(FIRST + k), dtype) for k in range(3))
    name = f"llvm.fma.f{dtype.bits}"
    for expr in (x * y + z, z + x * y):
        frame = opened(AVX2)
        value = evaluate(frame, expr)
        assert [each for each in opcodes(frame) if "fma" in each or each[0] == "f"][-1:] == [name]
        assert "fmul" not in opcodes(frame)
        numbers = FLOATS[10:13].astype(np.longdouble)
        wanted = (numbers[0] * numbers[1] + numbers[2]).astype(dtype.numpy)
        assert result(frame, value, dtype, 10) == [wanted]
        for target in (SSE, PROCESSORS["wasm32"]):
            apart = opened(target)
            evaluate(apart, expr)
            assert [each for each in opcodes(apart) if each in ("fmul", "fadd", name)] == [
                "fmul",
                "fadd",
            ]
    other = opened(AVX2)
    evaluate(other, x * y - z)
    evaluate(other, cast(n(FIRST), INT32) * n(SECOND) + n(FIRST))
    assert not any("fma" in each for each in opcodes(other))
    # One factor in lanes, and the rest the same in all.
    frame = opened(AVX2, LANES)
    value = evaluate(frame, x * cast(a(LANE), dtype) + z)
    assert "llvm.fma.v4" in "".join(opcodes(frame))
    assert value.type.count == LANES


def test_without_floats_integers_are_scaled_on_their_bits() -> None:
    expr = cast(n(FIRST), FLOAT32) * a(SECOND)
    frame = opened(NO_FPU)
    assert evaluate(frame, expr).callee.name == "scaled"
    lanes = opened(NO_FPU, 2)
    evaluate(lanes, cast(n(LANE), FLOAT32) * a(SECOND))
    assert opcodes(lanes).count("scaled") == 2
    with_floats = opened()
    assert evaluate(with_floats, expr).opname == "fmul"
    assert evaluate(frame, a(FIRST) * a(SECOND)).opname == "fmul"


def test_divisions_of_natural_numbers_are_unsigned() -> None:
    for expr, word in ((FIRST // 7, "udiv"), (FIRST % (SECOND + 1), "urem")):
        frame = opened()
        evaluate(frame, expr)
        assert {"udiv", "urem", "sdiv", "srem"} & {*opcodes(frame)} == {word}
    for expr in ((FIRST - 1) // 7, FIRST // (SECOND - 1), FIRST // SECOND, FIRST % SECOND):
        frame = opened()
        evaluate(frame, expr)
        assert {"sdiv", "srem"} & {*opcodes(frame)}
    assert found(opened(), (FIRST - 5) // 2) == [-3]
    assert found(opened(), FIRST % SECOND, 9, 4) == [1]
    small = opened()
    evaluate(small, n(FIRST) // 7)
    assert "udiv" not in opcodes(small)


def test_powers() -> None:
    value = found(opened(), binary(BinaryOp.POW, unary(UnaryOp.ABS, a(FIRST)), a(SECOND)), 9, 35)
    np.testing.assert_allclose(value, np.abs(FLOATS[9]) ** FLOATS[35], rtol=1e-6)


def clipped(value: Expr, low: float, high: float) -> Expr:
    return binary(
        BinaryOp.MIN, binary(BinaryOp.MAX, value, const(low, FLOAT32)), const(high, FLOAT32)
    )


@pytest.mark.parametrize(
    ("dtype", "low", "high", "clamps"),
    [
        (INT8, -128, 127, True),
        (UINT8, 0, 255, True),
        (INT8, 5, 5, True),
        (INT8, -129, 127, False),
        (INT8, -128, 128, False),
        (INT8, 5, 4, False),
        (INT16, -9, 300, True),
        (INT32, -9, 300, False),
    ],
)
def test_clipped_floats_become_integers(dtype: DType, low: int, high: int, clamps: bool) -> None:
    """The limits fit, so that no number is beyond them."""
    frame = opened()
    value = evaluate(frame, cast(clipped(a(FIRST), low, high), dtype))
    assert opcodes(frame).count("select") == (4 if not clamps else 2) + (low != 0 or not clamps)
    wanted = min(max(int(FLOATS[61]), low), high)
    assert result(frame, value, dtype, 61) == [wanted if clamps else dtype.wrap(wanted)]


def test_without_floats_quotients_are_rounded_on_their_bits() -> None:
    quotient = unary(UnaryOp.ROUND, a(FIRST) / const(0.5, FLOAT32))
    frame = opened(NO_FPU)
    value = evaluate(frame, cast(clipped(quotient, -100, 100), INT8))
    assert "fdiv" not in opcodes(frame)
    assert result(frame, value, INT8, 40) == [round(float(FLOATS[40]) / 0.5)]
    whole = opened(NO_FPU)
    evaluate(whole, cast(clipped(quotient, -100, 100), INT32))
    assert "fdiv" not in opcodes(whole)
    for target, expr, dtype in (
        (SSE, clipped(quotient, -100, 100), INT8),
        (NO_FPU, clipped(quotient, -100, 100), UINT16),
        (NO_FPU, clipped(quotient, -100, 100), DType(INT8.kind, 64)),
        (NO_FPU, clipped(quotient, -(1 << 16), 100), INT32),
        (NO_FPU, quotient, INT8),
    ):
        other = opened(target)
        evaluate(other, cast(expr, dtype))
        assert "fdiv" in opcodes(other)


def test_entries_of_tables() -> None:
    table = (3, -100, 7, 99)
    expr = entry_of(cast(n(LANE) & const(3, INT32), UINT8), table)
    frame = opened(AVX2, 32)
    assert evaluate(frame, expr).callee.name == "llvm.x86.avx2.pshuf.b"
    # Without an instruction, and in no lanes, they are shifted out of a word.
    wanted = [table[each] for each in (INTEGERS & 3).tolist()]
    assert found(opened(lanes=16), expr) == wanted[:16]
    assert found(opened(AVX2), entry_of(cast(n(FIRST) & const(3, INT32), UINT8), table), 5) == [
        wanted[5]
    ]


def test_bits() -> None:
    frame = opened(lanes=LANES)
    value = evaluate(frame, reinterpret(a(LANE), INT32))
    assert value.opname == "bitcast"
    assert result(frame, value, INT32) == FLOATS[:LANES].view(np.int32).tolist()
    wide = stored_floats.cast(Load(HALVES, (LANE,)), FLOAT32)
    for converts in (True, False):
        frame = opened(lanes=LANES)
        frame.converts_halves = converts
        value = evaluate(frame, wide)
        assert ("fpext" in opcodes(frame)) is converts
        halves = FLOATS[:LANES].astype(np.float16)
        assert result(frame, value, FLOAT32) == halves.astype(np.float32).tolist()
