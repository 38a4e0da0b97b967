"""Values of compiled code: what is computed at once, and the LLVM instructions of what is not."""

from __future__ import annotations

import ast
import re

import pytest

from tandem.base.jit.errors import CompilationError
from tandem.base.jit.types import BOOL, FLOAT, INT, NONE, Array, Record
from tandem.base.jit.values import (
    FALSE,
    NOTHING,
    TRUE,
    Value,
    binary,
    boolean,
    builtins,
    chosen,
    common,
    compared,
    converted,
    divided,
    extreme,
    floating,
    indexed,
    integer,
    length,
    loaded,
    negation,
    record,
    shown,
    store,
    truth,
)
from tandem.base.jit.writer import Writer

A, B, X, P = Value(INT, ("%a",)), Value(INT, ("%b",)), Value(FLOAT, ("%x",)), Value(BOOL, ("%p",))
VECTOR = Value(Array("int8", 1), ("%m", "%n"))
MATRIX = Value(Array("int32", 3), ("%m", "%h", "%w", "%d"))
PAIR = record([integer(3), X])


def emitted(writer: Writer) -> list[str]:
    return [line.strip() for line in writer.body.split("body:\n")[1].splitlines()]


def refused(message: str) -> pytest.RaisesExc[CompilationError]:
    return pytest.raises(CompilationError, match=f"^{re.escape(message)}$")


def test_constants() -> None:
    assert [integer(each).number for each in (0, -7, (1 << 63) - 1)] == [0, -7, (1 << 63) - 1]
    assert integer(-(1 << 63)).number == -(1 << 63)
    for beyond in (1 << 63, -(1 << 63) - 1):
        with refused(f"{beyond} has more than 64 bits"):
            integer(beyond)
    assert (A.number, X.number, TRUE.number) == (None, None, None)
    assert (boolean(True), boolean(False)) == (TRUE, FALSE)
    # As IEEE 754 has them.
    assert floating(1.0).leaf == "0x3FF0000000000000"
    assert floating(-2.5).leaf == "0xC004000000000000"
    assert NOTHING.type is NONE


def test_tuples() -> None:
    nested = record([MATRIX, PAIR, P])
    assert nested.leaves == ("%m", "%h", "%w", "%d", "3", "%x", "%p")
    assert nested.fields() == (MATRIX, PAIR, P)
    assert PAIR.fields() == (integer(3), X)
    assert length(nested) == integer(3)
    assert length(VECTOR) == Value(INT, ("%n",))
    assert length(MATRIX) == Value(INT, ("%h",))
    with refused("int has no length"):
        length(A)


def test_names_of_types() -> None:
    kinds = (INT, FLOAT, BOOL, NONE, MATRIX.type, PAIR.type)
    assert [shown(kind) for kind in kinds] == [
        *("int", "float", "bool", "None"),
        *("array of int32 with 3 dimensions", "tuple of 2"),
    ]


def test_conversions() -> None:
    writer = Writer()
    assert converted(writer, A, INT) is A
    assert converted(writer, TRUE, INT) == integer(1)
    assert converted(writer, FALSE, INT) == integer(0)
    assert converted(writer, integer(3), FLOAT) == floating(3.0)
    assert emitted(writer) == []
    assert converted(writer, P, INT) == Value(INT, ("%v1",))
    assert converted(writer, A, FLOAT) == Value(FLOAT, ("%v2",))
    assert converted(writer, P, FLOAT) == Value(FLOAT, ("%v4",))
    assert emitted(writer) == [
        "%v1 = zext i1 %p to i64",
        "%v2 = sitofp i64 %a to double",
        "%v3 = zext i1 %p to i64",
        "%v4 = sitofp i64 %v3 to double",
    ]
    kind = Record((FLOAT, FLOAT))
    assert converted(writer, PAIR, kind) == Value(kind, (floating(3.0).leaf, "%x"))
    with refused("a value of type float cannot become int"):
        converted(writer, X, INT)
    with refused("a value of type int cannot become bool"):
        converted(writer, A, BOOL)
    with refused("a value of type tuple of 2 cannot become tuple of 1"):
        converted(writer, PAIR, Record((INT,)))


