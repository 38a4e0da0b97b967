"""The passes that make Yosys's Verilog readable, on modules of a few lines."""

from __future__ import annotations

import pytest

from tandem.hw.rtl.verilog_fields import Field, fields_of, show_fields
from tandem.hw.rtl.verilog_module import VerilogModule, drop_unused_resets, parse_module
from tandem.hw.rtl.verilog_names import give_names
from tandem.hw.rtl.verilog_nesting import nest
from tandem.hw.rtl.verilog_writer import order_ports, write_module

PORTS = """\
module m(clk, rst, a, b, c, v, w, y, q, z);
  input clk;
  wire clk;
  input rst;
  wire rst;
  input a;
  wire a;
  input b;
  wire b;
  input c;
  wire c;
  input [3:0] v;
  wire [3:0] v;
  input [3:0] w;
  wire [3:0] w;
  output y;
  wire y;
  output [3:0] z;
  wire [3:0] z;
  output q;
  reg q;
"""


def module(*lines: str, name: str = "m") -> VerilogModule:
    """A module with the ports above, and these lines."""
    header = PORTS.replace("module m(", f"module {name}(")
    return parse_module(header + "".join(f"  {line}\n" for line in lines) + "endmodule\n")


def readable(*lines: str) -> list[str]:
    """The statements of a module, readable."""
    found = module(*lines)
    nest(found)
    give_names(found)
    text = write_module(found)
    return [line.strip() for line in text.split(");\n", 1)[1].splitlines() if "wire" not in line][
        :-1
    ]


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (["wire _0_;", "assign _0_ = a & b;", "assign y = _0_ | c;"], "y = (a & b) | c"),
        (["wire _0_;", "assign _0_ = a & b;", "assign y = _0_ & c;"], "y = a & b & c"),
        (["wire _0_;", "assign _0_ = ~ a;", "assign y = _0_ & c;"], "y = ~a & c"),
        (["wire _0_;", "assign _0_ = v == 2'h3;", "assign y = a & _0_;"], "y = a & (v == 2'h3)"),
        (["wire _0_;", "assign _0_ = v < w;", "assign z = _0_ ? v : w;"], "z = (v < w) ? v : w"),
        (["wire _0_;", "assign _0_ = v < w;", "assign y = ~ _0_;"], "y = ~(v < w)"),
        (["wire _0_;", "assign _0_ = | v;", "assign y = | { _0_, a };"], "y = (|v) | a"),
        (
            ["wire [3:0] _0_;", "assign _0_ = a ? v : w;", "assign z = b ? 4'h0 : _0_;"],
            "z = b ? 4'h0 : a ? v : w",
        ),
        (
            ["wire [3:0] _0_;", "assign _0_ = a ? v : w;", "assign z = b ? _0_ : v;"],
            "z = b ? (a ? v : w) : v",
        ),
    ],
)
def test_what_is_used_once_stands_where_it_is_used(lines: list[str], wanted: str) -> None:
    assert readable(*lines) == [f"assign {wanted};"]


@pytest.mark.parametrize(
    "lines",
    [
        # The inverse of a bit, as wide as the sum, would have ones above.
        ["wire _0_;", "assign _0_ = ~ a;", "assign z = v + _0_;"],
        ["wire _0_;", "assign _0_ = ~ a;", "assign z = v & _0_;"],
        ["wire _0_;", "assign _0_ = ~ a;", "assign z = a ? _0_ : v;"],
        ["wire _0_;", "assign _0_ = ~ a;", "assign y = v == _0_;"],
        # A carry would be lost, or be there.
        ["wire [3:0] _0_;", "assign _0_ = v + w;", "assign z = a ? _0_ : v;"],
        ["wire [3:0] _0_;", "assign _0_ = v + w;", "assign y = _0_ < v;"],
        # One operand without a sign takes it from all.
        ["wire _0_;", "assign _0_ = $signed(v) < $signed(w);", "assign y = _0_ & a;"],
        # Two uses.
        ["wire _0_;", "assign _0_ = a & b;", "assign y = _0_ | c;", "assign z[0] = _0_;"],
        # A bit of it.
        ["wire [3:0] _0_;", "assign _0_ = v & w;", "assign y = _0_[1];"],
    ],
)
def test_an_expression_that_its_place_would_change_stays(lines: list[str]) -> None:
    found = module(*lines)
    before = [statement.text for statement in found.statements]
    nest(found)
    assert [statement.text for statement in found.statements] == before


REGISTER = ["wire _0_;", "always @(posedge clk)", "  if (rst) q <= 1'h0;", "  else q <= _0_;"]


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (["wire _0_;", "assign _0_ = ~ a;", "assign z = v + _0_;"], "not_a"),
        (["wire _0_;", "assign _0_ = v == 4'ha;", "assign z = w + _0_;"], "v_is_10"),
        (["wire [4:0] _0_;", "assign _0_ = v + w;", "assign y = _0_ < v;"], "v_plus_w"),
        (["wire _0_;", "assign _0_ = v[3:1] < w;", "assign z = w + _0_;"], "v_3_1_below_w"),
        (["wire [4:0] _0_;", "assign _0_ = { a, v };", "assign y = _0_ < v;"], "y_value"),
        (["wire [4:0] _0_;", "assign _0_ = v - w;", "assign z = a ? _0_[3:0] : v;"], "v_minus_w"),
        ([*REGISTER, "assign _0_ = $signed(v) < $signed(w);"], "q_next"),
        (["wire [1:0] _0_;", "assign { _0_, y } = v - 1'h1;"], "y_rest"),
    ],
)
def test_names_say_what_a_wire_is_or_feeds(lines: list[str], wanted: str) -> None:
    found = module(*lines)
    nest(found)
    give_names(found)
    assert wanted in found.signals
    assert not any(name.startswith("_") for name in found.signals)


