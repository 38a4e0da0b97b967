"""Expressions that are written where they are used, and those that must not be."""

from __future__ import annotations

import pytest

from tandem.hw.rtl.verilog_nesting import nest, split
from tests.support.hw.rtl.verilog_modules import module_of


def nested(*lines: str) -> list[str]:
    found = module_of(*lines)
    nest(found)
    return [statement.text.strip().removeprefix("assign ") for statement in found.statements]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a", ["a"]),
        ("~ a", ["~", "a"]),
        ("a ? { b, c } : (d & e)", ["a", "?", "{ b, c }", ":", "(d & e)"]),
        ("{ a, { b, c } } == 3'h1", ["{ a, { b, c } }", "==", "3'h1"]),
        ("", []),
    ],
)
def test_words_of_expressions(text: str, words: list[str]) -> None:
    assert split(text) == words


@pytest.mark.parametrize(
    ("width", "value", "use", "whole"),
    [
        (1, "a & b", "y = _0_ ^ c", "y = (a & b) ^ c"),
        (1, "a ^ b", "y = c ^ _0_", "y = c ^ a ^ b"),
        (4, "v & w", "z = ~ _0_", "z = ~ (v & w)"),
        (4, "~ v", "z = w & _0_", "z = w & ~v"),
        (1, "v == w", "y = ! _0_", "y = ! (v == w)"),
        (1, "& v", "z = _0_ ? v : w", "z = (& v) ? v : w"),
        (1, "a & b", "z = { _0_, v[2:0] }", "z = { (a & b), v[2:0] }"),
        (1, "v >= w", "y = a | _0_ | c", "y = a | (v >= w) | c"),
        # Wider operands on both sides, and constants with their width.
        (4, "a ? v : 4'h3", "z = _0_ | w", "z = (a ? v : 4'h3) | w"),
        (4, "{ v[1:0], w[3:2] }", "z = a ? _0_ : w", "z = a ? { v[1:0], w[3:2] } : w"),
        (4, "{ a, b, v[1:0] }", "z = _0_", "z = { a, b, v[1:0] }"),
    ],
)
def test_expressions_of_the_same_width(width: int, value: str, use: str, whole: str) -> None:
    wire = f"wire [{width - 1}:0] _0_;" if width > 1 else "wire _0_;"
    assert nested(wire, f"assign _0_ = {value};", f"assign {use};") == [f"{whole};"]


@pytest.mark.parametrize(
    ("width", "value", "use"),
    [
        # The wire is wider or narrower than the expression.
        (4, "a & b", "z = _0_ | w"),
        (1, "v & w", "y = _0_ | a"),
        # The place has another width.
        (1, "a & b", "z = _0_ | v"),
        (1, "a & b", "z = _0_"),
        (4, "v & w", "y = _0_ == v"),
        (4, "v & w", "z = _0_ + w"),
        # In a concatenation only bits are.
        (2, "v[1:0] & w[1:0]", "z = { _0_, v[1:0] }"),
        (1, "a & b", "z = { v[2:0], ~_0_ }"),
        # Mixed operators and sums have no width of their own.
        (4, "v + w", "z = _0_ | w"),
        (4, "v << w", "z = _0_ | w"),
        (1, "a & b | c", "y = _0_ ^ a"),
        (1, "- a", "y = _0_ ^ a"),
        (4, "v ? v : w", "z = _0_ | w"),
        (4, "a ? v : w[2:0]", "z = _0_ | w"),
    ],
)
def test_expressions_that_stay(width: int, value: str, use: str) -> None:
    wire = f"wire [{width - 1}:0] _0_;" if width > 1 else "wire _0_;"
    assert nested(wire, f"assign _0_ = {value};", f"assign {use};") == [
        f"_0_ = {value};",
        f"{use};",
    ]


def test_reductions_of_bits_side_by_side() -> None:
    assert nested("assign y = | { a, b, v[2] };") == ["y = a | b | v[2];"]
    assert nested("assign y = & { a, v };") == ["y = & { a, v };"]
    assert nested("assign y = | v;") == ["y = | v;"]
    assert nested("assign y = ! { a, b };") == ["y = ! { a, b };"]


def test_conditions_and_next_values_of_registers() -> None:
    lines = ("reg [3:0] r;", "wire _0_;", "wire [3:0] _1_;", "assign _0_ = v == w;")
    found = nested(
        *(*lines, "assign _1_ = v & w;", "always @(posedge clk)", "  if (_0_) r <= _1_;"),
    )
    assert [line.strip() for line in found[0].splitlines()] == [
        "always @(posedge clk)",
        "if (v == w) r <= v & w;",
    ]
    found = nested(
        *(*lines[:2], "assign _0_ = v == w;", "always @(posedge clk)", "  if (!_0_) r <= v;"),
    )
    assert found[0].endswith("if (!(v == w)) r <= v;")
    # A condition of several bits, a next value of another width, a part of a register.
    for use, wire in (
        ("if (_0_) r <= v;", "wire [3:0] _0_;"),
        ("r <= _0_;", "wire [2:0] _0_;"),
        ("r[3:0] <= _0_;", "wire [3:0] _0_;"),
    ):
        value = "v[2:0] & w[2:0]" if "[2:0]" in wire else "v & w"
        found = nested(
            lines[0], wire, f"assign _0_ = {value};", "always @(posedge clk)", f"  {use}"
        )
        assert found[0] == f"_0_ = {value};"


def test_instances_get_wires() -> None:
    lines = ("wire _0_;", "assign _0_ = a & b;", "other part (", "  .x(_0_)", ");")
    assert nested(*lines)[0] == "_0_ = a & b;"


def test_chains_are_nested_from_within_and_not_too_long() -> None:
    assert nested(
        *("wire _0_;", "wire _1_;", "assign _1_ = _0_ | c;", "assign _0_ = a & b;"),
        "assign y = _1_ ^ a;",
    ) == ["y = ((a & b) | c) ^ a;"]
    # In parentheses, with the other operand: of 90 letters, and of 91.
    for size, count in ((90, 1), (91, 2)):
        name = "n" * (size - len("(a & ) ^ b"))
        lines = (f"wire {name};", "wire _0_;", f"assign _0_ = a & {name};", "assign y = _0_ ^ b;")
        assert len(nested(*lines)) == count


def test_what_is_used_twice_or_has_a_name_stays() -> None:
    assert len(nested("wire _0_;", "assign _0_ = a & b;", "assign y = _0_ ^ _0_;")) == 2
    assert len(nested("wire d;", "assign d = a & b;", "assign y = d ^ c;")) == 2
    assert len(nested("wire _0_;", "assign _0_ = a & b;")) == 1
