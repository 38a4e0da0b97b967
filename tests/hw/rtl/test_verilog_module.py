"""Yosys's Verilog as declarations and statements: what is read, renamed, counted and dropped."""

from __future__ import annotations

import pytest

from tandem.hw.rtl.verilog_module import (
    Assign,
    Block,
    Signal,
    drop_unused_resets,
    free_name,
    names_in,
    parse_module,
    renamed,
)
from tests.support.hw.rtl.verilog_modules import module_of

TEXT = """\
module top(clk, \\bus.data , q);
  input clk;
  wire clk;
  input [7:0] \\bus.data ;
  wire [7:0] \\bus.data ;
  output [3:0] q;
  reg [3:0] q;
  reg [15:0] store [31:0];
  (* src = "a.py:1" *)
  (* keep *)
  wire signed [2:0] _0_;
  wire bit;
  assign _0_ = \\bus.data [2:0] + 3'h1;
  (* src = "b.py:2" *)
  assign { bit, q[0] } = (* full *) bit ? 2'h1 : 2'h2;
  always @(posedge clk)
    if (bit)
      q <= 4'h0;
    else q <= _0_;
  part inner (
    .x(bit),
    .y(\\bus.data [1])
  );
endmodule
after
"""


def test_a_module() -> None:
    found = parse_module(TEXT)
    assert (found.name, found.ports) == ("top", ["clk", "bus_data", "q"])
    # `bit` is a word of SystemVerilog: only escaped names change, and those were plain.
    assert found.original == {"bus.data": "bus_data"}
    kinds = [
        (signal.name, signal.width, signal.is_register, signal.direction, signal.words)
        for signal in found.signals.values()
    ]
    assert kinds == [
        ("clk", 1, False, "input", 0),
        ("bus_data", 8, False, "input", 0),
        ("q", 4, True, "output", 0),
        ("store", 16, True, "", 32),
        ("_0_", 3, False, "", 0),
        ("bit", 1, False, "", 0),
    ]
    assert [each.name for each in found.memories] == ["store"]
    assert found.signals["_0_"].attributes == ('(* src = "a.py:1" *)', "(* keep *)")
    first, second, block, instance = found.statements
    assert first == Assign("_0_", "bus_data[2:0] + 3'h1")
    assert second == Assign(
        "{ bit, q[0] }", "bit ? 2'h1 : 2'h2", ('(* src = "b.py:2" *)', "(* full *)")
    )
    assert second.text == "  assign { bit, q[0] } = bit ? 2'h1 : 2'h2;"
    assert isinstance(block, Block)
    assert isinstance(instance, Block)
    assert len(block.text.splitlines()) == 4
    assert block.instance is None
    assert instance.instance is not None
    assert (instance.instance["module"], instance.instance["name"]) == ("part", "inner")
    assert instance.connections == [("x", "bit"), ("y", "bus_data[1]")]


def test_ranges_as_declared() -> None:
    assert Signal("a", 1).range == ""
    assert Signal("a", 2).range == "[1:0]"
    assert Signal("a", 1, words=8).range == "[0:0]"


def test_names_in_statements() -> None:
    """Neither keywords, nor constants, nor ports, nor system functions."""
    text = "  assign y = $signed(a) + 4'hab & 8'sd12 | \\b.c  ^ x1[3:0]; .port(d) .\\e.f (g)"
    assert [*names_in(text)] == ["y", "a", "b.c", "x1", "d", "g"]
    assert [*names_in("always @(posedge clk) if (rst) q <= 1'h0; else begin end")] == [
        *("clk", "rst", "q")
    ]


def test_other_names() -> None:
    names = {"a": "b", "b": "c", "x.y": "x_y"}
    assert renamed("  assign a = b & aa & \\x.y [1] .a(a);", names) == (
        "  assign b = c & aa & x_y[1] .a(b);"
    )
    assert renamed("a = 4'ha + a;", str.upper) == "A = 4'ha + A;"


