"""Names for wires that have none, by what they are and what they feed."""

from __future__ import annotations

import pytest

from tandem.hw.rtl.verilog_module import Assign, VerilogModule
from tandem.hw.rtl.verilog_names import give_names
from tests.support.hw.rtl.verilog_modules import module_of

REGISTER = ("reg [3:0] r;", "always @(posedge clk)")


def named(*lines: str) -> VerilogModule:
    found = module_of(*lines)
    give_names(found)
    return found


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("~ a", "not_a"),
        ("~a", "not_a"),
        ("! v", "v_is_0"),
        ("| v", "v_any"),
        ("& v", "v_all"),
        ("^ v", "v_parity"),
        ("- v", "minus_v"),
        ("~ v[2]", "not_v_2"),
        ("v[3:2] == 2'h3", "v_3_2_is_3"),
        ("v != 4'b0101", "v_is_not_5"),
        ("v == 4'd11", "v_is_11"),
        ("v + w", "v_plus_w"),
        ("v - 4'h1", "v_minus_1"),
        ("v * w", "v_times_w"),
        ("v & w", "v_and_w"),
        ("v | w", "v_or_w"),
        ("v < w", "v_below_w"),
        ("v <= w", "v_up_to_w"),
        ("v > w", "v_above_w"),
        ("v >= 4'hc", "v_from_12"),
        # No name says these: they are called after what they feed.
        ("4'h1 + v", "y_sum"),
        ("v << w", "y_shifted"),
        ("a ? v : w", "y_choice"),
        ("{ v, w }", "y_value"),
        ("v & w & v", "y_both"),
    ],
)
def test_what_a_wire_is(value: str, name: str) -> None:
    found = named("wire [3:0] _0_;", f"assign _0_ = {value};", "assign y = _0_ ^ v;")
    assert name in found.signals
    assert not any(each.startswith("_") for each in found.signals)


def test_names_are_short() -> None:
    """Of 32 letters, but not of 33."""
    for one, two, name in (
        ("a" * 13, "b" * 13, f"{'a' * 13}_plus_{'b' * 13}"),
        ("a" * 13, "b" * 14, "y_sum"),
    ):
        wires = (f"wire {one};", f"wire {two};", "wire _0_;")
        found = named(*wires, f"assign _0_ = {one} + {two};", "assign y = _0_ ^ a;")
        assert name in found.signals


def test_registers_and_what_feeds_them() -> None:
    """The next value, the condition of a change, and the one that clears."""
    found = named(
        *("wire [3:0] _0_;", "wire _1_;", "wire _2_;"),
        *("assign _0_ = a ? v : w;", "assign _1_ = b ? a : c;", "assign _2_ = c ? a : b;"),
        *("reg [3:0] r;", "always @(posedge clk)", "  if (_2_) r <= 4'h0;"),
        "  else if (_1_) r <= _0_;",
    )
    assert {"r_next", "r_enable", "r_clear"} <= found.signals.keys()
    text = found.statements[-1].text
    assert "if (r_clear) r <= 4'h0;\n    else if (r_enable) r <= r_next;" in text


def test_ports_of_instances_and_rests() -> None:
    found = named(
        *("wire _0_;", "assign _0_ = a ? b : c;", "other part (", "  .a(a),", "  .x(_0_)", ");"),
        *("wire [2:0] _1_;", "assign { _1_, y } = v + 4'h1;"),
        "wire _2_;",
        "assign _2_ = a ? c : b;",
    )
    assert {"part_x", "y_rest", "unused_choice"} <= found.signals.keys()


def test_a_selection_is_called_so() -> None:
    found = named("wire _0_;", "assign _0_ = a ? b : c;", "assign z = _0_ ? v : w;")
    assert "z_select" in found.signals
    found = named("wire _0_;", "assign _0_ = a ? b : c;", "assign z = ~_0_ ? v : w;")
    assert "z_select" in found.signals
    found = named("wire _0_;", "assign _0_ = a ? b : c;", "assign z = v ? _0_ : w;")
    assert "z_choice" in found.signals


def test_what_is_handed_on_is_called_by_its_operation_or_as_a_part() -> None:
    found = named("wire _0_;", "assign _0_ = a ? b : c;", "assign y = _0_;")
    assert "y_choice" in found.signals
    found = named("wire [1:0] _0_;", "assign _0_ = { a, b };", "assign z[1:0] = _0_;")
    assert "z_parts" in found.signals


def test_chains_are_called_after_the_end_and_numbered() -> None:
    found = named(
        *("wire [3:0] _0_;", "wire [3:0] _1_;", "wire [3:0] _2_;"),
        *("assign _0_ = a ? v : w;", "assign _1_ = b ? _0_ : w;", "assign _2_ = c ? _1_ : v;"),
        "assign z = _2_ ^ v;",
    )
    assert {"z_choice", "z_choice_2", "z_choice_3"} <= found.signals.keys()


def test_a_register_without_a_name_is_what_it_drives() -> None:
    found = named(
        *("reg [3:0] _0_;", "always @(posedge clk)", "  _0_ <= v;", "assign z = _0_;"),
    )
    assert [statement.text.strip().splitlines()[-1].strip() for statement in found.statements] == [
        "z <= v;"
    ]
    assert found.signals["z"].is_register


@pytest.mark.parametrize(
    "lines",
    [
        # Of another width, read elsewhere, or no register.
        ("reg [2:0] _0_;", "always @(posedge clk)", "  _0_ <= v[2:0];", "assign z = _0_;"),
        (
            *("reg [3:0] _0_;", "always @(posedge clk)", "  _0_ <= v;", "assign z = _0_;"),
            "assign y = _0_[1];",
        ),
        ("wire [3:0] _0_;", "assign _0_ = v;", "assign z = _0_;"),
    ],
)
def test_registers_that_stay(lines: tuple[str, ...]) -> None:
    found = named(*lines)
    assert not found.signals["z"].is_register
    assert any(
        isinstance(statement, Assign) and statement.target == "z" for statement in found.statements
    )


def test_wires_of_which_one_part_is_used_are_that_part() -> None:
    found = named(
        *("wire [7:0] _0_;", "assign _0_[5:2] = v + w;", "assign z = _0_[5:2] ^ v;"),
        *("wire [7:0] _1_;", "assign _1_[3] = a + b;", "assign y = _1_[3] ^ c;"),
        # Bits that nobody reads, and different parts of one wire.
        *("wire [7:0] _2_;", "assign _2_[3:0] = v;"),
    )
    texts = [statement.text.strip() for statement in found.statements]
    assert texts == [
        "assign v_plus_w = v + w;",
        "assign z = v_plus_w ^ v;",
        "assign a_plus_b = a + b;",
        "assign y = a_plus_b ^ c;",
    ]
    assert (found.signals["v_plus_w"].width, found.signals["a_plus_b"].width) == (4, 1)
    both = named("wire [7:0] _0_;", "assign _0_ = { v, w };", "assign z = _0_[3:0] ^ _0_[7:4];")
    (name,) = [each for each in both.signals if each.startswith("z_")]
    assert both.signals[name].width == 8
    assert both.statements[-1].text == f"  assign z = {name}[3:0] ^ {name}[7:4];"