def test_common_types() -> None:
    assert common(A, B) is INT
    assert common(TRUE, P) is BOOL
    assert common(TRUE, A) is INT
    assert common(A, X, TRUE) is FLOAT
    assert common(VECTOR, A) == VECTOR.type
    assert common(PAIR, PAIR) == PAIR.type


def test_truth() -> None:
    writer = Writer()
    assert truth(writer, P) is P
    assert [truth(writer, integer(each)) for each in (0, 1, -1)] == [FALSE, TRUE, TRUE]
    assert (truth(writer, NOTHING), truth(writer, PAIR)) == (FALSE, TRUE)
    assert (negation(writer, integer(0)), negation(writer, PAIR)) == (TRUE, FALSE)
    assert emitted(writer) == []
    assert truth(writer, A).type is truth(writer, X).type is negation(writer, P).type is BOOL
    assert emitted(writer) == [
        "%v1 = icmp ne i64 %a, 0",
        "%v2 = fcmp une double %x, 0.0",
        "%v3 = xor i1 %p, true",
    ]
    with refused("an array is neither true nor false"):
        truth(writer, VECTOR)


@pytest.mark.parametrize(
    ("operator", "instruction", "value"),
    [
        (ast.Add(), "add", 15),
        (ast.Sub(), "sub", 9),
        (ast.Mult(), "mul", 36),
        (ast.LShift(), "shl", 96),
        (ast.RShift(), "ashr", 1),
        (ast.BitAnd(), "and", 0),
        (ast.BitOr(), "or", 15),
        (ast.BitXor(), "xor", 15),
    ],
)
def test_integers(operator: ast.operator, instruction: str, value: int) -> None:
    writer = Writer()
    assert binary(writer, operator, integer(12), integer(3)) == integer(value)
    assert emitted(writer) == []
    assert binary(writer, operator, A, integer(3)) == Value(INT, ("%v1",))
    assert binary(writer, operator, integer(3), A) == Value(INT, ("%v2",))
    assert emitted(writer) == [f"%v1 = {instruction} i64 %a, 3", f"%v2 = {instruction} i64 3, %a"]


def test_floats() -> None:
    writer = Writer()
    for operator in (ast.Add(), ast.Sub(), ast.Mult(), ast.Div()):
        binary(writer, operator, X, A)
    # The quotient of integers is a float.
    assert binary(writer, ast.Div(), A, integer(2)).type is FLOAT
    lines = [line.split(" = ")[1] for line in emitted(writer) if "sitofp" not in line]
    assert [line.split()[0] for line in lines] == ["fadd", "fsub", "fmul", "fdiv", "fdiv"]
    assert lines[0] == "fadd double %x, %v1"
    with refused("no Mod of floating-point numbers"):
        binary(writer, ast.Mod(), X, A)


def test_bools() -> None:
    writer = Writer()
    for operator in (ast.BitAnd(), ast.BitOr(), ast.BitXor()):
        assert binary(writer, operator, P, TRUE).type is BOOL
    assert binary(writer, ast.Add(), TRUE, TRUE) == integer(2)
    assert emitted(writer) == [
        "%v1 = and i1 %p, true",
        "%v2 = or i1 %p, true",
        "%v3 = xor i1 %p, true",
    ]


def test_operations_that_there_are_not() -> None:
    writer = Writer()
    with refused("no Pow of integers"):
        binary(writer, ast.Pow(), A, B)
    with refused("no Add of array of int8 with 1 dimensions and int"):
        binary(writer, ast.Add(), VECTOR, A)
    with refused("no Div of tuple of 2 and tuple of 2"):
        binary(writer, ast.Div(), PAIR, PAIR)
    with refused("no In of int and int"):
        compared(writer, ast.In(), A, B)
    with refused("no Lt of tuple of 2 and tuple of 2"):
        compared(writer, ast.Lt(), PAIR, PAIR)
    with refused("`is` compares with None alone"):
        compared(writer, ast.Is(), A, B)


def test_division_by_powers_of_two() -> None:
    for divisor, shift in ((1, 0), (2, 1), (8, 3)):
        writer = Writer()
        assert [each.leaf for each in divided(writer, A, integer(divisor))] == ["%v1", "%v2"]
        assert emitted(writer) == [
            f"%v1 = ashr i64 %a, {shift}",
            f"%v2 = and i64 %a, {divisor - 1}",
        ]
    for divisor in (0, -2, 3, 6):
        writer = Writer()
        divided(writer, A, integer(divisor))
        assert any("sdiv" in line for line in emitted(writer))
    writer = Writer()
    assert binary(writer, ast.FloorDiv(), A, integer(4)).leaf == "%v1"
    assert binary(writer, ast.Mod(), A, integer(4)).leaf == "%v4"


