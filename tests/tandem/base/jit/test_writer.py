"""Texts of LLVM functions as they grow, by hand."""

from __future__ import annotations

import pytest

from tandem.base.jit.writer import Writer


def lines(writer: Writer) -> list[str]:
    return [line for line in writer.body.splitlines() if line]


def test_instructions() -> None:
    writer = Writer()
    first = writer.emit("add i64 1, 2")
    writer.do("store i64 0, ptr %p")
    second = writer.emit(f"add i64 {first}, 3")
    writer.end("ret void")
    assert (first, second) == ("%v1", "%v2")
    assert lines(writer) == [
        "entry:",
        "  br label %body",
        "body:",
        "  %v1 = add i64 1, 2",
        "  store i64 0, ptr %p",
        "  %v2 = add i64 %v1, 3",
        "  ret void",
    ]


def test_what_follows_the_end_of_a_block_is_dropped() -> None:
    writer = Writer()
    writer.end("ret void")
    assert writer.block == ""
    # Names go on, as others may have been given.
    assert writer.emit("add i64 1, 2") == "%v1"
    writer.do("store i64 0, ptr %p")
    writer.jump("nowhere")
    assert writer.body.splitlines()[-1] == "  ret void"


@pytest.mark.parametrize(
    ("llvm", "zero"), [("i64", "0"), ("i1", "0"), ("double", "0.0"), ("ptr", "null")]
)
def test_variables_are_zero_at_first(llvm: str, zero: str) -> None:
    writer = Writer()
    assert writer.variable(llvm) == "%a1"
    assert lines(writer) == [
        "entry:",
        f"  %a1 = alloca {llvm}",
        f"  store {llvm} {zero}, ptr %a1",
        "  br label %body",
        "body:",
    ]


def test_blocks() -> None:
    writer = Writer()
    then, after = writer.label(), writer.label()
    assert (then, after) == ("b1", "b2")
    writer.begin(then)
    assert writer.block == then
    writer.do("first")
    writer.resume("body")
    writer.branch("%v9", then, after)
    writer.resume(then)
    writer.jump(after)
    writer.begin(after)
    writer.end("ret void")
    assert lines(writer) == [
        *("entry:", "  br label %body"),
        *("body:", "  br i1 %v9, label %b1, label %b2"),
        *("b1:", "  first", "  br label %b2"),
        *("b2:", "  ret void"),
    ]


def test_choices_that_are_known() -> None:
    for condition, wanted in (("true", "x"), ("false", "y")):
        writer = Writer()
        writer.branch(condition, "x", "y")
        assert writer.body.splitlines()[-1] == f"  br label %{wanted}"
        assert writer.block == ""