def test_uses_and_names_that_are_taken() -> None:
    """A target counts where a part of it is assigned, and where a block does."""
    found = module_of(
        "wire d;",
        "assign d = a & a;",
        "assign y = d;",
        "assign z[0] = d;",
        "always @(posedge clk)",
        "  q <= d;",
        "part inner (",
        "  .x(z)",
        ");",
    )
    uses = found.uses()
    assert [uses[name] for name in ("a", "d", "y", "z", "q", "b")] == [2, 3, 0, 2, 1, 0]
    assert {"inner", "part", "q", "v"} <= found.names()


def test_renamed_signals() -> None:
    found = module_of("wire d;", "assign d = a;", "part inner (", "  .x(d)", ");")
    found.rename({"d": "e", "a": "f"})
    assert found.statements[0] == Assign("e", "f")
    assert ".x(e)" in found.statements[1].text
    assert (found.signals["e"].name, found.signals["f"].name) == ("e", "f")
    assert "d" not in found.signals


@pytest.mark.parametrize(
    ("candidates", "taken", "name"),
    [
        (["a"], set(), "a"),
        (["a", "b"], {"a"}, "b"),
        (["a", "b"], {"a", "b"}, "b_2"),
        (["a"], {"a", "a_2", "a_3"}, "a_4"),
        (["wire"], set(), "wire_2"),
    ],
)
def test_free_names(candidates: list[str], taken: set[str], name: str) -> None:
    assert free_name(candidates, taken) == name
    assert name in taken


def test_names_that_need_no_escape() -> None:
    """Numbers of Amaranth's go; of an instance's input it is the port's; doubled underscores are
    one, where that is free."""
    found = module_of(
        *(r"wire \sum$7 ;", "wire a__b;", "wire c__d;", "wire c_d;"),
        *(r"wire \$9 ;", "other part (", r"  .port(\$9 )", ");"),
    )
    assert [*found.signals][9:] == ["sum", "a_b", "c__d", "c_d", "part_port"]
    assert found.original["$9"] == "part_port"


def test_signals_that_are_called_as_keywords_are() -> None:
    """They get another name, and the keywords stay."""
    found = module_of(
        *(r"wire \end ;", r"wire \begin ;", r"assign \end  = \begin ;"),
        *("reg [3:0] r;", "always @(posedge clk)", "  if (a) begin", r"    r <= { 3'h0, \end };"),
        "  end",
    )
    assert [*found.signals][9:] == ["end_2", "begin_2", "r"]
    assert found.statements[0] == Assign("end_2", "begin_2")
    assert found.statements[1].text.splitlines()[1:] == [
        "    if (a) begin",
        "      r <= { 3'h0, end_2};",
        "    end",
    ]


def test_resets_of_modules_that_reset_nothing() -> None:
    """And of those that only hand it to such ones; what fed it goes with it."""
    leaf = module_of("assign y = a;", name="leaf")
    middle = module_of("leaf one (", "  .a(a),", "  .rst(rst)", ");", name="middle")
    used = module_of("assign y = rst;", name="used")
    top = module_of(
        *("wire _0_;", "wire _1_;", "wire named;"),
        *("assign _0_ = rst | _1_;", "assign _1_ = a & b;", "assign named = c;"),
        *("middle two (", "  .rst(_0_),", "  .a(a)", ");", "used three (", "  .rst(rst)", ");"),
        name="top",
    )
    modules = {each.name: each for each in (leaf, middle, used, top)}
    drop_unused_resets(modules, keep="top")
    assert ["rst" in each.ports for each in modules.values()] == [False, False, True, True]
    assert "rst" not in leaf.signals
    assert middle.statements[0].text == "  leaf one (\n    .a(a)\n  );"
    assert [statement.text for statement in top.statements] == [
        "  assign named = c;",
        "  middle two (\n    .a(a)\n  );",
        "  used three (\n    .rst(rst)\n  );",
    ]
    assert not {"_0_", "_1_"} & top.signals.keys()


def test_the_module_that_is_kept_keeps_its_reset() -> None:
    alone = module_of("assign y = a;")
    drop_unused_resets({"m": alone}, keep="m")
    assert "rst" in alone.ports