@pytest.mark.parametrize(
    ("operator", "whole", "real"),
    [
        (ast.Eq(), "eq", "oeq"),
        (ast.NotEq(), "ne", "une"),
        (ast.Lt(), "slt", "olt"),
        (ast.LtE(), "sle", "ole"),
        (ast.Gt(), "sgt", "ogt"),
        (ast.GtE(), "sge", "oge"),
    ],
)
def test_comparisons(operator: ast.cmpop, whole: str, real: str) -> None:
    writer = Writer()
    assert compared(writer, operator, A, B).type is BOOL
    compared(writer, operator, X, floating(1.0))
    compared(writer, operator, TRUE, FALSE)
    assert emitted(writer) == [
        f"%v1 = icmp {whole} i64 %a, %b",
        f"%v2 = fcmp {real} double %x, 0x3FF0000000000000",
        f"%v3 = icmp {whole} i64 1, 0",
    ]


def test_comparisons_with_none() -> None:
    writer = Writer()
    for operator, same, other in ((ast.Is(), TRUE, FALSE), (ast.IsNot(), FALSE, TRUE)):
        assert compared(writer, operator, NOTHING, NOTHING) == same
        assert compared(writer, operator, NOTHING, A) == other
        assert compared(writer, operator, A, NOTHING) == other


def test_choices() -> None:
    writer = Writer()
    assert chosen(writer, TRUE, A, B) is A
    assert chosen(writer, FALSE, A, B) is B
    assert chosen(writer, P, A, B) == Value(INT, ("%v1",))
    assert chosen(writer, P, X, X).type is FLOAT
    assert emitted(writer) == [
        "%v1 = select i1 %p, i64 %a, i64 %b",
        "%v2 = select i1 %p, double %x, double %x",
    ]


def test_extremes() -> None:
    writer = Writer()
    assert extreme(writer, ast.Lt(), [A, B]).leaf == "%v2"
    # A later one is taken only if it is less.
    assert emitted(writer) == ["%v1 = icmp slt i64 %b, %a", "%v2 = select i1 %v1, i64 %b, i64 %a"]
    assert extreme(writer, ast.Gt(), [A, X]).type is FLOAT
    with refused("min and max take numbers"):
        extreme(writer, ast.Lt(), [VECTOR, VECTOR])


def test_places_in_vectors() -> None:
    writer = Writer()
    place = indexed(writer, VECTOR, [A])
    assert place == Value(Array("int8", 0), ("%v1",))
    assert loaded(writer, place) == Value(INT, ("%v3",))
    indexed(writer, VECTOR, [integer(-2)])
    assert emitted(writer) == [
        "%v1 = getelementptr inbounds i8, ptr %m, i64 %a",
        "%v2 = load i8, ptr %v1",
        "%v3 = sext i8 %v2 to i64",
        "%v4 = add i64 %n, -2",
        "%v5 = getelementptr inbounds i8, ptr %m, i64 %v4",
    ]


def test_slices() -> None:
    writer = Writer()
    part = indexed(writer, VECTOR, [slice(A, B)])
    assert part == Value(Array("int8", 1), ("%v2", "%v1"))
    assert indexed(writer, VECTOR, [slice(None, None)]).leaves == ("%v4", "%v3")
    assert emitted(writer) == [
        "%v1 = sub i64 %b, %a",
        "%v2 = getelementptr inbounds i8, ptr %m, i64 %a",
        "%v3 = sub i64 %n, 0",
        "%v4 = getelementptr inbounds i8, ptr %m, i64 0",
    ]
    with refused("an index follows a slice: the part is not dense"):
        indexed(writer, MATRIX, [slice(None, None), A])