def test_a_name_that_is_taken_gets_a_number() -> None:
    found = module("wire not_a;", "wire _0_;", "assign _0_ = ~ a;", "assign z = v + _0_ + not_a;")
    give_names(found)
    assert "not_a_2" in found.signals


def test_ports_of_instances_name_what_they_get() -> None:
    found = module("wire _0_;", "assign _0_ = a & b;", "other part (", "  .x(_0_)", ");")
    nest(found)
    give_names(found)
    assert found.statements[1].text.splitlines()[1] == "    .x(part_x)"


def test_names_need_no_escape() -> None:
    found = module(
        *(r"wire \word$7 ;", r"wire [3:0] \job.rows ;", r"wire \end ;", "wire i__valid;"),
        *(r"assign \word$7  = a;", r"assign \job.rows  = v;", r"assign \end  = i__valid;"),
    )
    names = [*found.signals][-4:]
    assert names == ["word", "job_rows", "end_2", "i_valid"]
    assert [statement.text for statement in found.statements] == [
        "  assign word = a;",
        "  assign job_rows = v;",
        "  assign end_2 = i_valid;",
    ]


FIELDS = {"v": [Field("low", 1, 0), Field("high", 3, 2), Field("all", 3, 0)]}


def test_fields_are_read_by_name() -> None:
    found = module("assign y = v[2] & v[3];", "assign z[1:0] = v[1:0];", "assign z[3:2] = v[2:1];")
    show_fields(found, FIELDS, {})
    assert [statement.text.strip() for statement in found.statements] == [
        "assign v_high = v[3:2];",
        "assign v_low = v[1:0];",
        "assign y = v_high[0] & v_high[1];",
        "assign z[1:0] = v_low;",
        "assign z[3:2] = v[2:1];",
    ]


def test_what_an_instance_drives_stays_a_part_of_its_signal() -> None:
    found = module("other part (", "  .i(v[1:0]),", "  .o(z[1:0])", ");")
    fields = {**FIELDS, "z": FIELDS["v"]}
    show_fields(found, fields, {"other": frozenset(("o",))})
    assert found.statements[1].text.splitlines()[1:3] == ["    .i(v_low),", "    .o(z[1:0])"]


def test_fields_come_from_amaranth() -> None:
    netlist = (
        "module \\m\n  connect \\job.a.b \\job [3:1]\n  connect \\other.c \\job [3:1]\n"
        "  connect \\job.d \\job [0]\n  connect \\x \\y [0]\nend\n"
    )
    assert fields_of(netlist) == {"m": {"job": [Field("d", 0, 0), Field("a_b", 3, 1)]}}


def test_a_reset_that_resets_nothing_is_no_port() -> None:
    inner = module("assign y = a;", name="inner")
    outer = module("wire _0_;", "assign _0_ = rst | a;", "inner part (", "  .rst(_0_)", ");")
    modules = {"inner": inner, "outer": outer}
    drop_unused_resets(modules, keep="outer")
    assert "rst" not in inner.ports
    assert "rst" in outer.ports
    assert [statement.text for statement in outer.statements] == ["  inner part (\n  );"]


def test_order_of_ports() -> None:
    found = module()
    order_ports(found, ["q", "c", "a", "y", "b", "v", "w", "z"], mixed=False)
    assert found.ports == ["clk", "rst", "c", "a", "b", "v", "w", "q", "y", "z"]
    order_ports(found, ["q", "c", "a", "y", "b", "v", "w", "z"], mixed=True)
    assert found.ports == ["clk", "rst", "q", "c", "a", "y", "b", "v", "w", "z"]


def test_places_in_source_stand_at_what_is_assigned() -> None:
    found = module(
        *("wire _0_;", '(* src = "one.py:1" *)', "assign _0_ = a & b;"),
        *('(* src = "two.py:2" *)', "assign y = _0_ | c;"),
    )
    nest(found)
    give_names(found)
    lines = write_module(found).splitlines()
    place = lines.index("  output wire y,")
    assert lines[place - 1] == '  (* src = "two.py:2|one.py:1" *)'
    assert lines[-2] == "  assign y = (a & b) | c;"


def test_a_statement_of_an_unknown_form_is_an_error() -> None:
    with pytest.raises(
        ValueError, match=r"^m has a statement of an unknown form: 'initial q = 0;'"
    ):
        module("initial q = 0;")
    with pytest.raises(ValueError, match=r"^no module starts with"):
        parse_module("primitive x;\n")
