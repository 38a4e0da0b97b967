"""Area by synthesis, on designs of a few gates."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.base.cache import default_cache
from tandem.hw.area.gates import MEMORY_BIT, gate_area
from tandem.hw.area.synthesis import design_area
from tandem.hw.rtl.verilog import VerilogDesign

CELL = """\
module pair(input clk, input a, input b, output reg y);
  always @(posedge clk) y <= ~(a & b);
endmodule
"""
STORE = """\
module store(input clk, input en, input [3:0] at, input [7:0] in, output reg [7:0] out);
  reg [7:0] array [0:15];
  always @(posedge clk) begin
    if (en) array[at] <= in;
    out <= array[at];
  end
endmodule
"""
TOP = """\
// A comment that names a configuration.
module top(input clk, input [2:0] a, b, output [2:0] y, input [7:0] in, output [7:0] out);
  pair c0(.clk(clk), .a(a[0]), .b(b[0]), .y(y[0]));
  pair c1(.clk(clk), .a(a[1]), .b(b[1]), .y(y[1]));
  pair c2(.clk(clk), .a(a[2]), .b(b[2]), .y(y[2]));
  store s(.clk(clk), .en(a[0]), .at({a, b[0]}), .in(in), .out(out));
endmodule
"""


def design(cell: str = CELL, top: str = TOP) -> VerilogDesign:
    files = {"top.v": top, "pair.v": cell, "store.v": STORE}
    return VerilogDesign("top", files, ("top", "pair", "store"))


def synthesised(root: Path) -> int:
    """How many modules the cache has, each of a run of Yosys by itself: a module's area does not
    depend on the modules that were synthesised before it."""
    return len(list((root / "area").glob("*/module.json")))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    # Yosys's machine code takes a minute to compile: it is shared.
    (tmp_path / "yosys").symlink_to(default_cache() / "yosys")
    return tmp_path


def test_modules_are_counted_by_their_instances(root: Path) -> None:
    area = design_area(design(), root=root)
    assert area.counts == {"top": 1, "pair": 3, "store": 1}
    nand = gate_area("$_NAND_") + gate_area("$_DFF_P_")
    assert area.modules["pair"].gates == pytest.approx(nand)
    assert area.memory_bits == 128
    assert area.gates_of("top") == pytest.approx(area.gates)
    assert area.gates == pytest.approx(3 * nand + area.modules["store"].gates)
    assert area.total == area.gates + MEMORY_BIT * 128


def test_only_modules_that_are_new_are_synthesised(root: Path) -> None:
    first = design_area(design(), root=root)
    assert synthesised(root) == 3
    assert design_area(design(top=TOP.replace("names", "has")), root=root) == first
    assert synthesised(root) == 3
    other = design_area(design(cell=CELL.replace("&", "^")), root=root)
    assert synthesised(root) == 4
    assert other.modules["store"] == first.modules["store"]
    # Modules that were synthesised before are black boxes.
    top = design_area(design(top=TOP.replace("a[2]", "a[1] ^ a[2]")), root=root)
    assert synthesised(root) == 5
    assert top.counts == first.counts
    assert top.modules["top"].gates > first.modules["top"].gates
    assert other.modules["pair"].gates > first.modules["pair"].gates
