"""Types, constants and loops of LLVM, by its text; loops run, and are counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from llvmlite import ir

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import (
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT4,
    INT8,
    INT64,
    UINT16,
    DType,
)
from tandem.compiler.machines.cpu.codegen.frame import Frame
from tandem.compiler.machines.cpu.codegen.llvm import (
    I32,
    I64,
    MASK,
    POINTER,
    broadcast_lanes,
    call_intrinsic,
    constant,
    counted_loop,
    in_lanes,
    lanes_of,
    memory_type,
    register_type,
    splat,
    suffix,
    vector_type,
)
from tests.support.compiler.machines.cpu.emitted import (
    SSE,
    frame_of,
    instructions,
    opcodes,
    run_emitted,
)

C = Buffer("C", (8,), INT64)
FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()


def opened() -> tuple[Frame, Any, Any]:
    """A frame, and two numbers that are not known."""
    frame = frame_of(SSE, C, numbers="ij")
    return frame, *frame.builder.function.args[1:]


def vector(kind: Any, lanes: int) -> Any:
    return ir.VectorType(kind, lanes)


@pytest.mark.parametrize(
    ("dtype", "register", "memory"),
    [
        (BOOL, "i1", "i8"),
        (INT4, "i4", "i8"),
        (INT8, "i8", "i8"),
        (UINT16, "i16", "i16"),
        (INT64, "i64", "i64"),
        (FLOAT16, "i16", "i16"),
        (FLOAT32, "float", "float"),
        (FLOAT64, "double", "double"),
    ],
    ids=str,
)
def test_types(dtype: DType, register: str, memory: str) -> None:
    assert (str(register_type(dtype)), str(memory_type(dtype))) == (register, memory)


def test_lanes() -> None:
    one, three = constant(I32, 5), constant(vector(I32, 3), 5)
    assert (lanes_of(one), lanes_of(three)) == (None, 3)
    assert vector_type(FLOAT, None) is FLOAT
    assert vector_type(FLOAT, 1) == vector(FLOAT, 1)
    assert in_lanes(FLOAT, one) is FLOAT
    assert in_lanes(FLOAT, three) == vector(FLOAT, 3)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (I32, 7, "i32 7"),
        (I64, -7, "i64 -7"),
        (MASK, True, "i1 true"),
        (MASK, 1, "i1 1"),
        (DOUBLE, 0.5, "double 0x3fe0000000000000"),
        (vector(I32, 2), 7, "<2 x i32> <i32 7, i32 7>"),
        (vector(I32, 2), [1, 2], "<2 x i32> <i32 1, i32 2>"),
        (vector(I32, 2), [0, 0], "<2 x i32> <i32 0, i32 0>"),
        (vector(I32, 2), 0, "<2 x i32> <i32 0, i32 0>"),
        (vector(DOUBLE, 2), 0.0, "<2 x double> <double 0.0, double 0.0>"),
        # A zero with a sign is written by its bits.
        (
            vector(DOUBLE, 2),
            -0.0,
            "<2 x double> <double 0x8000000000000000, double 0x8000000000000000>",
        ),
        (vector(MASK, 3), 0, "<3 x i1> <i1 0, i1 0, i1 0>"),
    ],
    ids=str,
)
def test_constants(kind: Any, value: Any, text: str) -> None:
    assert str(constant(kind, value)) == text


def test_constants_of_constants() -> None:
    one = constant(I32, 5)
    assert constant(I32, one) is one
    assert str(constant(vector(I32, 2), [one, 6])) == "<2 x i32> <i32 5, i32 6>"
    # Integers are kept.
    assert constant(I32, 5) is one
    assert constant(I64, 5) is not one


def test_splat() -> None:
    frame, i, _ = opened()
    builder = frame.builder
    three = constant(vector(I64, 3), 5)
    assert splat(builder, i, None) is i
    assert splat(builder, three, 3) is three
    assert splat(builder, three, None) is three
    assert str(splat(builder, constant(I64, 5), 2)) == "<2 x i64> <i64 5, i64 5>"
    assert opcodes(frame) == []
    bit = builder.icmp_signed("<", i, constant(I64, 3))
    mask = splat(builder, bit, 3)
    assert mask.type == vector(MASK, 3)
    assert opcodes(frame) == ["icmp", "select"]
    many = splat(builder, i, 4)
    assert opcodes(frame)[2:] == ["insertelement", "shufflevector"]
    for number, value in enumerate((builder.zext(mask, vector(I64, 3)), many)):
        at = builder.gep(frame.places["C"].pointer, [constant(I64, 3 * number)], source_etype=I64)
        builder.store(value, at, align=8)
    found = np.zeros(8, np.int64)
    run_emitted(frame, found, 2, 0)
    assert found.tolist() == [1, 1, 1, 2, 2, 2, 2, 0]


def test_splat_of_a_condition_that_does_not_hold() -> None:
    frame, i, _ = opened()
    mask = splat(frame.builder, frame.builder.icmp_signed("<", i, constant(I64, 3)), 8)
    frame.builder.store(
        frame.builder.zext(mask, vector(I64, 8)), frame.places["C"].pointer, align=8
    )
    found = np.ones(8, np.int64)
    run_emitted(frame, found, 3, 0)
    assert found.tolist() == [0] * 8


def test_broadcast_lanes() -> None:
    frame, i, j = opened()
    three = constant(vector(I64, 3), 5)
    assert broadcast_lanes(frame.builder, i, j) == [i, j]
    found = broadcast_lanes(frame.builder, i, three, constant(I64, 1))
    assert [each.type for each in found] == [vector(I64, 3)] * 3
    assert found[1] is three


def test_suffixes() -> None:
    kinds = {"i8": ir.IntType(8), "f32": FLOAT, "v4f64": vector(DOUBLE, 4)}
    kinds |= {"p0": POINTER, "v2p0": vector(POINTER, 2)}
    assert [suffix(each) for each in kinds.values()] == [*kinds]


def test_calls_declare_a_function_once() -> None:
    frame, i, j = opened()
    for _ in range(2):
        call = call_intrinsic(frame.builder, "llvm.smax.i64", I64, [i, j])
    text = str(frame.builder.module)
    assert text.count('declare i64 @"llvm.smax.i64"(i64 %".1", i64 %".2")') == 1
    assert opcodes(frame) == ["llvm.smax.i64"] * 2
    assert (call.type, list(call.args)) == (I64, [i, j])
    sums = constant(vector(FLOAT, 2), 1.0)
    name = "llvm.vector.reduce.fadd.v2f32"
    found = call_intrinsic(frame.builder, name, FLOAT, [sums.constant[0], sums], ("reassoc",))
    assert list(found.fastmath) == ["reassoc"]


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("nonempty", [False, True])
def test_counted_loops(nonempty: bool, bits: int) -> None:
    """The sum of what is counted, and how often; a loop that may be empty is tested first."""
    kind = ir.IntType(bits)
    for begin, end in ((2, 7), (-3, 1), (4, 5), (5, 5), (6, 2)):
        if nonempty and begin >= end:
            continue
        frame, i, j = opened()
        builder, pointer = frame.builder, frame.places["C"].pointer
        start, stop = (each if bits == 64 else builder.trunc(each, kind) for each in (i, j))
        with counted_loop(builder, start, stop, nonempty=nonempty, bits=bits) as index:
            assert index.type == I64
            for number, added in enumerate((index, constant(I64, 1))):
                at = builder.gep(pointer, [constant(I64, number)], source_etype=I64)
                old = builder.load(at, typ=I64, align=8)
                builder.store(builder.add(old, added), at, align=8)
        assert opcodes(frame).count("icmp") == (1 if nonempty else 2)
        assert opcodes(frame).count("sext") == (bits == 32)
        found = np.zeros(8, np.int64)
        run_emitted(frame, found, begin, end)
        assert found[:2].tolist() == [sum(range(begin, end)), max(end - begin, 0)]


def test_loops_are_counted_without_overflow() -> None:
    frame, i, j = opened()
    with counted_loop(frame.builder, i, j) as index:
        assert index.opname == "phi"
    (step,) = (each for each in instructions(frame) if each.opname == "add")
    assert list(step.flags) == ["nsw"]


def test_a_constant_has_as_many_numbers_as_lanes() -> None:
    with pytest.raises(ValueError, match="wrong constant size"):
        constant(vector(I32, 2), [1, 2, 3])
