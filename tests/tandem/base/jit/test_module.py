"""Modules of LLVM: read line by line, and run on leaves."""

from __future__ import annotations

import ctypes
import math
import struct
from typing import NamedTuple

import pytest

from tandem.base.jit.module import ENTRY, module_text
from tandem.base.jit.native import load, machine_code
from tandem.base.jit.sources import Source
from tandem.base.jit.types import BOOL, FLOAT, INT, Array, Record, Type


class Pair(NamedTuple):
    """A number of each kind."""

    whole: int
    real: float


def add(a: int, b: int) -> int:
    return a + b


def mixed(a: int, x: float, flag: bool) -> tuple[float, bool, int]:
    if flag:
        return x * 2.0, a > 3, a
    return x, False, -a


def nothing(a: int) -> None:
    return


def text_of(source: Source, *kinds: Type) -> str:
    return module_text(source, kinds)


def ran(text: str, *leaves: int) -> list[int]:
    """The leaves after a run, as numbers of 64 bits without a sign."""
    memory = (ctypes.c_uint64 * 8)(*leaves)
    load(machine_code(text))(ctypes.addressof(memory))
    return [*memory]


def bits(number: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", number))[0])


def test_the_entry_reads_and_writes_leaves() -> None:
    text = text_of(Source(add), INT, INT)
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0] == f"define void @{ENTRY}(ptr %leaves) {{"
    assert "define internal i64 @add.0(i64 %p0, i64 %p1) nounwind {" in lines
    calls = [line for line in lines if "call i64 @add.0" in line]
    assert len(calls) == 1
    places = [line.rpartition(" ")[2] for line in lines if "getelementptr i64, ptr %leaves" in line]
    assert places == ["0", "1", "0"]


def test_inlined_functions_say_so() -> None:
    assert "@add.0(i64 %p0, i64 %p1) nounwind alwaysinline {" in (
        text_of(Source(add, inline=True), INT, INT)
    )


def test_a_function_in_llvms_language() -> None:
    own = Source(add, llvm="entry:\n  %r = mul i64 %p0, %p1\n  ret i64 %r")
    text = text_of(own, INT, INT)
    assert "  %r = mul i64 %p0, %p1\n  ret i64 %r\n}" in text
    assert ran(text, 6, 7)[0] == 42


@pytest.mark.parametrize(
    ("a", "x", "flag", "expected"),
    [
        (5, 1.5, 1, (3.0, 1, 5)),
        (3, -0.25, 1, (-0.5, 0, 3)),
        # Any number but 0 is true.
        (4, 2.0, 256, (4.0, 1, 4)),
        (2, 2.0, 0, (2.0, 0, 2**64 - 2)),
        (2, math.inf, 0, (math.inf, 0, 2**64 - 2)),
    ],
)
def test_leaves_of_each_kind(a: int, x: float, flag: int, expected: tuple[float, int, int]) -> None:
    found = ran(text_of(Source(mixed), INT, FLOAT, BOOL), a, bits(x), flag, 99)
    assert found[:4] == [bits(expected[0]), expected[1], expected[2], 99]


def test_a_result_of_no_leaves() -> None:
    text = text_of(Source(nothing), INT)
    assert "define internal void @nothing.0(i64 %p0) nounwind {" in text
    assert ran(text, 7, 8)[:2] == [7, 8]


def test_results_of_several_leaves_are_structures() -> None:
    text = text_of(Source(mixed), INT, FLOAT, BOOL)
    assert (
        "define internal {double, i1, i64} @mixed.0(i64 %p0, double %p1, i1 %p2) nounwind" in text
    )
    parts = [
        line.strip().partition(" = ")[2] for line in text.splitlines() if "extractvalue" in line
    ]
    assert [part.rpartition(", ")[2] for part in parts[:3]] == ["0", "1", "2"]


def field(pair: Pair, values: tuple[int, int]) -> float:
    return pair.real + pair.whole + values[1]


def test_arguments_of_several_leaves() -> None:
    """A tuple's leaves follow each other."""
    pair = Record((INT, FLOAT), ("whole", "real"))
    text = text_of(Source(field), pair, Record((INT, INT)))
    assert "@field.0(i64 %p0, double %p1, i64 %p2, i64 %p3)" in text
    assert ran(text, 3, bits(0.5), 100, 7)[0] == bits(10.5)


def test_names_of_functions_are_plain() -> None:
    def inner(a: int) -> int:
        return a

    text = text_of(Source(inner), INT)
    name = "test_names_of_functions_are_plain_locals_inner.0"
    assert f"@{name}(" in text


def total(values: Array, a: int) -> int:
    return a


def test_arrays_are_pointers() -> None:
    """With their shape, which follows."""
    text = text_of(Source(total), Array("int64", 2), INT)
    assert "@total.0(ptr %p0, i64 %p1, i64 %p2, i64 %p3)" in text
    assert "inttoptr i64" in text
    assert ran(text, 0, 2, 3, 17)[0] == 17