def test_places_in_arrays_of_several_dimensions() -> None:
    writer = Writer()
    row = indexed(writer, MATRIX, [A])
    assert row == Value(Array("int32", 2), ("%v3", "%w", "%d"))
    assert emitted(writer) == [
        "%v1 = mul nsw i64 %a, %w",
        "%v2 = mul nsw i64 %v1, %d",
        "%v3 = getelementptr inbounds i32, ptr %m, i64 %v2",
    ]
    writer = Writer()
    assert indexed(writer, MATRIX, [A, B, integer(1)]).leaves == ("%v5",)
    assert emitted(writer) == [
        "%v1 = mul nsw i64 %a, %w",
        "%v2 = add nsw i64 %v1, %b",
        "%v3 = mul nsw i64 %v2, %d",
        "%v4 = add nsw i64 %v3, 1",
        "%v5 = getelementptr inbounds i32, ptr %m, i64 %v4",
    ]
    writer = Writer()
    assert indexed(writer, MATRIX, [A, slice(B, None)]).leaves == ("%v5", "%v2", "%d")
    assert emitted(writer)[1] == "%v2 = sub i64 %w, %b"
    writer = Writer()
    assert indexed(writer, MATRIX, [slice(None, B)]).leaves == ("%v3", "%v1", "%w", "%d")
    # From the first row on, whatever its size.
    assert emitted(writer)[:2] == ["%v1 = sub i64 %b, 0", "%v2 = mul nsw i64 0, %d"]
    with refused("array of int8 with 1 dimensions has no part at 2 indices"):
        indexed(writer, VECTOR, [A, B])
    with refused("int has no part at 1 indices"):
        indexed(writer, A, [B])


PLACES = {
    "bool": ["load i8, ptr %m", "icmp ne i8 %v1, 0"],
    "uint16": ["load i16, ptr %m", "zext i16 %v1 to i64"],
    "int64": ["load i64, ptr %m"],
    "float64": ["load double, ptr %m"],
}


@pytest.mark.parametrize("element", PLACES)
def test_loads(element: str) -> None:
    writer = Writer()
    found = loaded(writer, Value(Array(element, 0), ("%m",)))
    wanted = PLACES[element]
    assert [line.split(" = ")[1] for line in emitted(writer)] == wanted
    assert found.leaf == f"%v{len(wanted)}"
    assert found.type is {"bool": BOOL, "float64": FLOAT}.get(element, INT)


def test_what_is_no_place_is_itself() -> None:
    writer = Writer()
    for value in (A, VECTOR, PAIR):
        assert loaded(writer, value) is value
    assert emitted(writer) == []


def test_stores() -> None:
    writer = Writer()
    places = {name: Value(Array(name, 0), ("%m",)) for name in ("bool", "int8", "int64", "float64")}
    store(writer, places["int8"], A)
    store(writer, places["int64"], A)
    store(writer, places["float64"], integer(1))
    store(writer, places["bool"], A)
    assert emitted(writer) == [
        "%v1 = trunc i64 %a to i8",
        "store i8 %v1, ptr %m",
        "store i64 %a, ptr %m",
        "store double 0x3FF0000000000000, ptr %m",
        "%v2 = icmp ne i64 %a, 0",
        "%v3 = zext i1 %v2 to i8",
        "store i8 %v3, ptr %m",
    ]
    for other in (VECTOR, A):
        with refused("a number is stored to a number's place"):
            store(writer, other, A)


def test_functions() -> None:
    writer = Writer()
    known = builtins()
    assert known[int](writer, [TRUE]) == integer(1)
    assert known[float](writer, [integer(2)]) == floating(2.0)
    assert known[bool](writer, [integer(2)]) == TRUE
    assert known[len](writer, [VECTOR]).leaf == "%n"
    assert emitted(writer) == []
    known[int](writer, [X])
    assert emitted(writer) == ["%v1 = fptosi double %x to i64"]
    writer = Writer()
    known[abs](writer, [A])
    assert emitted(writer) == [
        "%v1 = icmp slt i64 %a, 0",
        "%v2 = sub i64 0, %a",
        "%v3 = select i1 %v1, i64 %v2, i64 %a",
    ]
    writer = Writer()
    assert known[divmod](writer, [A, integer(2)]).leaves == ("%v1", "%v2")
    writer = Writer()
    known[min](writer, [A, B])
    known[max](writer, [A, B])
    assert [line.split()[3] for line in emitted(writer) if "icmp" in line] == ["slt", "sgt"]
